// randomized: parameters, draws, laws.
#include "encodings/randomized.hpp"

#include <algorithm>
#include <unordered_set>

#include "encodings/model.hpp"
#include "encodings/span_laws.hpp"
#include "numeric/philox.hpp"

namespace posenc {
namespace {

// k numbers of 0 .. n - 1 in rising order: Floyd's sampling.
std::vector<std::int64_t> sample(std::int64_t n, std::int64_t k, std::int64_t seed, std::uint32_t stream, std::int64_t row) {
  std::unordered_set<std::int64_t> taken;
  taken.reserve(static_cast<std::size_t>(k));
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(k));
  for (std::int64_t i = 0; i < k; ++i) {
    const std::int64_t j = n - k + i;
    const auto t = static_cast<std::int64_t>(num::philox_below(static_cast<std::uint64_t>(j) + 1, static_cast<std::uint64_t>(seed), stream,
                                                               static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(i)));
    out.push_back(taken.insert(t).second ? t : j);
    if (out.back() == j) taken.insert(j);
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

void Randomized::check() const {
  if (max_length < length) fail_usage(fmt::format("max_length {} is shorter than length {}: ids are drawn without replacement", max_length, length));
  const std::int64_t columns = form == RandomizedForm::absolute ? length : 2 * length - 1;
  if (columns > max_ids / samples.value_or(1))
    fail_usage(fmt::format("{} samples of {} ids pass {}, which are held in memory; make several files", samples.value_or(1), columns, max_ids));
  if (!drawn.given()) return;
  if (samples) fail_usage("drawn is one sample; leave samples out");
  const std::int64_t first = form == RandomizedForm::absolute ? 0 : 1;
  if (form == RandomizedForm::relative && sides == RandomizedSides::independent) fail_usage("drawn says one side; it goes with sides mirrored");
  check_shape(drawn, {length - first}, "drawn");
  std::vector<double> sorted = drawn.values;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != std::floor(sorted[i]) || sorted[i] < static_cast<double>(first) || sorted[i] >= static_cast<double>(max_length))
      fail_usage(fmt::format("drawn wants integers from {} to {}, got {}", first, max_length - 1, print(sorted[i])));
    if (i > 0 && sorted[i] == sorted[i - 1]) fail_usage(fmt::format("drawn has {} twice: numbers are drawn without replacement", print(sorted[i])));
  }
}

std::vector<Tensor> Randomized::tensors() const {
  const bool absolute = form == RandomizedForm::absolute;
  std::vector<Axis> axes;
  if (samples) axes.push_back({"sample", *samples});
  axes.push_back(absolute ? Axis{"position", length} : Axis{"distance", 2 * length - 1});
  return {{"position_ids", std::move(axes), Kind::integer, absolute ? "ids of the tokens, below max_length" : "ids of the distances -(length - 1) to length - 1"}};
}

Randomized::Table::Table(const Randomized& s) : columns_(s.form == RandomizedForm::absolute ? s.length : 2 * s.length - 1) {
  auto ids = std::make_shared<std::vector<std::int64_t>>();
  ids->reserve(static_cast<std::size_t>(s.samples.value_or(1) * columns_));
  const std::int64_t first = s.form == RandomizedForm::absolute ? 0 : 1, k = s.length - first;
  for (std::int64_t row = 0; row < s.samples.value_or(1); ++row) {
    std::vector<std::int64_t> above;
    if (s.drawn.given()) {
      for (const double v : s.drawn.values) above.push_back(static_cast<std::int64_t>(v));
      std::ranges::sort(above);
    } else {
      above = sample(s.max_length - first, k, s.seed, 0, row);
      for (std::int64_t& id : above) id += first;
    }
    if (s.form == RandomizedForm::relative) {
      std::vector<std::int64_t> below = above;
      if (s.sides == RandomizedSides::independent) {
        below = sample(s.max_length - 1, k, s.seed, 1, row);
        for (std::int64_t& id : below) ++id;
      }
      for (auto id = below.rbegin(); id != below.rend(); ++id) ids->push_back(-*id);
      ids->push_back(0);
    }
    ids->insert(ids->end(), above.begin(), above.end());
  }
  ids_ = std::move(ids);
}
Randomized::Table Randomized::table() const { return Table(*this); }

std::int64_t Randomized::Table::integer(std::size_t, std::span<const std::int64_t> index) const {
  return (*ids_)[static_cast<std::size_t>((index.size() == 2 ? index[0] : 0) * columns_ + index.back())];
}

std::vector<Law> Randomized::laws() const {
  const char* paper = "Ruoss et al. 2023, arXiv:2305.16843, section 3";
  std::vector<Law> out;
  out.push_back({"rising", "ids rise strictly, within the range they are drawn from", paper, [s = *this](const Stored& stored) -> detail::Failed {
                   const auto top = static_cast<double>(s.max_length);
                   const double bottom = s.form == RandomizedForm::absolute ? 0 : 1 - top;
                   for (const std::int64_t r : detail::spread(s.samples.value_or(1))) {
                     const auto row = stored.row(0, r);
                     if (!row) return {};
                     for (std::size_t i = 0; i < row->size(); ++i)
                       if (!((*row)[i] >= bottom && (*row)[i] < top) || (i > 0 && !((*row)[i] > (*row)[i - 1])))
                         return fmt::format("sample {}: id {:.17g} at {}", r, (*row)[i], i);
                   }
                   return {};
                 }});
  if (form == RandomizedForm::absolute) return out;
  const bool mirrored = sides == RandomizedSides::mirrored;
  out.push_back({"zero", mirrored ? "distance 0 has id 0, and distances d and -d have opposite ids" : "distance 0 has id 0", paper,
                 [n = samples.value_or(1), mirrored](const Stored& stored) -> detail::Failed {
                   for (const std::int64_t r : detail::spread(n)) {
                     const auto row = stored.row(0, r);
                     if (!row) return {};
                     const std::size_t middle = row->size() / 2;
                     if ((*row)[middle] != 0) return fmt::format("sample {}: distance 0 has id {:.17g}", r, (*row)[middle]);
                     for (std::size_t d = 1; mirrored && d <= middle; ++d)
                       if ((*row)[middle + d] != -(*row)[middle - d])
                         return fmt::format("sample {}: ids {:.17g} and {:.17g} at distances {} and -{}", r, (*row)[middle + d], (*row)[middle - d], d, d);
                   }
                   return {};
                 }});
  return out;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(randomized, Randomized)
