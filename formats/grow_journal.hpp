// Bytes of a file replaced all at once. What is to come is first written beside the file, in a journal, and made durable; from then
// on it happens, whatever becomes of this process: whoever opens the file next completes it.
//   journal ".NAME.posenc-journal", numbers little-endian
//   1. 0..15   "posenc-journal-1"
//   2. 16..23  size that the file has in the end
//   3. 24..31  number of patches
//   4. each    offset (8), size S (8), the S bytes as they were, the S bytes as they become
//   5. last 4  CRC-32 of all before
// A file of that name next to another file (one that was replaced since) does no harm: every byte that a patch covers must be as it
// was or as it becomes, or nothing is done.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace posenc::formats {

struct Patch {
  std::uint64_t offset = 0;
  std::string before, after;  ///< of one size
};

/// `target` is open as `fd`, locked, `size` bytes long and durable but for the patches. `committed` is called once nothing can go
/// back; an Error before it leaves the file as it was, one after it leaves the journal. Signals wait.
void replace_bytes(const std::string& target, int fd, std::uint64_t size, const std::vector<Patch>& patches, const std::function<void()>& committed);

/// Completes what an interrupted replace_bytes left behind, if anything; waits for one that is going on.
void complete_replacement(const std::string& path);

/// Locks `path` against other processes until released and completes what one of them left behind. Throws system when it
/// is locked: posenc extend and the HDF5 library lock what they have open.
[[nodiscard]] std::shared_ptr<const void> lock_file(const std::string& path);

}  // namespace posenc::formats
