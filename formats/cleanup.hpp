// The unfinished files of this process, so that a signal can remove them or what was added to them. Everything here is lock-free.
#pragma once
#include <cstdint>
#include <string>

namespace posenc::formats {

/// Puts a path in the table; returns its slot, or -1 when the table is full or the path too long (then a signal leaves it).
int remember_temporary(const std::string& absolute_path) noexcept;
void forget_temporary(int slot) noexcept;

/// A file that grows: a signal closes `writing`, through which the bytes come, and cuts the file back to `size` through `cutting`,
/// another descriptor of it. Slots as above.
int remember_growth(int writing, int cutting, std::uint64_t size) noexcept;
void forget_growth(int slot) noexcept;

}  // namespace posenc::formats
