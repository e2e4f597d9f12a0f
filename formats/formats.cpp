// The registry: list.inc as tables, the rules that hold for every format, and the way in and out.
#include "posenc/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>

#include "array_reader.hpp"
#include "atomic_file.hpp"
#include "crc32.hpp"
#include "format.hpp"
#include "grow_journal.hpp"
#include "posenc/error.hpp"
#include "posenc/text.hpp"
#include "utf8.hpp"

namespace posenc::formats {
namespace {

struct Format {
  const FormatTraits& (*traits)();
  bool (*matches)(std::span<const std::byte>);
  void (*check)(const FilePlan&);
  std::uint64_t (*file_size)(const FilePlan&);
  std::unique_ptr<Writer> (*open_writer)(const std::string&, const FilePlan&);
  Growth (*open_growth)(const std::string&, const FilePlan&);
  std::unique_ptr<Reader> (*open_reader)(std::shared_ptr<const InputFile>);
};

constexpr Format list[] = {
#define POSENC_FORMAT(name) {name::traits, name::matches, name::check, name::file_size, name::open_writer, name::open_growth, name::open_reader},
#include "list.inc"
#undef POSENC_FORMAT
};

constexpr std::size_t most_axes = 32;    // NumPy and HDF5
constexpr std::size_t longest_name = 1024;

const Format& implementation(const FormatTraits& traits) {
  for (const Format& format : list)
    if (format.traits().name == traits.name) return format;
  fail_usage(fmt::format("there is no format '{}'", traits.name));
}

// "npz, safetensors or hdf5": the formats for which `can` holds.
template <class Can>
std::string formats_that(Can can) {
  std::vector<std::string> names;
  for (const FormatTraits& traits : formats())
    if (can(traits)) names.emplace_back(traits.name);
  return one_of(names);
}

bool plain_text(std::string_view text) { return is_utf8(text) && text.find('\0') == std::string_view::npos; }

void check_tensor(const FormatTraits& format, const StoredTensor& tensor) {
  if (tensor.name.empty() && format.many_tensors) fail_usage("a tensor has an empty name");
  if (tensor.name.size() > longest_name) fail_usage(fmt::format("the tensor name '{}...' has more than {} bytes", tensor.name.substr(0, 40), longest_name));
  const bool control = std::any_of(tensor.name.begin(), tensor.name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (control || !is_utf8(tensor.name)) fail_usage("a tensor name has control characters or is not UTF-8");
  if (!plain_text(tensor.help)) fail_usage(fmt::format("the help of tensor '{}' is not plain UTF-8 text", tensor.name));
  if (!tensor.axis_names.empty() && tensor.axis_names.size() != tensor.shape.size())
    fail_usage(fmt::format("tensor '{}' has {} axes but {} axis names", tensor.name, tensor.shape.size(), tensor.axis_names.size()));
  for (const std::string& axis : tensor.axis_names)
    if (!plain_text(axis)) fail_usage(fmt::format("an axis name of tensor '{}' is not plain UTF-8 text", tensor.name));
  if (tensor.shape.size() > most_axes) fail_usage(fmt::format("tensor '{}' has {} axes; files hold at most {}", tensor.name, tensor.shape.size(), most_axes));
  for (const std::int64_t extent : tensor.shape)
    if (extent < 0) fail_usage(fmt::format("tensor '{}' has an axis of size {}", tensor.name, extent));
  static_cast<void>(tensor.bytes());  // throws when it overflows
  if (tensor.is_complex && !format.complex)
    fail_usage(fmt::format("{} has no complex type (tensor '{}'): write real and imaginary part as two real tensors, or use {}", format.name,
                           tensor.name, formats_that([](const FormatTraits& t) { return t.complex; })));
  if (tensor.is_complex && tensor.dtype != DType::f32 && tensor.dtype != DType::f64)
    fail_usage(fmt::format("tensor '{}': complex values are pairs of f32 or f64, not of {}", tensor.name, name_of(tensor.dtype)));
  if (tensor.dtype == DType::bf16 && !format.bf16)
    fail_usage(fmt::format("{} has no bfloat16 (tensor '{}'): use --dtype f32, which holds the same values, or write {}", format.name, tensor.name,
                           formats_that([](const FormatTraits& t) { return t.bf16; })));
}

// A file too large for where it goes is told with the size that it would have.
template <class F>
auto with_size(const FormatTraits& format, const std::string& path, const FilePlan& plan, F&& open) try {
  return open();
} catch (const Error& e) {
  const std::string_view sentence = e.what();
  if (e.failure() != Failure::system || !sentence.ends_with(std::strerror(EFBIG)) || plan.chunking.gzip_level > 0) throw;
  const std::uint64_t size = implementation(format).file_size(plan);
  fail_system(fmt::format("cannot write {}: it would have {} ({} bytes), which its file system, or a limit on file sizes (ulimit -f), refuses", path, human_bytes(size), size), EFBIG);
}

}  // namespace

std::span<const FormatTraits> formats() {
  static const std::vector<FormatTraits> traits = [] {
    std::vector<FormatTraits> all;
    for (const Format& format : list) all.push_back(format.traits());
    return all;
  }();
  return traits;
}

const FormatTraits& format_of_suffix(std::string_view path) {
  std::vector<std::string> known;
  for (const FormatTraits& traits : formats())
    for (const std::string_view suffix : traits.suffixes) {
      if (path.ends_with(suffix)) return traits;
      known.emplace_back(suffix);
    }
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos)
    fail_usage(fmt::format("{} has no suffix that names a format: use {}, or say --format", path, one_of(known)));
  const std::string_view suffix = name.substr(dot);
  fail_usage(fmt::format("{}: the suffix {} names no format; known are {}{}", path, suffix, one_of(known), did_you_mean(suffix, known)));
}

const FormatTraits& parse_format(std::string_view name) {
  std::vector<std::string> names;
  for (const FormatTraits& traits : formats()) {
    if (traits.name == name) return traits;
    names.emplace_back(traits.name);
  }
  for (const FormatTraits& traits : formats())  // h5, .npy
    for (const std::string_view suffix : traits.suffixes)
      if (name == suffix || name == suffix.substr(1)) return traits;
  fail_usage(fmt::format("format wants {}, got {}{}", one_of(names), quoted_word(name), did_you_mean(name, names)));
}

void check_plan(const FormatTraits& format, const FilePlan& plan) {
  if (!format.many_tensors && plan.tensors.size() != 1)
    fail_usage(fmt::format("{} holds one tensor, not {}: pick one with --tensor, or write {}", format.name, plan.tensors.size(),
                           formats_that([](const FormatTraits& t) { return t.many_tensors; })));
  std::set<std::string_view> names;
  std::int64_t total = 0;
  for (const StoredTensor& tensor : plan.tensors) {
    check_tensor(format, tensor);
    if (!names.insert(tensor.name).second) fail_usage(fmt::format("two tensors are named '{}'", tensor.name));
    if (__builtin_add_overflow(total, tensor.bytes(), &total)) fail_usage("the tensors together pass 2^63 bytes");
  }
  if (!plan.metadata.empty() && !format.metadata) fail_usage(fmt::format("{} has no place for metadata", format.name));
  for (const auto& [key, value] : plan.metadata)
    if (key.empty() || !plain_text(key) || !plain_text(value)) fail_usage(fmt::format("the metadata '{}' is not plain UTF-8 text", is_utf8(key) ? key : "?"));
  if (plan.chunking.chunked && !format.chunking)
    fail_usage(fmt::format("{} has no chunks or compression: leave that out, or write {}", format.name,
                           formats_that([](const FormatTraits& t) { return t.chunking; })));
  implementation(format).check(plan);
}

std::uint64_t file_size(const FormatTraits& format, const FilePlan& plan) {
  check_plan(format, plan);
  return implementation(format).file_size(plan);
}

std::unique_ptr<Writer> create(const FormatTraits& format, const std::string& path, const FilePlan& plan) {
  check_plan(format, plan);
  if (!format.stdout_ok && is_stream_target(path))
    fail_usage(fmt::format("{} cannot be written front to back, which {} needs: name a regular file, or use {}", format.name,
                           path == "-" ? "stdout" : path, formats_that([](const FormatTraits& t) { return t.stdout_ok; })));
  return with_size(format, path, plan, [&] { return implementation(format).open_writer(path, plan); });
}

Growth grow(const FormatTraits& format, const std::string& path, const FilePlan& plan) {
  check_plan(format, plan);
  return with_size(format, path, plan, [&] { return implementation(format).open_growth(path, plan); });
}

std::shared_ptr<const void> hold(const std::string& path) { return lock_file(path); }

FilePlan::Chunking chunking(const Reader& reader) {
  const auto* arrays = dynamic_cast<const ArrayReader*>(&reader);
  return arrays == nullptr ? FilePlan::Chunking{} : arrays->chunking();
}

std::unique_ptr<Reader> open(const std::string& path) {
  complete_replacement(path);
  auto file = std::make_shared<const InputFile>(path);
  std::vector<std::byte> head(std::min<std::uint64_t>(file->size(), head_bytes));
  file->read(0, head);
  for (const Format& format : list)
    if (format.matches(head)) return format.open_reader(std::move(file));
  if (head.empty()) fail_input(path + ": is empty");
  fail_input(fmt::format("{}: its first bytes are those of no format posenc reads ({})", path, formats_that([](const FormatTraits&) { return true; })));
}

std::vector<std::string> skipped(const Reader& reader) {
  const auto* arrays = dynamic_cast<const ArrayReader*>(&reader);
  return arrays == nullptr ? std::vector<std::string>{} : arrays->skipped();
}

std::vector<std::string> remarks(const Reader& reader) {
  const auto* arrays = dynamic_cast<const ArrayReader*>(&reader);
  return arrays == nullptr ? std::vector<std::string>{} : arrays->remarks();
}

std::vector<std::string> faults(const Reader& reader) {
  const auto* arrays = dynamic_cast<const ArrayReader*>(&reader);
  return arrays == nullptr ? std::vector<std::string>{} : arrays->faults();
}

void write_text(const std::string& path, std::string_view text) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text.data(), text.size()));
  const auto put = [&](Sink& sink) {
    sink.write(0, bytes);
    sink.publish();
  };
  if (is_stream_target(path)) {
    SequentialFile file(path);
    put(file);
  } else {
    AtomicFile file(path);
    put(file);
  }
}

std::uint32_t checksum(const Reader& reader, std::size_t tensor) {
  constexpr std::int64_t most = 1 << 20;
  const StoredTensor& t = reader.tensors()[tensor];
  const auto size = static_cast<std::int64_t>(size_of(t.dtype));
  std::vector<std::byte> bytes;
  Crc32 sum;
  for (std::int64_t first = 0; first < t.values(); first += most) {
    bytes.resize(static_cast<std::size_t>(std::min(most, t.values() - first) * size));
    reader.read(tensor, first, bytes);
    sum.add(static_cast<std::uint64_t>(first * size), bytes);
  }
  return sum.of(static_cast<std::uint64_t>(t.bytes())).value_or(0);
}

}  // namespace posenc::formats
