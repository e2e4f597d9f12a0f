#include "posenc/array.hpp"

#include <fmt/format.h>

#include "posenc/error.hpp"
#include "posenc/text.hpp"

namespace posenc {
namespace {

constexpr std::size_t max_axes = 8;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (std::int64_t size : shape) text += (text.empty() ? "" : ", ") + (size < 0 ? std::string("any") : print(size));
  return "[" + text + "]";
}

}  // namespace

Array Array::parse(std::string_view text, std::string_view what) {
  Array array;
  const std::size_t colon = text.find(':');
  array.values = parse_reals(colon == std::string_view::npos ? text : text.substr(colon + 1), what);
  if (colon == std::string_view::npos) {
    if (array.values.empty()) fail_usage(fmt::format("{} wants numbers, or a file of them, got {}", what, quoted_word(text)));
    array.shape = {static_cast<std::int64_t>(array.values.size())};
    return array;
  }
  std::string_view rest = text.substr(0, colon);
  std::int64_t product = 1;
  while (true) {
    const std::size_t x = rest.find('x');
    const std::int64_t size = parse_int(rest.substr(0, x), fmt::format("an axis of {}", what));
    if (size < 0 || array.shape.size() == max_axes || __builtin_mul_overflow(product, size, &product))
      fail_usage(fmt::format("{} wants a shape like 2x3 before the colon, got {}", what, quoted_word(text.substr(0, colon))));
    array.shape.push_back(size);
    if (x == std::string_view::npos) break;
    rest.remove_prefix(x + 1);
  }
  if (product != static_cast<std::int64_t>(array.values.size()))
    fail_usage(fmt::format("{} has shape {} but {} values", what, shape_text(array.shape), array.values.size()));
  return array;
}

std::string Array::text() const {
  if (!given()) return "";
  std::string out;
  for (std::int64_t size : shape) out += (out.empty() ? "" : "x") + print(size);
  return out + ":" + print(std::span<const double>(values));
}

void check_shape(const Array& array, const std::vector<std::int64_t>& wanted, std::string_view what) {
  bool fits = array.shape.size() == wanted.size();
  for (std::size_t i = 0; fits && i < wanted.size(); ++i) fits = wanted[i] < 0 || wanted[i] == array.shape[i];
  if (!fits) fail_usage(fmt::format("{} wants shape {}, got {}", what, shape_text(wanted), array.given() ? shape_text(array.shape) : "nothing"));
}

}  // namespace posenc
