// xpos_rotated: parameters, rotation, laws.
#include "encodings/xpos_rotated.hpp"

#include "encodings/model.hpp"
#include "encodings/sinusoid.hpp"
#include "encodings/span_laws.hpp"

namespace posenc {
namespace {

std::int64_t positions_of(const Array& vectors) { return vectors.shape.size() < 2 ? 0 : vectors.shape[vectors.shape.size() - 2]; }
std::int64_t lanes_of(const Array& vectors) { return vectors.shape.back(); }

}  // namespace

std::vector<const Array*> XposRotated::given() const {
  std::vector<const Array*> all;
  for (const Array* vectors : {&query, &key})
    if (vectors->given()) all.push_back(vectors);
  return all;
}

Xpos XposRotated::scales(const Array& vectors) const {
  std::int64_t offset = key_offset;
  if (&vectors == &query)
    offset = query_offset.value_or(key.given() ? key_offset + positions_of(key) - positions_of(query) : 0);
  return {.head_dim = lanes_of(vectors), .length = positions_of(vectors), .offset = offset, .scale_base = scale_base, .gamma = gamma, .centre = centre};
}

void XposRotated::check() const {
  if (given().empty()) check_shape(query, {-1, -1}, "query");  // says what it wants
  for (const Array* vectors : given()) {
    const char* what = vectors == &query ? "query" : "key";
    if (vectors->shape.size() == 3)
      check_shape(*vectors, {-1, -1, -1}, what);
    else
      check_shape(*vectors, {-1, -1}, what);
    if (vectors->values.empty()) fail_usage(fmt::format("{} has no values; give it the shape [position, lane]", what));
  }
  if (query.given() && key.given()) {
    std::vector<std::int64_t> alike = query.shape;
    alike[alike.size() - 2] = -1;
    check_shape(key, alike, "key");
    if (!query_offset && positions_of(query) > positions_of(key) + key_offset)
      fail_usage(fmt::format("query has {} positions and key {}; say with query_offset where the queries are", positions_of(query), positions_of(key)));
  }
  for (const Array* vectors : given()) scales(*vectors).check();
}

std::vector<Tensor> XposRotated::tensors() const {
  std::vector<Tensor> all;
  for (const Array* vectors : given()) {
    std::vector<Axis> axes;
    if (vectors->shape.size() == 3) axes.push_back({"head", vectors->shape[0]});
    axes.push_back({"position", positions_of(*vectors)});
    axes.push_back({"lane", lanes_of(*vectors)});
    all.push_back({vectors == &query ? "query" : "key", std::move(axes), Kind::real, "rotated and scaled"});
  }
  return all;
}

struct XposRotated::Table::State {
  explicit State(const XposRotated& s) : spec(s) {
    for (const Array* vectors : spec.given()) {
      arrays.push_back(vectors);
      scales.push_back(spec.scales(*vectors));
    }
  }
  XposRotated spec;
  std::vector<const Array*> arrays;  ///< of the spec here
  std::vector<Xpos> scales;
};

XposRotated::Table::Table(const XposRotated& spec) : state_(std::make_shared<const State>(spec)) {}
XposRotated::Table XposRotated::table() const { return Table(*this); }

// Sun et al. 2023, section 3.2, in the order of torchscale's steps. At position 0 the angle is exactly 0 and its cosine 1; at any
// other a value is rational only where both lanes are 0 (Lindemann, Weierstrass).
template <class T>
T XposRotated::Table::element(std::size_t tensor, std::span<const std::int64_t> index) const {
  const Array& vectors = *state_->arrays[tensor];
  const Xpos& x = state_->scales[tensor];
  const std::int64_t head = index.size() == 3 ? index[0] : 0, row = index[index.size() - 2], pair = index.back() / 2;
  const double* lanes = vectors.values.data() + (head * x.length + row) * x.head_dim + 2 * pair;
  T factor = x.factor<T>(pair, x.n(row));
  if (&vectors == &state_->spec.key) factor = T::of(std::int64_t{1}) / factor;
  const T angle = T::of(x.offset + row) * detail::sinusoid_frequency<T>(state_->spec.base, pair, x.head_dim);
  const T cosine = cos(angle) * factor, sine = sin(angle) * factor;
  return index.back() % 2 == 0 ? T::of(lanes[0]) * cosine - T::of(lanes[1]) * sine : T::of(lanes[1]) * cosine + T::of(lanes[0]) * sine;
}

std::vector<Law> XposRotated::laws() const {
  const char* paper = "Sun et al. 2023, arXiv:2212.10554, section 3.2";
  std::vector<Law> laws;
  // The length of a pair is its own times the factor f. Each lane is off by u of itself and half the smallest step, hence the
  // length by u times it and sqrt(2) steps; f takes log zeta, off by 2^-52 of itself and 2^-52, times n / scale_base.
  for (std::size_t t = 0; t < given().size(); ++t)
    laws.push_back({given()[t] == &query ? "query-length" : "key-length", "the length of each pair is its own times zeta^(n / scale_base), or divided by it", paper,
                    [s = *this, t](const Stored& stored) -> detail::Failed {
                      const Array& vectors = *s.given()[t];
                      const Xpos x = s.scales(vectors);
                      const double u = stored.unit_roundoff(t), sign = &vectors == &s.query ? 1 : -1;
                      for (const std::int64_t r : detail::spread(s.tensors()[t].rows())) {
                        const auto row = stored.row(t, r);
                        if (!row) return {};
                        for (std::size_t i = 0; i + 1 < row->size(); i += 2) {
                          const double* own = vectors.values.data() + static_cast<std::size_t>(r) * row->size() + i;
                          const double n = static_cast<double>(x.n(r % x.length)) / x.scale_base;
                          const double log_zeta = std::log((static_cast<double>(i) + x.gamma * static_cast<double>(x.head_dim)) /
                                                           ((1 + x.gamma) * static_cast<double>(x.head_dim)));
                          const double want = std::hypot(own[0], own[1]) * std::exp(sign * n * log_zeta), got = std::hypot((*row)[i], (*row)[i + 1]);
                          const double allowed = want * (u + 0x1p-49 + std::fabs(n) * (std::fabs(log_zeta) + 1) * 0x1p-49) + 2 * detail::floor_of(u);
                          if (std::isfinite(got) && std::isfinite(want) && !(std::fabs(got - want) <= allowed))
                            return fmt::format("row {}, lanes {} and {}: length {:.9g} instead of {:.9g}", r, i, i + 1, got, want);
                        }
                      }
                      return {};
                    }});
  if (!query.given() || !key.given()) return laws;
  // Each lane is off by u of itself and half the smallest step, a product by 2u + u^2, all by 2^-53 for each addition. On the other
  // side the angle is off by its frequency, 2^-51 of itself, and two roundings; the factor as above.
  laws.push_back({"score", "query . key = sum over pairs of zeta^((n_i - n_j) / scale_base) Re(q conj(k) exp(i (p_i - p_j) theta))", paper,
                  [s = *this](const Stored& stored) -> detail::Failed {
                    const Xpos a = s.scales(s.query), b = s.scales(s.key);
                    const auto width = static_cast<std::size_t>(a.head_dim);
                    const double u = std::max(stored.unit_roundoff(0), stored.unit_roundoff(1)), low = detail::floor_of(u);
                    const std::int64_t heads = s.query.shape.size() == 3 ? s.query.shape[0] : 1;
                    for (const std::int64_t r : detail::spread(heads * a.length))
                      for (const std::int64_t j : detail::spread(b.length)) {
                        const std::int64_t head = r / a.length, i = r % a.length;
                        const auto q = stored.row(0, r), k = stored.row(1, head * b.length + j);
                        if (!q || !k) return {};
                        const double* x = s.query.values.data() + static_cast<std::size_t>(r) * width;
                        const double* y = s.key.values.data() + static_cast<std::size_t>(head * b.length + j) * width;
                        double got = 0, want = 0, allowed = 0;
                        for (std::size_t c = 0; c < width; c += 2) {
                          const double n = static_cast<double>(a.n(i) - b.n(j)) / s.scale_base;
                          const double angle = static_cast<double>(a.offset + i - b.offset - j) * std::pow(s.base, -static_cast<double>(c) / static_cast<double>(width));
                          const double log_zeta = std::log((static_cast<double>(c) + a.gamma * static_cast<double>(width)) /
                                                           ((1 + a.gamma) * static_cast<double>(width)));
                          const double factor = std::exp(n * log_zeta);
                          want += factor * ((x[c] * y[c] + x[c + 1] * y[c + 1]) * std::cos(angle) + (x[c] * y[c + 1] - x[c + 1] * y[c]) * std::sin(angle));
                          got += (*q)[c] * (*k)[c] + (*q)[c + 1] * (*k)[c + 1];
                          const double size = factor * std::hypot(x[c], x[c + 1]) * std::hypot(y[c], y[c + 1]);
                          const double exact = 0x1p-49 * (1 + std::fabs(angle) + std::fabs(n) * (std::fabs(log_zeta) + 1)) + 0x1p-52 * static_cast<double>(width);
                          allowed += size * (2 * u + u * u + 2 * exact);
                          allowed += 0x1p-1070 + low * (std::fabs((*q)[c]) + std::fabs((*q)[c + 1]) + std::fabs((*k)[c]) + std::fabs((*k)[c + 1]) + 4 * low);
                        }
                        if (std::isfinite(got) && std::isfinite(want) && std::isfinite(allowed) && !(std::fabs(got - want) <= allowed))
                          return fmt::format("query row {} and key {}: score {:.9g} instead of {:.9g}", r, j, got, want);
                      }
                    return {};
                  }});
  return laws;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(xpos_rotated, XposRotated)
