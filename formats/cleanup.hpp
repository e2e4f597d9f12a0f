// The unfinished files of this process, so that a signal can remove them. Everything here is lock-free.
#pragma once
#include <string>

namespace posenc::formats {

/// Puts a path in the table; returns its slot, or -1 when the table is full or the path too long (then a signal leaves it).
int remember_temporary(const std::string& absolute_path) noexcept;
void forget_temporary(int slot) noexcept;

}  // namespace posenc::formats
