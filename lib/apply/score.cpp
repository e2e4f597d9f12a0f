// q(m) . k(n): the quickest sanity check of a convention.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "numeric/decide.hpp"
#include "numeric/real.hpp"
#include "posenc/apply.hpp"
#include "posenc/error.hpp"
#include "posenc/positions.hpp"

namespace posenc {
namespace {

// A single vector as an array of one position.
class OneVector final : public Input {
 public:
  explicit OneVector(std::shared_ptr<const Input> inner) : inner_(std::move(inner)), shape_{1, inner_->shape()[0]} {}
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  void read(std::int64_t first, std::span<double> out) const override { inner_->read(first, out); }

 private:
  std::shared_ptr<const Input> inner_;
  std::vector<std::int64_t> shape_;
};

// One side of the product: an applied encoding and the row that is asked for.
struct Side {
  std::shared_ptr<const Encoding> encoding;
  std::unique_ptr<Evaluator> evaluator;
  std::vector<Axis> axes;
  std::size_t position_axis = 0;
  std::int64_t row = 0;
};

Side side_of(const std::shared_ptr<const Encoding>& tables, Application application, std::shared_ptr<const Input> input, std::int64_t position, const char* what) {
  Side side;
  if (input->shape().size() == 1) {
    std::shared_ptr<Encoding> here = tables->clone();
    here->set("positions", Positions::list({static_cast<double>(position)}).text());
    application.axes.clear();
    side.encoding = applied(here, application, std::make_shared<OneVector>(input));
  } else {
    side.encoding = applied(tables, application, input);
    side.position_axis = input->shape().size() - 2;
    if (const auto at = std::find(application.axes.begin(), application.axes.end(), "position"); at != application.axes.end())
      side.position_axis = static_cast<std::size_t>(at - application.axes.begin());
    side.row = position;
    if (position < 0 || position >= input->shape()[side.position_axis])
      fail_usage(fmt::format("{} has {} positions, 0 to {}; there is no {}", what, input->shape()[side.position_axis], input->shape()[side.position_axis] - 1, position));
  }
  side.evaluator = side.encoding->evaluator();
  side.axes = side.encoding->tensors()[0].axes;
  return side;
}

}  // namespace

std::vector<Score> scores(const std::shared_ptr<const Encoding>& tables, const Application& application, const std::shared_ptr<const Input>& query,
                          const std::shared_ptr<const Input>& key, std::int64_t m, std::int64_t n) {
  const Side q = side_of(tables, application, query, m, "the query"), k = side_of(tables, application, key, n, "the key");
  std::vector<std::int64_t> others, key_others;
  for (const auto& [side, sizes] : {std::pair{&q, &others}, std::pair{&k, &key_others}})
    for (std::size_t i = 0; i < side->axes.size(); ++i)
      if (i != side->position_axis) sizes->push_back(side->axes[i].size);
  if (others != key_others)
    fail_usage(fmt::format("query and key differ beside their positions: [{}] and [{}]", fmt::join(others, ", "), fmt::join(key_others, ", ")));
  const std::int64_t lanes = others.back();
  others.pop_back();
  std::int64_t count = 1;
  for (const std::int64_t size : others) count *= size;
  constexpr std::int64_t most = 4096;
  if (count > most) fail_usage(fmt::format("the arrays hold {} vectors for one position; scores are for up to {}", count, most));

  std::vector<Score> out;
  for (std::int64_t flat = 0; flat < count; ++flat) {
    std::vector<std::int64_t> where(others.size());
    std::int64_t rest = flat;
    for (std::size_t i = others.size(); i-- > 0; rest /= others[i]) where[i] = rest % others[i];
    const auto index_in = [&](const Side& side) {
      std::vector<std::int64_t> index = where;
      index.insert(index.begin() + static_cast<std::ptrdiff_t>(side.position_axis), side.row);
      index.push_back(0);
      return index;
    };
    std::vector<std::int64_t> qi = index_in(q), ki = index_in(k);
    const auto plain = [&] {
      double sum = 0;
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        qi.back() = ki.back() = lane;
        sum += q.evaluator->truth(0, qi, DType::f64) * k.evaluator->truth(0, ki, DType::f64);
      }
      return sum;
    };
    // Infinities and NaN follow IEEE 754, as everywhere in apply.
    if (const double sum = plain(); !std::isfinite(sum)) {
      out.push_back({where, sum});
      continue;
    }
    // Where m = n the turns cancel and the score can be 0 or half way between two doubles without being known as such,
    // so no rounding is decided here: 256 bits, and what they cannot tell from 0 is 0.
    const double score = num::at_precision(256, [&] {
      num::Real sum;
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        qi.back() = ki.back() = lane;
        sum += q.evaluator->element(0, qi) * k.evaluator->element(0, ki);
      }
      double hi = 0, lo = 0;
      const double off = sum.two_double(hi, lo);
      return std::fabs(hi) <= off ? 0.0 : hi;
    });
    out.push_back({where, score});
  }
  return out;
}

}  // namespace posenc
