// safetensors. Numbers are little-endian.
//   1. 0..7    length N of the header, at most 100,000,000
//   2. N bytes a JSON object, {"__metadata__": {KEY: TEXT}, NAME: {"dtype": "F32", "shape": [16, 8], "data_offsets": [0, 512]}, ...};
//              blanks may pad it
//   3. rest    the values, row-major; data_offsets count from here, and the ranges tile the section without gap or overlap
// Written: tensors by falling element size, then by name, so that each is aligned without a gap; N a multiple of 8.
// Read: any order. C64 is complex f32; U8 I8 U16 I16 BOOL become i32 and U32 U64 i64; floats of 8 bits and fewer are skipped.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "array_reader.hpp"
#include "checked.hpp"
#include "format.hpp"
#include "placed_writer.hpp"
#include "posenc/error.hpp"
#include "posenc/json.hpp"

namespace posenc::formats::safetensors {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::uint64_t longest_header = 100'000'000;
constexpr const char* metadata_name = "__metadata__";
constexpr std::size_t most_axes = 32;

struct Spelling {
  std::string_view name;
  unsigned bits;
  std::optional<ElementType> type;  // none: the size is known, but posenc cannot hold the values
};
using Kind = ElementType::Kind;
constexpr std::array<Spelling, 22> spellings{{
    {"F64", 64, ElementType{Kind::ieee, 8}},   {"F32", 32, ElementType{Kind::ieee, 4}},   {"F16", 16, ElementType{Kind::ieee, 2}},
    {"BF16", 16, ElementType{Kind::bfloat, 2}}, {"I64", 64, ElementType{Kind::sint, 8}},   {"I32", 32, ElementType{Kind::sint, 4}},
    {"I16", 16, ElementType{Kind::sint, 2}},   {"I8", 8, ElementType{Kind::sint, 1}},     {"U64", 64, ElementType{Kind::uint, 8}},
    {"U32", 32, ElementType{Kind::uint, 4}},   {"U16", 16, ElementType{Kind::uint, 2}},   {"U8", 8, ElementType{Kind::uint, 1}},
    {"BOOL", 8, ElementType{Kind::boolean, 1}}, {"C64", 64, ElementType{Kind::complex, 8}}, {"F8_E4M3", 8, std::nullopt},
    {"F8_E5M2", 8, std::nullopt},              {"F8_E8M0", 8, std::nullopt},              {"F8_E4M3FNUZ", 8, std::nullopt},
    {"F8_E5M2FNUZ", 8, std::nullopt},          {"F4", 4, std::nullopt},                   {"F6_E2M3", 6, std::nullopt},
    {"F6_E3M2", 6, std::nullopt},
}};

std::string_view spelling_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return "F64";
    case DType::f32: return "F32";
    case DType::f16: return "F16";
    case DType::bf16: return "BF16";
    case DType::i32: return "I32";
    case DType::i64: return "I64";
  }
  return "";
}

struct Layout {
  std::string header;                // parts 1 and 2
  std::vector<std::uint64_t> bases;  // of each tensor, in the plan's order
  std::uint64_t size = 0;            // of the file
};

Layout lay_out(const FilePlan& plan) {
  std::vector<std::size_t> order(plan.tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const StoredTensor &x = plan.tensors[a], &y = plan.tensors[b];
    return size_of(x.dtype) != size_of(y.dtype) ? size_of(x.dtype) > size_of(y.dtype) : x.name < y.name;
  });
  // Pieced together: an ordered_json of many tensors searches all its keys at every insertion.
  std::string text = "{";
  if (!plan.metadata.empty()) text += fmt::format("\"{}\":{}", metadata_name, Json(plan.metadata).dump());
  std::uint64_t offset = 0;
  Layout layout;
  layout.bases.resize(plan.tensors.size());
  for (const std::size_t i : order) {
    const StoredTensor& tensor = plan.tensors[i];
    layout.bases[i] = offset;
    std::uint64_t end = 0;
    if (__builtin_add_overflow(offset, static_cast<std::uint64_t>(tensor.bytes()), &end) || end > static_cast<std::uint64_t>(INT64_MAX))
      fail_usage("safetensors: the tensors together pass 2^63 bytes");
    if (text.size() > 1) text += ',';
    text += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}", Json(tensor.name).dump(), spelling_of(tensor.dtype),
                        Json(tensor.shape).dump(), offset, end);
    offset = end;
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > longest_header)
    fail_usage(fmt::format("safetensors: the header would have {} bytes, allowed {}", text.size(), longest_header));
  put_le<std::uint64_t>(layout.header, text.size());
  layout.header += text;
  for (std::uint64_t& base : layout.bases) base += layout.header.size();
  layout.size = layout.header.size() + offset;
  return layout;
}

