// A deflated stream read at any offset in bounded memory: the decompressor's state is copied every few MiB, and a read
// starts from the nearest copy.
#pragma once
#include <zlib.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "input_file.hpp"

namespace posenc::formats {

class InflatedSource : public ByteSource {
 public:
  /// Raw deflate at [offset, offset + packed) that must give exactly `size` bytes. `what` names it in messages.
  InflatedSource(std::shared_ptr<const InputFile> file, std::uint64_t offset, std::uint64_t packed, std::uint64_t size, std::string what);
  ~InflatedSource() override;
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  void read(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  struct State {
    z_stream stream{};
    std::uint64_t in = 0, out = 0;  ///< bytes consumed and produced so far
  };
  // What a stream under way takes, 4 MiB and 40 KiB a copy. Threads ask for neighbouring blocks out of order: what was just
  // produced is kept, so that none of them turns the stream back. An archive may have many members: one of which little
  // has been read gives it back.
  struct Running {
    State now;
    std::vector<std::unique_ptr<State>> copies;  // rising in `out`; [0] is the start
    std::vector<std::byte> input;
    std::vector<std::byte> recent;  // the last bytes produced, byte i of the stream at i % size
    std::uint64_t kept = 0;         // how many of them there are
    Running();
    void keep(std::span<const std::byte> made);
    [[nodiscard]] std::size_t take(std::uint64_t offset, std::span<std::byte> out) const;
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
  };
  void inflate_into(Running& run, std::span<std::byte> out) const;
  static void restart(Running& run, std::uint64_t offset);
  void check_end(Running& run) const;

  std::shared_ptr<const InputFile> file_;
  std::uint64_t offset_, packed_, size_, spacing_;
  std::string what_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Running> running_;
};

}  // namespace posenc::formats
