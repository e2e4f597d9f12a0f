#include "posenc/positions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "posenc/error.hpp"
#include "posenc/text.hpp"

namespace posenc {
namespace {

std::int64_t parse_position(std::string_view text) {
  const std::int64_t value = parse_int(text, "positions", true);
  if (value < -max_position || value > max_position)
    fail_usage(fmt::format("positions go up to 2^53 in magnitude, got {}", quoted_word(text)));
  return value;
}

// The end of a range is not among its positions and may lie one beyond the last possible one.
std::int64_t parse_stop(std::string_view text) {
  const std::int64_t value = parse_int(text, "positions", true);
  return value == max_position + 1 || value == -max_position - 1 ? value : parse_position(text);
}

bool is_integer(double value) { return value == std::floor(value) && std::abs(value) <= static_cast<double>(max_position); }

double parse_item(std::string_view text) {
  const double value = parse_real(text, "positions");
  if (value == std::floor(value) && std::abs(value) > static_cast<double>(max_position))
    fail_usage(fmt::format("positions go up to 2^53 in magnitude, got {}", quoted_word(text)));
  return value;
}

// A:B or A:B:S.
Positions parse_range(std::string_view text) {
  const std::size_t first = text.find(':');
  const std::size_t second = text.find(':', first + 1);
  if (second != std::string_view::npos && text.find(':', second + 1) != std::string_view::npos)
    fail_usage(fmt::format("positions want START:STOP:STEP, got {}", quoted_word(text)));
  const std::string_view stop = text.substr(first + 1, second == std::string_view::npos ? second : second - first - 1);
  const std::int64_t step = second == std::string_view::npos ? 1 : parse_position(text.substr(second + 1));
  return Positions::range(parse_position(text.substr(0, first)), parse_stop(stop), step);
}

constexpr std::int64_t max_list = std::int64_t{1} << 28;  // a list is held in memory: 2 GiB of doubles

}  // namespace

Positions Positions::range(std::int64_t start, std::int64_t stop, std::int64_t step) {
  for (std::int64_t v : {start, stop > 0 ? stop - 1 : stop + 1, step})
    if (v < -max_position || v > max_position) fail_usage(fmt::format("positions go up to 2^53 in magnitude, got {}", v));
  if (step == 0) fail_usage("the step of a range of positions must not be 0");
  Positions p;
  p.start_ = start;
  p.step_ = step;
  const std::int64_t span = step > 0 ? stop - start : start - stop;
  const std::int64_t stride = step > 0 ? step : -step;
  p.count_ = span <= 0 ? 0 : (span - 1) / stride + 1;
  return p;
}

Positions Positions::list(std::vector<double> values) {
  for (double v : values)
    if (!std::isfinite(v) || (v == std::floor(v) && std::abs(v) > static_cast<double>(max_position)))
      fail_usage(fmt::format("a position must be finite and at most 2^53 in magnitude, got {}", v));
  // A list that is a range is one: the same positions have one form, whatever way they were given.
  if (values.size() >= 2 && is_integer(values[0]) && is_integer(values[1]) && values[0] != values[1]) {
    const double step = values[1] - values[0];
    bool even = is_integer(step);
    for (std::size_t i = 1; even && i < values.size(); ++i) even = is_integer(values[i]) && values[i] - values[i - 1] == step;
    if (even) {
      Positions p;
      p.start_ = static_cast<std::int64_t>(values[0]);
      p.step_ = static_cast<std::int64_t>(step);
      p.count_ = static_cast<std::int64_t>(values.size());
      return p;
    }
  }
  if (values.size() == 1 && is_integer(values[0])) {
    const auto v = static_cast<std::int64_t>(values[0]);
    Positions p;
    p.start_ = v;
    p.count_ = 1;
    return p;
  }
  Positions p;
  for (double& v : values) v += 0.0;  // -0 is position 0
  p.is_range_ = values.empty();
  p.values_ = std::move(values);
  return p;
}

Positions Positions::parse(std::string_view text) {
  if (text.empty()) fail_usage("positions want N, START:STOP, START:STOP:STEP or a comma-separated list, got ''");
  if (text.find(',') == std::string_view::npos) {
    if (text.find(':') != std::string_view::npos) return parse_range(text);
    const std::int64_t count = parse_position(text);
    if (count < 0) fail_usage(fmt::format("a number of positions must not be negative, got {}", text));
    return range(0, count);
  }
  std::vector<double> values;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    if (item.find(':') != std::string_view::npos) {
      const Positions part = parse_range(item);
      if (part.size() > max_list - static_cast<std::int64_t>(values.size()))
        fail_usage(fmt::format("a list of positions holds at most {} items; use one range instead", max_list));
      for (std::int64_t i = 0; i < part.size(); ++i) values.push_back(part[i]);
    } else {
      values.push_back(parse_item(item));
    }
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return list(std::move(values));
}

Positions Positions::shifted(std::int64_t offset) const {
  if (offset == 0) return *this;
  Positions p = *this;
  const auto refuse = [&](double at) {
    fail_usage(fmt::format("position {} moved by offset {} leaves the range of +-2^53", print(at), offset));
  };
  if (offset < -max_position || offset > max_position) fail_usage(fmt::format("offset goes up to 2^53 in magnitude, got {}", offset));
  if (is_range_) {
    p.start_ += offset;
    for (std::int64_t i : {std::int64_t{0}, count_ - 1})
      if (count_ > 0 && (p.start_ + i * step_ < -max_position || p.start_ + i * step_ > max_position)) refuse((*this)[i]);
    return p;
  }
  for (double& v : p.values_) {
    const double moved = v + static_cast<double>(offset);
    if (std::abs(moved) > static_cast<double>(max_position)) refuse(v);
    if (moved - static_cast<double>(offset) != v)
      fail_usage(fmt::format("position {} moved by offset {} is not representable as a double", print(v), offset));
    v = moved;
  }
  return p;
}

double Positions::length() const {
  if (size() == 0) return 0;
  if (is_range_) return std::max((*this)[0], (*this)[count_ - 1]) + 1;
  return *std::max_element(values_.begin(), values_.end()) + 1;
}

std::string Positions::text() const {
  if (is_range_) {
    const std::int64_t stop = start_ + count_ * step_;
    if (count_ == 0) return "0";
    if (step_ == 1) return start_ == 0 ? print(count_) : fmt::format("{}:{}", start_, stop);
    // The shortest stop that still covers the last position; start + count*step may leave the allowed range.
    return fmt::format("{}:{}:{}", start_, start_ + (count_ - 1) * step_ + (step_ > 0 ? 1 : -1), step_);
  }
  std::string out;
  for (std::size_t i = 0; i < values_.size();) {
    std::size_t run = 1;
    while (i + run < values_.size() && is_integer(values_[i]) && is_integer(values_[i + run]) &&
           values_[i + run] == values_[i + run - 1] + 1)
      ++run;
    if (!out.empty()) out += ',';
    if (run >= 3) {
      out += fmt::format("{}:{}", static_cast<std::int64_t>(values_[i]), static_cast<std::int64_t>(values_[i + run - 1]) + 1);
      i += run;
    } else {
      out += print(values_[i]);
      ++i;
    }
  }
  if (out.find(',') == std::string::npos) out += ',';
  return out;
}

}  // namespace posenc
