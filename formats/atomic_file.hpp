// Where the bytes of an output go. AtomicFile: a temporary beside the target, renamed over it when it is complete.
// SequentialFile: stdout, a FIFO or a device, fed front to back.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace posenc::formats {

class Sink {
 public:
  virtual ~Sink() = default;
  /// From any thread, in any order.
  virtual void write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  /// The file is as long as it will be: makes sure of the space early where that is cheap.
  virtual void reserve(std::uint64_t size) = 0;
  /// Durable and visible under its name.
  virtual void publish() = 0;
};

/// True when `path` is "-" or exists and is neither a regular file nor a directory: such a target is written in place.
[[nodiscard]] bool is_stream_target(const std::string& path);

/// The file at the end of a chain of symbolic links; it need not exist.
[[nodiscard]] std::string follow_links(const std::string& path);
/// "FOLDER/.NAME.posenc-WHAT" for FOLDER/NAME: hidden, and says whose it is.
[[nodiscard]] std::string hidden_beside(const std::string& path, std::string_view what);
/// All of `bytes` at `offset`, whatever a call moves; throws system with `name` in the sentence.
void write_all(int fd, const std::string& name, std::uint64_t offset, std::span<const std::byte> bytes);

/// ".NAME.posenc-PID-N" in the target's folder until publish(). Removed by the destructor and by signals (cleanup.hpp).
class AtomicFile : public Sink {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile() override;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  void reserve(std::uint64_t size) override;
  void publish() override;

  void sync();    ///< the first half of publish: data on disk, still under the temporary name
  void rename();  ///< the second half
  [[nodiscard]] const std::string& temporary() const { return temporary_; }
  [[nodiscard]] const std::string& target() const { return target_; }  ///< after following symbolic links
  [[nodiscard]] const std::string& path() const { return path_; }      ///< as the caller spelt it

 private:
  std::string path_, target_, folder_, temporary_;
  int fd_ = -1;
  int slot_ = -1;
};

/// Holds early pieces until their turn: up to `held_limit` bytes, after which their threads wait.
class SequentialFile : public Sink {
 public:
  static constexpr std::uint64_t held_limit = std::uint64_t{256} << 20;
  explicit SequentialFile(const std::string& path);
  ~SequentialFile() override;
  SequentialFile(const SequentialFile&) = delete;
  SequentialFile& operator=(const SequentialFile&) = delete;

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  void reserve(std::uint64_t) override {}
  void publish() override;

 private:
  void put(std::span<const std::byte> bytes);

  std::string name_;
  int fd_ = -1;
  bool owns_ = false;
  std::mutex mutex_;
  std::condition_variable moved_;
  std::uint64_t next_ = 0;  ///< offset of the first byte not yet written
  bool busy_ = false;       ///< a thread is writing the bytes at next_
  bool failed_ = false;
  std::uint64_t held_bytes_ = 0;
  std::map<std::uint64_t, std::vector<std::byte>> held_;
};

/// A scratch file without a name in the folder of `target`: gone with the process, whatever happens.
class SpoolFile {
 public:
  explicit SpoolFile(const std::string& target);
  ~SpoolFile();
  SpoolFile(const SpoolFile&) = delete;
  SpoolFile& operator=(const SpoolFile&) = delete;
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  void read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::string name_;
  int fd_ = -1;
};

}  // namespace posenc::formats
