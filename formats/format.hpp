// What each format provides. The registry loops over list.inc; nothing else knows the formats by name.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "input_file.hpp"
#include "posenc/formats.hpp"

namespace posenc::formats {

/// How many of a file's first bytes `matches` gets to see.
inline constexpr std::size_t head_bytes = 8192;

// check: what the traits and the common rules do not say already. open_writer, open_growth: the plan has passed check.
#define POSENC_FORMAT(name)                                                             \
  namespace name {                                                                      \
  const FormatTraits& traits();                                                         \
  bool matches(std::span<const std::byte> head);                                        \
  void check(const FilePlan& plan);                                                     \
  std::uint64_t file_size(const FilePlan& plan);                                        \
  std::unique_ptr<Writer> open_writer(const std::string& path, const FilePlan& plan);   \
  Growth open_growth(const std::string& path, const FilePlan& plan);                    \
  std::unique_ptr<Reader> open_reader(std::shared_ptr<const InputFile> file);           \
  }
#include "list.inc"
#undef POSENC_FORMAT

/// A Growth by way of a new file.
[[nodiscard]] inline Growth rewriting(std::unique_ptr<Writer> writer, const FilePlan& plan, std::string why) {
  return {std::move(writer), std::vector<std::int64_t>(plan.tensors.size(), 0), std::move(why)};
}

}  // namespace posenc::formats
