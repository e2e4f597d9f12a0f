// The HDF5 C API with owned handles, one lock and errors as one sentence.
#pragma once
#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

namespace posenc::formats::hdf5 {

/// While one lives, this thread alone talks to the library; HDF5 prints nothing and loads no plug-in. Nestable.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* print_data_ = nullptr;
  unsigned plugins_ = 0;
};

/// Who pushes an entry of posenc's own words onto the library's error stack.
inline constexpr const char* own_function = "posenc";

/// For a process that talks to the library from one thread only: no messages, no plug-ins.
void quieten();

/// Owns an identifier of any kind. Made and destroyed inside a Session, or after quieten.
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle() { close(); }
  /// False when the library could not write back what it held.
  bool close() noexcept;
  [[nodiscard]] hid_t get() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

/// Throws what the library's error stack says: system when the operating system refused, otherwise bad_input with
/// `reading`, system without. `what` names file and object.
[[noreturn]] void fail(const std::string& what, bool reading);

inline hid_t checked(hid_t id, const std::string& what, bool reading) {
  if (id < 0) fail(what, reading);
  return id;
}
inline void checked_status(herr_t status, const std::string& what, bool reading) {
  if (status < 0) fail(what, reading);
}

}  // namespace posenc::formats::hdf5
