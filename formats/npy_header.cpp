#include "npy_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>

#include "checked.hpp"
#include "posenc/error.hpp"

namespace posenc::formats {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::uint64_t longest = 1 << 20;  // a plain array needs under 1000 bytes; numpy itself stops at 10000
constexpr std::size_t most_axes = 32;       // numpy's and HDF5's limit

std::string_view descr_of(const StoredTensor& tensor) {
  switch (tensor.dtype) {
    case DType::f64: return tensor.is_complex ? "<c16" : "<f8";
    case DType::f32: return tensor.is_complex ? "<c8" : "<f4";
    case DType::f16: return "<f2";
    case DType::i32: return "<i4";
    case DType::i64: return "<i8";
    case DType::bf16: break;
  }
  fail_usage("NPY has no bfloat16");
}

// A dictionary of Python literals, as far as a header has them: strings, True, False, tuples of integers.
class Literal {
 public:
  Literal(std::string_view text, const std::string& what, int version, std::uint64_t base)
      : text_(text), what_(what), version_(version), base_(base) {}

  NpyHeader parse(std::string& unheld) {
    NpyHeader header;
    bool descr = false, order = false, shape = false;
    blanks();
    expect('{');
    for (blanks(); !accept('}'); blanks()) {
      const std::string_view key = string();
      blanks();
      expect(':');
      blanks();
      bool* seen = key == "descr" ? &descr : key == "fortran_order" ? &order : key == "shape" ? &shape : nullptr;
      if (seen == nullptr) refuse(fmt::format("unknown key '{}'; allowed are descr, fortran_order and shape, once each", key));
      if (*seen) refuse(fmt::format("key '{}' stands twice", key));
      *seen = true;
      if (seen == &descr) {
        if (peek() == '[') unheld = "structured element type";
        else header.type = element(string(), unheld);
        if (!unheld.empty()) return header;
      } else if (seen == &order) {
        header.column_major = boolean();
      } else {
        header.shape = tuple();
      }
      blanks();
      if (peek() != '}') expect(',');
    }
    blanks();
    if (at_ != text_.size()) refuse("text after the dictionary");
    if (!descr || !order || !shape) refuse("one of the keys descr, fortran_order and shape is missing");
    return header;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    fail_input(fmt::format("{}: NPY header at offset {}: {}", what_, base_ + at_, why));
  }
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void blanks() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') ++at_;
  }
  bool accept(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse(fmt::format("wants '{}', which is not a plain dictionary", c));
  }
  std::string_view string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') refuse("wants a quoted string");
    const std::size_t start = ++at_;
    while (at_ < text_.size() && text_[at_] != quote)
      if (const char c = text_[at_++]; c == '\\' || c == '\n') refuse("escape or line break in a string");
    const std::string_view body = text_.substr(start, at_ - start);
    expect(quote);
    return body;
  }
  bool boolean() {
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    refuse("fortran_order wants True or False");
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> values;
    expect('(');
    bool comma = false;
    for (blanks(); !accept(')'); blanks()) {
      if (!values.empty() && !comma) refuse("wants a comma between sizes");
      std::int64_t value = 0;
      const char* begin = text_.data() + at_;
      const auto [stop, code] = std::from_chars(begin, text_.data() + text_.size(), value);
      if (code != std::errc{} || value < 0 || *begin == '-') refuse("a size wants an integer from 0 to 2^63 - 1");
      if (*begin == '0' && stop - begin > 1) refuse("a size with a leading 0");
      at_ += static_cast<std::size_t>(stop - begin);
      if (version_ < 3) accept('L');  // a long integer as Python 2 wrote it
      if (values.size() == most_axes) refuse(fmt::format("more than {} axes", most_axes));
      values.push_back(value);
      blanks();
      comma = accept(',');
    }
    if (values.size() == 1 && !comma) refuse("the shape is a number in parentheses, not a tuple");
    return values;
  }
  ElementType element(std::string_view descr, std::string& unheld) const {
    std::string_view rest = descr;
    ElementType type;
    if (!rest.empty() && std::string_view("<>=|").find(rest[0]) != std::string_view::npos) {
      type.big_endian = rest[0] == '>';
      rest.remove_prefix(1);
    }
    if (rest == "?") rest = "b1";
    std::size_t size = 0;
    const char kind = rest.empty() ? '\0' : rest[0];
    const auto [stop, code] = std::from_chars(rest.data() + (rest.empty() ? 0 : 1), rest.data() + rest.size(), size);
    const bool sized = code == std::errc{} && stop == rest.data() + rest.size();
    using Kind = ElementType::Kind;
    const std::optional<Kind> known = kind == 'b'   ? std::optional(Kind::boolean)
                                      : kind == 'i' ? std::optional(Kind::sint)
                                      : kind == 'u' ? std::optional(Kind::uint)
                                      : kind == 'f' ? std::optional(Kind::ieee)
                                      : kind == 'c' ? std::optional(Kind::complex)
                                                    : std::nullopt;
    if (known && sized && size <= 32) {
      type.kind = *known;
      type.size = size;
      if (holding(type)) return type;
    }
    unheld = fmt::format("element type '{}'", descr.substr(0, 40));
    if (kind == 'V' && size == 2) unheld += ", which is how numpy saves bfloat16: save it as float32";
    if (kind == 'O') unheld += ", which is pickled Python objects";
    return type;
  }

  std::string_view text_;
  const std::string& what_;
  int version_;
  std::uint64_t base_;
  std::size_t at_ = 0;
};

}  // namespace

