#include "hdf5_guard.hpp"

#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "checked.hpp"
#include "posenc/error.hpp"

namespace posenc::formats::hdf5 {
namespace {

// Why a read fails, as the innermost entry of the error stack.
bool refuse(const char* why) {
  H5Epush2(H5E_DEFAULT, "", own_function, 0, H5E_ERR_CLS, H5E_VFL, H5E_READERROR, "%s", why);
  return false;
}

// The system's refusal, which is none of the file's.
bool refuse_call(int error_number) { return refuse(("errno = " + std::to_string(error_number != 0 ? error_number : EIO)).c_str()); }

// A global heap: "GCOL", version, 3 reserved, size (8); then objects of index (2), references (2), 4 reserved, size (8) and data
// padded to 8; index 0 is the free space and counts its own head. A size that wraps would keep the library in place for ever.
bool sound_heap(const InputFile& file, std::uint64_t offset) {
  constexpr std::uint64_t head = 16;
  std::string text(head, '\0');
  if (file.size() - offset < head) return false;
  file.read(offset, as_writable_bytes(text));
  const auto size = get_le<std::uint64_t>(text.data() + 8);
  if (size < head || size > file.size() - offset) return false;
  text.resize(size);
  file.read(offset, as_writable_bytes(text));
  for (std::uint64_t at = head; size - at >= head;) {
    const auto index = get_le<std::uint16_t>(text.data() + at);
    const auto length = get_le<std::uint64_t>(text.data() + at + 8);
    const std::uint64_t left = size - at;
    if (length > left) return false;
    const std::uint64_t step = index == 0 ? length : head + (length + 7) / 8 * 8;
    if (step < head || step > left) return false;
    at += step;
  }
  return true;
}

}  // namespace

bool Guard::read(std::uint64_t offset, std::span<std::byte> out) {
  if (offset > file_.size() || out.size() > file_.size() - offset) return refuse("an address in its structure passes the end of the file");
  if (probe_ != nullptr && out.data() == probe_) {
    probed_ = {offset, out.size()};
    return true;
  }
  if (out.size() > budget_) return refuse("its structure refers to itself");
  budget_ -= out.size();
  try {
    file_.read(offset, out);
    if (out.size() >= 4 && std::memcmp(out.data(), "GCOL", 4) == 0 && !sound_heap(file_, offset)) return refuse("a global heap is damaged");
  } catch (const std::bad_alloc&) {
    return refuse_call(ENOMEM);
  } catch (const Error& e) {
    if (e.failure() == Failure::system) return refuse_call(errno);
    return refuse(e.what());
  } catch (const std::exception& e) {  // nothing may pass through the library
    return refuse(e.what());
  }
  return true;
}

}  // namespace posenc::formats::hdf5
