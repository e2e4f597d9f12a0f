// cnn_padding: parameters, tensors, formula, laws.
#include "encodings/cnn_padding.hpp"

#include "encodings/model.hpp"
#include "encodings/trajectory.hpp"
#include "posenc/text.hpp"

namespace posenc {
namespace {

constexpr std::int64_t largest_reach = 1024;

}  // namespace

void CnnPaddingResponse::check() const {
  if (kernel % 2 == 0) fail_usage(fmt::format("kernel must be odd, to have a middle, got {}", kernel));
  const std::int64_t half = kernel / 2;
  if (depth * half > largest_reach)
    fail_usage(fmt::format("depth {} and kernel {} reach {} positions from the border; the most is {}", depth, kernel, depth * half, largest_reach));
  for (const auto& [axis, size] : {std::pair{"width", width}, std::pair{"height", planar() ? height : width}}) {
    if (padding == CnnPadding::reflect && half >= size)
      fail_usage(fmt::format("padding reflect wants {} above kernel / 2 = {}, got {}", axis, half, size));
    if (padding == CnnPadding::circular && half > size)
      fail_usage(fmt::format("padding circular wants {} of at least kernel / 2 = {}, got {}", axis, half, size));
  }
}

std::vector<Tensor> CnnPaddingResponse::tensors() const {
  std::vector<Axis> axes;
  if (form == CnnForm::layers || form == CnnForm::differs) axes.push_back({"layer", depth + 1});
  if (planar()) axes.push_back({"y", height});
  axes.push_back({"x", width});
  switch (form) {
    case CnnForm::response: return {{"response", axes, Kind::real, "value after the last convolution of ones"}};
    case CnnForm::layers: return {{"layers", axes, Kind::real, "value after each convolution of ones"}};
    case CnnForm::differs: return {{"differs", axes, Kind::integer, "1 where the value is not 1"}};
    case CnnForm::distance: break;
  }
  return {{"distance", axes, Kind::integer, "positions to the nearest border"}};
}

struct CnnPaddingResponse::Table::State {
  explicit State(const CnnPaddingResponse& s) : spec(s) {}

  // What border distance a position has along an axis is all that matters beyond the reach of the layers: a field of
  // 2 reach + 1 positions has every value of a longer one.
  [[nodiscard]] std::int64_t short_size(std::int64_t size) const { return std::min(size, 2 * spec.depth * (spec.kernel / 2) + 1); }

  // Value along one axis after a number of layers.
  template <class T>
  T line(const detail::Trajectories& kept, std::int64_t layer, std::int64_t x, std::int64_t size) const {
    constexpr bool imitated = std::is_same_v<T, num::Float32> || std::is_same_v<T, num::BFloat16>;  // 3 * (1 / 3) may miss 1
    if (!imitated && !spec.differs(layer, distance(x, size))) return T::of(std::int64_t{1});
    const std::int64_t n = short_size(size), reach = (n - 1) / 2;
    const std::int64_t at = n == size ? x : x < reach ? x : size - 1 - x < reach ? n - 1 - (size - 1 - x) : reach;
    const std::int64_t half = spec.kernel / 2;
    const auto ones = [&] { return std::vector<T>(static_cast<std::size_t>(n), T::of(std::int64_t{1})); };
    // y[x] = sum of w y[x + j], |j| <= half; the weight in each arithmetic is 1 / kernel.
    const auto convolved = [&](const std::vector<T>& before, std::size_t) {
      const T weight = T::of(std::int64_t{1}) / T::of(spec.kernel);
      std::vector<T> after;
      for (std::int64_t k = 0; k < n; ++k) {
        T sum = T::of(std::int64_t{0});
        for (std::int64_t j = k - half; j <= k + half; ++j) {
          // Any other padding of a constant field gives the constant: k stands for its neighbour.
          if (spec.padding == CnnPadding::zero && (j < 0 || j >= n)) continue;
          sum = sum + weight * before[static_cast<std::size_t>(spec.padding == CnnPadding::zero ? j : k)];
        }
        after.push_back(sum);
      }
      return after;
    };
    return kept.of<T>().at(static_cast<std::size_t>(layer), static_cast<std::size_t>(at), ones, convolved);
  }

  CnnPaddingResponse spec;
  detail::Trajectories along_x, along_y;
};

CnnPaddingResponse::Table::Table(const CnnPaddingResponse& spec) : state_(std::make_shared<const State>(spec)) {}
CnnPaddingResponse::Table CnnPaddingResponse::table() const { return Table(*this); }

// arXiv:2001.08248: zero padding delivers position; here for ones and mean kernels, where it can be said in closed form.
template <class T>
T CnnPaddingResponse::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  const State& s = *state_;
  const std::int64_t layer = s.spec.form == CnnForm::layers ? index[0] : s.spec.depth;
  const T x = s.line<T>(s.along_x, layer, index.back(), s.spec.width);
  return s.spec.planar() ? s.line<T>(s.along_y, layer, index[index.size() - 2], s.spec.height) * x : x;
}

