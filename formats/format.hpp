// What each format provides. The registry loops over list.inc; nothing else knows the formats by name.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "input_file.hpp"
#include "posenc/formats.hpp"

namespace posenc::formats {

/// How many of a file's first bytes `matches` gets to see.
inline constexpr std::size_t head_bytes = 8192;

// check: what the traits and the common rules do not say already. open_writer: the plan has passed check.
#define POSENC_FORMAT(name)                                                             \
  namespace name {                                                                      \
  const FormatTraits& traits();                                                         \
  bool matches(std::span<const std::byte> head);                                        \
  void check(const FilePlan& plan);                                                     \
  std::uint64_t file_size(const FilePlan& plan);                                        \
  std::unique_ptr<Writer> open_writer(const std::string& path, const FilePlan& plan);   \
  std::unique_ptr<Reader> open_reader(std::shared_ptr<const InputFile> file);           \
  }
#include "list.inc"
#undef POSENC_FORMAT

}  // namespace posenc::formats