struct Range {
  std::string name;
  std::uint64_t begin = 0, end = 0;
};

class Header {
 public:
  explicit Header(std::shared_ptr<const InputFile> file) : file_(std::move(file)), path_(file_->path()) {}

  std::unique_ptr<ArrayReader> read() {
    auto reader = std::make_unique<ArrayReader>(path_, traits().name);
    if (file_->size() < 8) fail_input(fmt::format("{}: has {} bytes, but the header length alone takes 8", path_, file_->size()));
    std::string start(8, '\0');
    file_->read(0, as_writable_bytes(start));
    const auto length = get_le<std::uint64_t>(start.data());
    if (length > longest_header) fail_input(fmt::format("{}: header length {} at offset 0, allowed {}", path_, length, longest_header));
    if (length > file_->size() - 8)
      fail_input(fmt::format("{}: header length {} at offset 0, but {} bytes are left", path_, length, file_->size() - 8));
    std::string text(length, '\0');
    file_->read(8, as_writable_bytes(text));
    if (!text.empty() && text.back() == '\0')
      fail_input(fmt::format("{}: the header is padded with zero bytes up to offset {}; only blanks are allowed", path_, 8 + length));
    data_ = 8 + length;
    const Json header = json::parse(text, path_ + ": header");
    if (!header.is_object()) fail_input(fmt::format("{}: the header is JSON but no object", path_));
    for (const auto& [name, value] : header.items()) {
      if (name == metadata_name) reader->set_metadata(metadata(value));
      else tensor(name, value, *reader);
    }
    check_tiling();
    reader->seal();
    return reader;
  }