std::string make_npy_header(const StoredTensor& tensor) {
  std::string shape = fmt::format("{}", fmt::join(tensor.shape, ", "));
  if (tensor.shape.size() == 1) shape += ',';
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr_of(tensor), shape);
  // numpy leaves room for the first size to grow to 21 digits in place.
  if (!tensor.shape.empty()) text.append(21 - fmt::formatted_size("{}", tensor.shape[0]), ' ');
  for (const int version : {1, 2}) {
    const std::size_t before = magic.size() + 2 + (version == 1 ? 2 : 4);
    std::string padded = text;
    padded.append(64 - (before + text.size() + 1) % 64, ' ');  // 64, not 0, when it already fits: so does numpy
    padded += '\n';
    if (version == 1 && padded.size() > 0xFFFF) continue;
    std::string out(magic);
    out += static_cast<char>(version);
    out += '\0';
    if (version == 1) put_le(out, static_cast<std::uint16_t>(padded.size()));
    else put_le(out, static_cast<std::uint32_t>(padded.size()));
    return out + padded;
  }
  fail_usage(fmt::format("tensor '{}' has too many axes for NPY", tensor.name));
}

NpyHeader read_npy_header(const ByteSource& source, const std::string& what, std::string& unheld) {
  std::string start(8, '\0');
  if (source.size() < 10) fail_input(fmt::format("{}: has {} bytes, but an NPY header takes 10 and more", what, source.size()));
  source.read(0, as_writable_bytes(start));
  if (!start.starts_with(magic)) fail_input(fmt::format("{}: does not start with the NPY signature", what));
  const int major = static_cast<unsigned char>(start[6]), minor = static_cast<unsigned char>(start[7]);
  if (major < 1 || major > 3 || minor != 0)
    fail_input(fmt::format("{}: NPY version {}.{} at offset 6, allowed 1.0, 2.0 and 3.0", what, major, minor));
  std::string count(major == 1 ? 2 : 4, '\0');
  if (source.size() < 8 + count.size()) fail_input(fmt::format("{}: ends inside the NPY header, at offset {}", what, source.size()));
  source.read(8, as_writable_bytes(count));
  const std::uint64_t length = major == 1 ? get_le<std::uint16_t>(count.data()) : get_le<std::uint32_t>(count.data());
  const std::uint64_t base = 8 + count.size();
  if (length > source.size() - base)
    fail_input(fmt::format("{}: NPY header length {} at offset 8, but {} bytes are left", what, length, source.size() - base));
  if (length > longest) fail_input(fmt::format("{}: NPY header length {} at offset 8, allowed {}", what, length, longest));
  std::string text(length, '\0');
  source.read(base, as_writable_bytes(text));
  NpyHeader header = Literal(text, what, major, base).parse(unheld);
  header.size = base + length;
  if (!unheld.empty()) return header;
  const auto bytes = checked_bytes(header.shape, header.type.size);
  const std::uint64_t left = source.size() - header.size;
  if (!bytes || *bytes != left)
    fail_input(fmt::format("{}: shape ({}) of {}-byte elements wants {} bytes from offset {}, got {}", what,
                           fmt::join(header.shape, ", "), header.type.size, bytes ? std::to_string(*bytes) : "over 2^63",
                           header.size, left));
  return header;
}

}  // namespace posenc::formats
