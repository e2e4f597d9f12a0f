// xpos: parameters, formula, laws.
#include "encodings/xpos.hpp"

#include "encodings/model.hpp"
#include "encodings/span_laws.hpp"

namespace posenc {

void Xpos::check() const {
  if (head_dim % 2 != 0) fail_usage(fmt::format("head_dim {} is odd; lanes come in pairs", head_dim));
  // zeta >= gamma / (1 + gamma); factors leave the doubles' range where |n| / scale_base times its logarithm passes 700.
  const double farthest = std::max(std::fabs(static_cast<double>(n(0))), std::fabs(static_cast<double>(n(length - 1))));
  if (output != XposOutput::zeta && farthest / scale_base * std::log(1 + 1 / gamma) > 600)
    fail_usage(fmt::format("length {} with scale_base {} makes factors beyond the range of numbers; use a larger scale_base", length, print(scale_base)));
}

std::vector<Tensor> Xpos::tensors() const {
  if (output == XposOutput::zeta) return {{"zeta", {{"pair", head_dim / 2}}, Kind::real, "factor of each pair over scale_base positions"}};
  return {{"scale", {{"position", length}, {"pair", head_dim / 2}}, Kind::real,
           output == XposOutput::query ? "factor of a rotated query" : "factor of a rotated key"}};
}

// Sun et al. 2023, section 3.2.
template <class T>
T Xpos::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  const Xpos& s = *spec_;
  if (s.output == XposOutput::zeta) return s.zeta<T>(index.back());
  const T factor = s.factor<T>(index[1], s.n(index[0]));
  return s.output == XposOutput::query ? factor : T::of(std::int64_t{1}) / factor;
}

std::vector<Law> Xpos::laws() const {
  const char* paper = "Sun et al. 2023, arXiv:2212.10554, section 3.2";
  std::vector<Law> out;
  if (output == XposOutput::zeta) {
    out.push_back({"monotone", "zeta rises with the pair and stays below 1", paper, [](const Stored& stored) -> std::optional<std::string> {
                     const auto row = stored.row(0, 0);
                     for (std::size_t i = 0; row && i < row->size(); ++i)
                       if (!((*row)[i] > 0) || (*row)[i] > 1 || (i > 0 && (*row)[i] < (*row)[i - 1]))
                         return fmt::format("zeta {:.9g} of pair {}", (*row)[i], i);
                     return {};
                   }});
    return out;
  }
  // The three values are off by u relative each, hence both sides by 2u + u^2; below the smallest normal by floor_of(u).
  out.push_back({"geometric", "scale[n - 1] scale[n + 1] = scale[n]^2", paper, [s = *this](const Stored& stored) -> std::optional<std::string> {
                   const double u = stored.unit_roundoff(0);
                   for (const std::int64_t r : detail::spread(s.length - 2)) {
                     const auto a = stored.row(0, r), b = stored.row(0, r + 1), c = stored.row(0, r + 2);
                     if (!a || !b || !c) return {};
                     for (std::size_t i = 0; i < b->size(); ++i) {
                       const double x = (*a)[i] * (*c)[i], y = (*b)[i] * (*b)[i];
                       if (!std::isfinite(x) || !std::isfinite(y)) continue;  // beyond f16
                       const double low = detail::floor_of(u), size = std::fabs((*a)[i]) + 2 * std::fabs((*b)[i]) + std::fabs((*c)[i]);
                       if (!(std::fabs(x - y) <= (4 * u + 4 * u * u + 0x1p-50) * y + 2 * low * size + low))
                         return fmt::format("rows {} to {}, pair {}: {:.9g}, {:.9g}, {:.9g}", r, r + 2, i, (*a)[i], (*b)[i], (*c)[i]);
                     }
                   }
                   return {};
                 }});
  out.push_back({"centre", "the factor at n = 0 is 1", paper, [s = *this](const Stored& stored) -> std::optional<std::string> {
                   const std::int64_t zero = -s.n(0);
                   if (zero < 0 || zero >= s.length) return {};
                   const auto row = stored.row(0, zero);
                   for (std::size_t i = 0; row && i < row->size(); ++i)
                     if ((*row)[i] != 1) return fmt::format("row {}, pair {}: {:.9g}", zero, i, (*row)[i]);
                   return {};
                 }});
  return out;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(xpos, Xpos)
