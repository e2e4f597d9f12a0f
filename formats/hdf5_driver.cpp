#include "hdf5_driver.hpp"

#include <cstring>
#include <new>

namespace posenc::formats::hdf5 {
namespace {

struct OpenFile {
  H5FD_t shared;  // first: the library sees this part
  DriverFile* file;
};

DriverFile& self(H5FD_t* file) { return *reinterpret_cast<OpenFile*>(file)->file; }
const DriverFile& self(const H5FD_t* file) { return *reinterpret_cast<const OpenFile*>(file)->file; }

// An exception must not pass through the library.
template <class F>
herr_t attempt(F&& f) {
  try {
    return f() ? 0 : -1;
  } catch (...) {
    return -1;
  }
}

H5FD_t* open(const char*, unsigned, hid_t access, haddr_t) {
  const void* info = H5Pget_driver_info(access);
  if (info == nullptr) return nullptr;
  auto* file = new (std::nothrow) OpenFile{};
  if (file != nullptr) std::memcpy(&file->file, info, sizeof file->file);
  return reinterpret_cast<H5FD_t*>(file);
}

herr_t close(H5FD_t* file) {
  delete reinterpret_cast<OpenFile*>(file);
  return 0;
}

herr_t query(const H5FD_t*, unsigned long* flags) {
  *flags = 0;
  return 0;
}

haddr_t get_eoa(const H5FD_t* file, H5FD_mem_t) { return self(file).end(); }

herr_t set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  self(file).set_end(address);
  return 0;
}

haddr_t get_eof(const H5FD_t* file, H5FD_mem_t) { return self(file).end_of_file(); }

herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, void* buffer) {
  return attempt([&] { return self(file).read(address, std::span(static_cast<std::byte*>(buffer), size)); });
}

herr_t write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, const void* buffer) {
  return attempt([&] { return self(file).write(address, std::span(static_cast<const std::byte*>(buffer), size)); });
}

hid_t driver() {
  static const H5FD_class_t driver_class = [] {
    H5FD_class_t c{};
    c.name = "posenc";
    c.maxaddr = static_cast<haddr_t>(INT64_MAX);
    c.fc_degree = H5F_CLOSE_STRONG;
    c.fapl_size = sizeof(DriverFile*);
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

Handle access_through(DriverFile& file, const std::string& path, bool reading) {
  Handle access(checked(H5Pcreate(H5P_FILE_ACCESS), path, reading));
  DriverFile* pointer = &file;
  checked_status(H5Pset_driver(access.get(), checked(driver(), path, reading), &pointer), path, reading);
  return access;
}

}  // namespace posenc::formats::hdf5