 private:
  std::map<std::string, std::string> metadata(const Json& value) const {
    if (!value.is_object()) fail_input(fmt::format("{}: {} is no object", path_, metadata_name));
    std::map<std::string, std::string> out;
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail_input(fmt::format("{}: {} '{}' is no string", path_, metadata_name, key));
      out[key] = text.get<std::string>();
    }
    return out;
  }

  std::uint64_t number(const Json& value, const std::string& what, const char* field) const {
    if (!value.is_number_unsigned()) fail_input(fmt::format("{}: {} wants integers from 0, got {}", what, field, value.dump().substr(0, 40)));
    return value.get<std::uint64_t>();
  }

  void tensor(const std::string& name, const Json& value, ArrayReader& reader) {
    const std::string what = describe(path_, name);
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") || !value.contains("data_offsets"))
      fail_input(fmt::format("{}: wants an object of exactly dtype, shape and data_offsets", what));
    const Json &dtype = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
    const Spelling* spelling = nullptr;
    if (dtype.is_string())
      for (const Spelling& s : spellings)
        if (s.name == dtype.get_ref<const std::string&>()) spelling = &s;
    if (spelling == nullptr) fail_input(fmt::format("{}: unknown dtype {}", what, dtype.dump().substr(0, 40)));
    if (!shape.is_array() || shape.size() > most_axes) fail_input(fmt::format("{}: shape wants a list of at most {} sizes", what, most_axes));
    if (!offsets.is_array() || offsets.size() != 2) fail_input(fmt::format("{}: data_offsets wants [begin, end]", what));
    StoredArray array;
    std::uint64_t elements = 1;
    for (const Json& extent : shape) {
      const std::uint64_t size = number(extent, what, "shape");
      if (__builtin_mul_overflow(elements, size, &elements)) fail_input(fmt::format("{}: shape {} overflows 64 bits", what, shape.dump()));
      // A zero-size tensor may carry any sizes; beyond 63 bits posenc has no number for them.
      if (size > static_cast<std::uint64_t>(INT64_MAX)) fail_input(fmt::format("{}: size {} in its shape, allowed 2^63 - 1", what, size));
      array.tensor.shape.push_back(static_cast<std::int64_t>(size));
    }
    Range range{name, number(offsets[0], what, "data_offsets"), number(offsets[1], what, "data_offsets")};
    const std::uint64_t room = file_->size() - data_;
    if (range.begin > range.end || range.end > room)
      fail_input(fmt::format("{}: data_offsets [{}, {}], allowed rising numbers up to {}", what, range.begin, range.end, room));
    std::uint64_t bits = 0;
    if (__builtin_mul_overflow(elements, std::uint64_t{spelling->bits}, &bits) || bits % 8 != 0 || bits / 8 != range.end - range.begin)
      fail_input(fmt::format("{}: shape {} of {} does not fill its {} bytes", what, shape.dump(), spelling->name, range.end - range.begin));
    array.tensor.name = name;
    array.source = std::make_shared<FileRange>(file_, data_ + range.begin, range.end - range.begin);
    ranges_.push_back(std::move(range));
    if (!spelling->type) {
      reader.skip(fmt::format("{}: dtype {}", name, spelling->name));
      return;
    }
    array.type = *spelling->type;
    reader.add(std::move(array));
  }

  void check_tiling() {
    std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
    std::uint64_t next = 0;
    for (const Range& range : ranges_) {
      if (range.begin != next)
        fail_input(fmt::format("{}: begins at {} of the data section, but the one before ends at {}", describe(path_, range.name), range.begin, next));
      next = range.end;
    }
    if (next != file_->size() - data_)
      fail_input(fmt::format("{}: the data section has {} bytes, its tensors take {}", path_, file_->size() - data_, next));
  }

  std::shared_ptr<const InputFile> file_;
  const std::string& path_;
  std::uint64_t data_ = 0;
  std::vector<Range> ranges_;
};

}  // namespace

const FormatTraits& traits() {
  static const FormatTraits t{.name = "safetensors",
                              .suffixes = {".safetensors"},
                              .help = "safetensors; many tensors, the spec in __metadata__",
                              .many_tensors = true,
                              .metadata = true,
                              .complex = false,
                              .bf16 = true,
                              .chunking = false,
                              .stdout_ok = false,
                              .grows = false};
  return t;
}

// There is no signature: a header length that is no text, then the first non-blank of the JSON object.
bool matches(std::span<const std::byte> head) {
  if (head.size() < 9) return false;
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  const bool printable = std::all_of(text.begin(), text.begin() + 8, [](char c) { return c >= ' ' && c <= '~'; });
  const std::size_t first = text.find_first_not_of(" \t\r\n", 8);
  const bool object = first != std::string_view::npos && text[first] == '{';
  const bool plausible = get_le<std::uint64_t>(text.data()) <= longest_header;
  return !printable && (object || (plausible && first == std::string_view::npos));
}

void check(const FilePlan& plan) {
  for (const StoredTensor& tensor : plan.tensors)
    if (tensor.name == metadata_name) fail_usage("safetensors keeps the name __metadata__ for itself; rename the tensor");
}

std::uint64_t file_size(const FilePlan& plan) { return lay_out(plan).size; }

std::unique_ptr<Writer> open_writer(const std::string& path, const FilePlan& plan) {
  Layout layout = lay_out(plan);
  auto sink = std::make_unique<AtomicFile>(path);
  sink->reserve(layout.size);
  sink->write(0, as_bytes(layout.header));
  return std::make_unique<PlacedWriter>(path, std::move(sink), plan.tensors, std::move(layout.bases));
}

Growth open_growth(const std::string& path, const FilePlan& plan) {
  return rewriting(open_writer(path, plan), plan, "safetensors has one tensor behind the other");
}

std::unique_ptr<Reader> open_reader(std::shared_ptr<const InputFile> file) { return Header(std::move(file)).read(); }

}  // namespace posenc::formats::safetensors
