// swin_v2: parameters, coordinates, network, laws.
#include "encodings/swin_v2.hpp"

#include <cmath>
#include <mutex>

#include "encodings/model.hpp"
#include "encodings/network.hpp"
#include "encodings/span_laws.hpp"
#include "encodings/stored_values.hpp"

namespace posenc {
namespace {

// sign(o) log2(1 + |8 o / (p - 1)|) / log2(8); model code divides, then multiplies by 8.
template <class T>
T coordinate(std::int64_t offset, std::int64_t divisor) {
  if (offset == 0) return T::of(std::int64_t{0});
  const T magnitude = T::of(std::abs(offset)) / T::of(divisor) * T::of(std::int64_t{8});
  const T value = log2(magnitude + T::of(std::int64_t{1})) / T::of(std::int64_t{3});
  return offset < 0 ? -value : value;
}

}  // namespace

void SwinV2::check() const {
  for (const bool vertical : {true, false}) {
    const std::int64_t size = vertical ? window.height : window.width;
    if (size > 1 && divisor(vertical) < 1)
      fail_usage(fmt::format("pretrained_{} 1 would divide offsets by 0; use 0 for the window's own", vertical ? "height" : "width"));
  }
  if (output != SwinV2Output::bias) return;
  check_shape(weight_1, {-1, 2}, "weight_1");
  check_shape(bias_1, {weight_1.shape[0]}, "bias_1");
  check_shape(weight_2, {-1, weight_1.shape[0]}, "weight_2");
  if (weight_1.shape[0] < 1 || weight_2.shape[0] < 1) fail_usage("weight_1 and weight_2 need at least one hidden unit and one head");
}

std::vector<Tensor> SwinV2::tensors() const {
  switch (output) {
    case SwinV2Output::coordinates:
      return {{"coordinates",
               {{"vertical", 2 * window.height - 1}, {"horizontal", 2 * window.width - 1}, {"coordinate", 2}},
               Kind::real,
               "log-spaced (vertical, horizontal) coordinates of offsets from -(size - 1) up"}};
    case SwinV2Output::index: return detail::WindowMatrix{window, false, {}}.tensors();
    case SwinV2Output::bias: break;
  }
  return {{"bias", {{"head", heads()}, {"query", window.cells()}, {"key", window.cells()}}, Kind::real, "added to the cosine attention's scores"}};
}

struct SwinV2::Table::State {
  explicit State(const SwinV2& s) : spec(s), tensor(s.tensors()[0]), rows({s.window, false, {}}) {}

  template <class T>
  T coordinate_at(std::int64_t row, std::int64_t column, std::int64_t which) const {
    return which == 0 ? coordinate<T>(row - (spec.window.height - 1), spec.divisor(true))
                      : coordinate<T>(column - (spec.window.width - 1), spec.divisor(false));
  }
  template <class T>
  std::vector<T> hidden(std::int64_t table_row) const {
    const std::int64_t columns = 2 * spec.window.width - 1, row = table_row / columns, column = table_row % columns;
    return detail::hidden_layer<T, 2>(spec.weight_1, spec.bias_1, {coordinate_at<T>(row, column, 0), coordinate_at<T>(row, column, 1)});
  }
  template <class T>
  T bias(std::int64_t head, const std::vector<T>& hidden) const {
    const T one = T::of(std::int64_t{1});
    return T::of(std::int64_t{16}) * (one / (one + exp(-detail::output_of<T>(spec.weight_2, head, hidden))));
  }
  // Biases of every row of the table and head: one part with a bound, and two parts where they are asked for.
  void make_single() const {
    std::call_once(single_once, [&] {
      for (std::int64_t r = 0; r < spec.window.table_rows(); ++r) {
        const auto layer = hidden<num::Bounded>(r);
        for (std::int64_t h = 0; h < spec.heads(); ++h) {
          const num::Bounded value = bias<num::Bounded>(h, layer);
          single.push_back(value.v);
          error = std::isnan(value.e) || std::isnan(value.v) ? HUGE_VAL : std::max(error, value.e);
        }
      }
    });
  }
  void make_two() const {
    std::call_once(two_once, [&] {
      std::int64_t at = -1;
      std::vector<num::Real> layer;
      two = detail::StoredValues(spec.window.table_rows() * spec.heads(), [&](std::int64_t i) {
        if (i / spec.heads() != at) layer = hidden<num::Real>(at = i / spec.heads());
        return bias<num::Real>(i % spec.heads(), layer);
      });
    });
  }

