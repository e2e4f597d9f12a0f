#include "hdf5_api.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <string_view>

#include "posenc/error.hpp"

namespace posenc::formats::hdf5 {
namespace {

std::recursive_mutex& library_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

struct Reason {
  std::string text;
  bool own = false;  // posenc's words
  int error_number = 0;
};

// What keeps a file from being read. The library's words for what is seen most often are numbers or of its own making.
std::string damage(const Reason& reason) {
  constexpr const char* again = "copy or fetch the file again";
  if (reason.own) return fmt::format("{}; {}", reason.text, again);
  if (unsigned long long there = 0, base = 0, wanted = 0;
      std::sscanf(reason.text.c_str(), "truncated file: eof = %llu, sblock->base_addr = %llu, stored_eof = %llu", &there, &base, &wanted) == 3)
    return fmt::format("is cut short: it has {} bytes and says that it has {}; {}", there, wanted, again);
  if (reason.text.find("checksum") != std::string::npos) return fmt::format("a checksum in its HDF5 structure is wrong: it is damaged; {}", again);
  if (reason.text.find("version") != std::string::npos)
    return fmt::format("its HDF5 structure is damaged, or newer than this program's library knows (which says: {})", reason.text);
  return fmt::format("its HDF5 structure is damaged{}; {}", reason.text.empty() ? "" : fmt::format(" (the library says: {})", reason.text), again);
}

// The innermost entry of the stack comes first and says most; a failed system call says "errno = N".
herr_t collect(unsigned n, const H5E_error2_t* entry, void* data) {
  auto& reason = *static_cast<Reason*>(data);
  if (entry->desc == nullptr) return 0;
  const std::string_view text = entry->desc;
  try {
    if (n == 0) reason = {std::string(text), entry->func_name != nullptr && std::string_view(entry->func_name) == own_function, 0};
  } catch (...) {
    return -1;
  }
  constexpr std::string_view label = "errno = ";
  const std::size_t at = text.find(label);
  if (at != std::string_view::npos && reason.error_number == 0)
    std::from_chars(text.data() + at + label.size(), text.data() + text.size(), reason.error_number);
  return 0;
}

}  // namespace

Session::Session() : lock_(library_mutex()) {
  H5open();
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLget_loading_state(&plugins_);
  H5PLset_loading_state(0);
}

void quieten() {
  H5open();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);
}

Session::~Session() {
  H5PLset_loading_state(plugins_);
  H5Eset_auto2(H5E_DEFAULT, print_, print_data_);
}

bool Handle::close() noexcept {
  const hid_t id = std::exchange(id_, H5I_INVALID_HID);
  if (id < 0) return true;
  switch (H5Iget_type(id)) {
    case H5I_FILE: return H5Fclose(id) >= 0;
    case H5I_GROUP: return H5Gclose(id) >= 0;
    case H5I_DATASET: return H5Idec_ref(id) >= 0;  // closes with the last reference
    case H5I_DATATYPE: return H5Tclose(id) >= 0;
    case H5I_DATASPACE: return H5Sclose(id) >= 0;
    case H5I_ATTR: return H5Aclose(id) >= 0;
    case H5I_GENPROP_LST: return H5Pclose(id) >= 0;
    default: return H5Idec_ref(id) >= 0;
  }
}

void fail(const std::string& what, bool reading) {
  Reason reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, &reason);
  H5Eclear2(H5E_DEFAULT);
  if (reason.error_number != 0) fail_system(what, reason.error_number);
  if (reading) fail_input(fmt::format("{}: {}", what, damage(reason)));
  throw Error(Failure::system, fmt::format("{}: the HDF5 library cannot go on ({})", what, reason.text.empty() ? "it does not say why" : reason.text));
}

}  // namespace posenc::formats::hdf5