std::int64_t CnnPaddingResponse::Table::integer(std::size_t, std::span<const std::int64_t> index) const {
  const CnnPaddingResponse& s = state_->spec;
  std::int64_t nearest = distance(index.back(), s.width);
  if (s.planar()) nearest = std::min(nearest, distance(index[index.size() - 2], s.height));
  if (s.form == CnnForm::distance) return nearest;
  return s.differs(index[0], nearest) ? 1 : 0;
}

namespace {

using Failed = std::optional<std::string>;

// Rows of the tensor as (layer, y); y is 0 in one dimension.
struct Row {
  std::int64_t number, layer, y;
};
std::vector<Row> rows(const CnnPaddingResponse& s) {
  const std::int64_t layers = s.form == CnnForm::layers ? s.depth + 1 : 1, lines = s.planar() ? s.height : 1, n = layers * lines;
  std::vector<Row> out;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(n, 64); ++i) {
    const std::int64_t row = n <= 64 ? i : i * (n - 1) / 63;
    out.push_back({row, s.form == CnnForm::layers ? row / lines : s.depth, row % lines});
  }
  return out;
}

// The truth is below 1 by at least kernel^-depth there; a dtype may round that to 1, so "differs" is asked of what it can show:
// a value at most 1, and below it where the truth is below 1 - 2u, known from the outermost position's 1 - half / kernel.
Failed leak(const CnnPaddingResponse& s, const Stored& stored) {
  const double u = stored.unit_roundoff(0);
  for (const Row& r : rows(s)) {
    const auto row = stored.row(0, r.number);
    if (!row) return {};
    const auto n = static_cast<std::int64_t>(row->size());
    for (std::int64_t x = 0; x < n; ++x) {
      std::int64_t nearest = CnnPaddingResponse::distance(x, n);
      if (s.planar()) nearest = std::min(nearest, CnnPaddingResponse::distance(r.y, s.height));
      const double value = (*row)[static_cast<std::size_t>(x)];
      const bool outermost = nearest == 0 && r.layer > 0 && s.padding == CnnPadding::zero && s.kernel > 1;
      if (!s.differs(r.layer, nearest) ? value != 1 : !(value >= 0 && value <= 1))
        return fmt::format("row {}, x {}: {} at a distance of {} from the border after {} layers", r.number, x, print(value), nearest, r.layer);
      const double most = 1 - static_cast<double>(s.kernel / 2) / static_cast<double>(s.kernel);
      if (outermost && !(value <= most * (1 + 2 * u)))
        return fmt::format("row {}, x {}: {} at the border, at most {} after a layer", r.number, x, print(value), print(most));
    }
  }
  return {};
}

// Rounding keeps order, so stored values rise from the border to the middle as the truth does; the other half is the mirror image.
Failed monotone(const CnnPaddingResponse& s, const Stored& stored) {
  for (const Row& r : rows(s)) {
    const auto row = stored.row(0, r.number);
    if (!row) return {};
    for (std::size_t x = 0; 2 * (x + 1) < row->size(); ++x)
      if ((*row)[x] > (*row)[x + 1]) return fmt::format("row {}: the values at {} and {} do not rise away from the border", r.number, x, x + 1);
  }
  return {};
}

// The same distances from both ends, the same value.
Failed symmetric(const CnnPaddingResponse& s, const Stored& stored) {
  for (const Row& r : rows(s)) {
    const auto row = stored.row(0, r.number);
    if (!row) return {};
    for (std::size_t x = 0; x < row->size(); ++x)
      if ((*row)[x] != (*row)[row->size() - 1 - x]) return fmt::format("row {}: the values at {} and its mirror image differ", r.number, x);
  }
  return {};
}

}  // namespace

std::vector<Law> CnnPaddingResponse::laws() const {
  std::vector<Law> out;
  if (form == CnnForm::differs || form == CnnForm::distance || width > (1 << 22)) return out;
  const auto add = [&](const char* law, const char* text, Failed (*holds)(const CnnPaddingResponse&, const Stored&)) {
    out.push_back({law, text, source.data(), [spec = *this, holds](const Stored& stored) { return holds(spec, stored); }});
  };
  add("leak", padding == CnnPadding::zero ? "values are 1 exactly from depth * (kernel / 2) positions off the border on" : "every value is 1", leak);
  add("monotone", "values do not fall on the way from the border to the middle", monotone);
  add("symmetric", "both ends give the same values", symmetric);
  return out;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(cnn_padding, CnnPaddingResponse)