  SwinV2 spec;
  Tensor tensor;
  detail::WindowRows rows;
  mutable std::once_flag single_once, two_once;
  mutable std::vector<double> single;
  mutable double error = 0;
  mutable detail::StoredValues two;
};

SwinV2::Table::Table(const SwinV2& spec) : state_(std::make_shared<const State>(spec)) {}
SwinV2::Table SwinV2::table() const { return Table(*this); }

std::int64_t SwinV2::Table::integer(std::size_t, std::span<const std::int64_t> index) const { return state_->rows.row(index[0], index[1]); }

template <class T>
T SwinV2::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  const State& s = *state_;
  if (s.spec.output == SwinV2Output::coordinates) return s.template coordinate_at<T>(index[0], index[1], index[2]);
  return s.template bias<T>(index[0], s.template hidden<T>(s.rows.row(index[1], index[2])));
}

void SwinV2::Table::fill(std::size_t tensor, Block& block) const {
  const State& s = *state_;
  if (s.spec.output == SwinV2Output::coordinates) return detail::plain_fill(*this, s.tensor, tensor, block);
  const std::int64_t heads = s.spec.heads();
  if (block.lo) {
    s.make_two();
    s.rows.each(block.extent, [&](std::int64_t row, std::int64_t head, std::int64_t at) {
      s.two.put(row * heads + head, block.hi + at, block.lo + at);
    });
    std::fill_n(block.bounds, block.extent.rows, s.two.bound(true));
  } else {
    s.make_single();
    s.rows.each(block.extent,
                [&](std::int64_t row, std::int64_t head, std::int64_t at) { block.hi[at] = s.single[static_cast<std::size_t>(row * heads + head)]; });
    std::fill_n(block.bounds, block.extent.rows, ErrorBound{s.error, 0});
  }
}

std::vector<Law> SwinV2::laws() const {
  const char* paper = source.data();
  if (output != SwinV2Output::coordinates) {
    // The laws of a table's matrix hold of the index, and of biases all but those of the index.
    detail::WindowMatrix matrix{window, false, {}};
    if (output == SwinV2Output::bias)
      matrix.bias_table = {{window.table_rows(), heads()}, {}};
    std::vector<Law> out = matrix.laws(paper);
    if (output == SwinV2Output::bias)
      out.push_back({"range", "biases lie in 0 .. 16", paper, [m = matrix](const Stored& stored) -> std::optional<std::string> {
                       for (const std::int64_t r : detail::spread(m.heads() * m.tokens())) {
                         const auto row = stored.row(0, r);
                         if (!row) return {};
                         for (const double x : *row)
                           if (!(x >= 0 && x <= 16)) return fmt::format("row {}: {:.9g}", r, x);
                       }
                       return {};
                     }});
    return out;
  }
  std::vector<Law> out;
  // Opposite offsets have opposite coordinates, rounded alike; a rounding keeps order: no tolerance.
  out.push_back({"odd", "opposite offsets have opposite coordinates", paper, [s = *this](const Stored& stored) -> std::optional<std::string> {
                   const std::int64_t down = 2 * s.window.height - 1, across = 2 * s.window.width - 1;
                   for (const std::int64_t y : detail::spread(down))
                     for (const std::int64_t x : detail::spread(across)) {
                       const auto a = stored.row(0, y * across + x), b = stored.row(0, (down - 1 - y) * across + across - 1 - x);
                       if (!a || !b) return {};
                       for (const std::size_t c : {0, 1})
                         if ((*a)[c] != -(*b)[c])
                           return fmt::format("coordinate {} at ({}, {}) is {:.9g}, its opposite {:.9g}", c, y, x, (*a)[c], (*b)[c]);
                     }
                   return {};
                 }});
  out.push_back({"monotone", "coordinates do not fall with the offset", paper, [s = *this](const Stored& stored) -> std::optional<std::string> {
                   const std::int64_t down = 2 * s.window.height - 1, across = 2 * s.window.width - 1;
                   for (const std::int64_t y : detail::spread(down))
                     for (const std::int64_t x : detail::spread(across)) {
                       const auto here = stored.row(0, y * across + x);
                       const auto below = y + 1 < down ? stored.row(0, (y + 1) * across + x) : here;
                       const auto right = x + 1 < across ? stored.row(0, y * across + x + 1) : here;
                       if (!here || !below || !right) return {};
                       if ((*below)[0] < (*here)[0] || (*right)[1] < (*here)[1]) return fmt::format("they fall after ({}, {})", y, x);
                     }
                   return {};
                 }});
  return out;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(swin_v2, SwinV2)
