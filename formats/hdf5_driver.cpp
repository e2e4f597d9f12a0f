#include "hdf5_driver.hpp"

#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "checked.hpp"
#include "posenc/error.hpp"

namespace posenc::formats::hdf5 {
namespace {

struct OpenInput {
  H5FD_t shared;  // first: the library sees this part
  Guard* guard;
  haddr_t end_of_addresses;
};

OpenInput& self(H5FD_t* file) { return *reinterpret_cast<OpenInput*>(file); }
const OpenInput& self(const H5FD_t* file) { return *reinterpret_cast<const OpenInput*>(file); }

// A failure of a callback, as the innermost entry of the error stack.
herr_t refuse(const char* why) {
  H5Epush2(H5E_DEFAULT, "", "", 0, H5E_ERR_CLS, H5E_VFL, H5E_READERROR, "%s", why);
  return -1;
}

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

H5FD_t* open(const char*, unsigned flags, hid_t access, haddr_t) {
  if ((flags & H5F_ACC_RDWR) != 0) return nullptr;
  const void* info = H5Pget_driver_info(access);
  if (info == nullptr) return nullptr;
  auto* file = new (std::nothrow) OpenInput{};
  if (file != nullptr) std::memcpy(&file->guard, info, sizeof file->guard);
  return reinterpret_cast<H5FD_t*>(file);
}

herr_t close(H5FD_t* file) {
  delete &self(file);
  return 0;
}

herr_t query(const H5FD_t*, unsigned long* flags) {
  *flags = 0;
  return 0;
}

haddr_t get_eoa(const H5FD_t* file, H5FD_mem_t) { return self(file).end_of_addresses; }

herr_t set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  self(file).end_of_addresses = address;
  return 0;
}

haddr_t get_eof(const H5FD_t* file, H5FD_mem_t) { return self(file).guard->file->size(); }

herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, void* buffer) {
  Guard& guard = *self(file).guard;
  const InputFile& input = *guard.file;
  if (address > input.size() || size > input.size() - address) return refuse("an address in its structure passes the end of the file");
  if (guard.probe != nullptr && buffer == guard.probe) {
    guard.probed_offset = address;
    guard.probed_size = size;
    return 0;
  }
  if (size > guard.budget) return refuse("its structure refers to itself");
  guard.budget -= size;
  try {
    input.read(address, std::span(static_cast<std::byte*>(buffer), size));
    if (size >= 4 && std::memcmp(buffer, "GCOL", 4) == 0 && !sound_heap(input, address))
      return refuse("a global heap is damaged");
  } catch (const std::exception& e) {
    return refuse(e.what());
  }
  return 0;
}

herr_t write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) { return -1; }

hid_t driver() {
  static const H5FD_class_t driver_class = [] {
    H5FD_class_t c{};
    c.name = "posenc_input";
    c.maxaddr = static_cast<haddr_t>(INT64_MAX);
    c.fc_degree = H5F_CLOSE_STRONG;
    c.fapl_size = sizeof(Guard*);
    c.open = open;
    c.close = close;
    c.query = query;
    c.get_eoa = get_eoa;
    c.set_eoa = set_eoa;
    c.get_eof = get_eof;
    c.read = read;
    c.write = write;
    return c;
  }();
  static const hid_t id = H5FDregister(&driver_class);
  return id;
}

}  // namespace

Handle access_through(Guard& guard) {
  const std::string& path = guard.file->path();
  Handle access(checked(H5Pcreate(H5P_FILE_ACCESS), path, true));
  Guard* pointer = &guard;
  checked_status(H5Pset_driver(access.get(), checked(driver(), path, true), &pointer), path, true);
  return access;
}

}  // namespace posenc::formats::hdf5
