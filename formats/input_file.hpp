// Bytes to read: a regular file, a range of it, or what an unpacking layer makes of it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace posenc::formats {

/// A regular file, open for reading. Anything else (directory, FIFO, device) is refused.
class InputFile {
 public:
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Fills `out` from `offset`, from any thread.
  void read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::string path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// The caller stays within size(). From any thread.
  virtual void read(std::uint64_t offset, std::span<std::byte> out) const = 0;
};

class FileRange : public ByteSource {
 public:
  FileRange(std::shared_ptr<const InputFile> file, std::uint64_t offset, std::uint64_t size)
      : file_(std::move(file)), offset_(offset), size_(size) {}
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  void read(std::uint64_t offset, std::span<std::byte> out) const override { file_->read(offset_ + offset, out); }

 private:
  std::shared_ptr<const InputFile> file_;
  std::uint64_t offset_, size_;
};

}  // namespace posenc::formats
