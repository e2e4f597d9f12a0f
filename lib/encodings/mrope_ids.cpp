// Next-text rules and times: get_rope_index of Qwen2-VL, Qwen2.5-VL and their successors in Hugging Face.
#include "encodings/mrope_ids.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "numeric/real.hpp"
#include "posenc/error.hpp"
#include "posenc/text.hpp"

namespace posenc {
namespace {

// Starts and times up to 2^51 each and an offset up to 2^52 keep every id within 2^53.
constexpr std::int64_t largest_start = std::int64_t{1} << 51;

// The number that was written: 0.3 is 3/10, not the double beside it, whose product would be cut one too low.
num::Real written(double value) {
  const std::string text = print(value);
  const std::size_t e = text.find('e'), point = text.find('.');
  std::string digits = text.substr(0, e);
  std::int64_t exponent = e == std::string::npos ? 0 : parse_int(text.substr(e + 1), "an exponent");
  if (point != std::string::npos) {
    digits.erase(point, 1);
    exponent -= static_cast<std::int64_t>(digits.size() - point);
  }
  const num::Real ten = num::Real::of(std::int64_t{10});
  return num::Real::of(parse_int(digits, "digits")) * pow(ten, exponent, 1);
}

// int(grid * seconds * tokens_per_second).
std::int64_t time_of(std::int64_t grid, double seconds, double tokens_per_second, MropeSeconds rule) {
  if (rule == MropeSeconds::float32) {
    const float product = static_cast<float>(grid) * static_cast<float>(seconds);
    return static_cast<std::int64_t>(product * static_cast<float>(tokens_per_second));
  }
  if (rule == MropeSeconds::whole) seconds = std::trunc(seconds);
  using num::Real;
  return static_cast<std::int64_t>(floor(Real::of(grid) * written(seconds) * written(tokens_per_second)).to_double());
}

}  // namespace

MropeIds::MropeIds(const Mrope& s) : offset_(s.offset) {
  if (s.position_ids.given()) {
    tokens_ = s.position_ids.shape[1];
    rows_ = s.position_ids.values;
    for (const double id : rows_)
      if (std::fabs(id + static_cast<double>(offset_)) > 0x1p53)
        fail_usage(fmt::format("position id {} moved by offset {} passes 2^53", print(id), offset_));
    return;
  }
  std::int64_t start = 0;
  for (const TokenSpan& given : s.spans.value_or(Mrope::default_spans()).spans) {
    Placed p{.span = given, .first_token = tokens_, .start = start};
    if (given.kind == TokenSpanKind::text) {
      start += given.width;
    } else {
      const std::int64_t merge = s.spatial_merge_size;
      if (given.height % merge != 0 || given.width % merge != 0)
        fail_usage(fmt::format("the grid {} does not divide by spatial_merge_size {}", TokenSpans{{given}}.text(), merge));
      p.span.height /= merge;
      p.span.width /= merge;
      if (given.kind == TokenSpanKind::video && s.tokens_per_second) {
        // Far beyond any film; below it the products in binary32 and in doubles stay finite and the times are integers.
        const double last = static_cast<double>(given.grids) * given.seconds;
        if (std::max({last, *s.tokens_per_second, last * *s.tokens_per_second}) > 0x1p51)
          fail_usage(fmt::format("the times of {} pass 2^51", TokenSpans{{given}}.text()));
        for (std::int64_t g = 0; g < given.grids; ++g) p.times.push_back(time_of(g, given.seconds, *s.tokens_per_second, s.seconds));
      }
      const std::int64_t grid = std::max(p.span.height, p.span.width);
      start += s.next_text == MropeNextText::grid ? grid : std::max(grid, p.time(given.grids - 1) + 1);
    }
    tokens_ += p.span.tokens();
    placed_.push_back(std::move(p));
    if (start > largest_start) fail_usage(fmt::format("position ids after {} pass 2^51", TokenSpans{{given}}.text()));
  }
}

const MropeIds::Placed& MropeIds::span_of(std::int64_t token) const {
  return *(std::upper_bound(placed_.begin(), placed_.end(), token, [](std::int64_t t, const Placed& p) { return t < p.first_token; }) - 1);
}

std::int64_t MropeIds::at(std::int64_t axis, std::int64_t token) const {
  if (placed_.empty()) return static_cast<std::int64_t>(rows_[static_cast<std::size_t>(axis * tokens_ + token)]) + offset_;
  const Placed& p = span_of(token);
  const std::int64_t within = token - p.first_token, start = p.start + offset_;
  if (p.span.kind == TokenSpanKind::text) return start + within;
  if (axis == 0) return start + p.time(within / (p.span.height * p.span.width));
  return start + (axis == 1 ? within / p.span.width % p.span.height : within % p.span.width);
}

}  // namespace posenc
