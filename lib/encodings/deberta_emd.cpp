// deberta_emd: parameters, sum, laws.
#include "encodings/deberta_emd.hpp"

#include "encodings/attention_terms.hpp"
#include "encodings/model.hpp"

namespace posenc {

void DebertaEmd::check() const {
  check_shape(hidden, {-1, -1}, "hidden");
  if (hidden.values.empty()) fail_usage("hidden has no values; give it the shape [position, channel]");
  check_shape(position_embeddings, {-1, hidden.shape[1]}, "position_embeddings");
  if (position_embeddings.shape[0] - offset < hidden.shape[0])
    fail_usage(fmt::format("position_embeddings has {} rows; {} states from position {} on need {}", position_embeddings.shape[0], hidden.shape[0],
                           offset, hidden.shape[0] + offset));
}

std::vector<Tensor> DebertaEmd::tensors() const {
  return {{"query", {{"position", hidden.shape[0]}, {"channel", hidden.shape[1]}}, Kind::real, "of the decoder's first pass"}};
}

template <class T>
T DebertaEmd::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  const auto channel = static_cast<std::size_t>(index[1]);
  const DebertaEmd& s = *spec_;
  return T::of(detail::row_of(s.hidden, index[0], s.hidden.shape[1])[channel]) +
         T::of(detail::row_of(s.position_embeddings, s.offset + index[0], s.hidden.shape[1])[channel]);
}

std::vector<Law> DebertaEmd::laws() const {
  // The stored query is off by u of itself or half the smallest step, the difference here rounds by 2^-53.
  return {{"positions", "query - hidden is the embedding of the position", "He et al. 2021, arXiv:2006.03654, section 3.2",
           [s = *this](const Stored& stored) -> detail::Failed {
             const double u = stored.unit_roundoff(0);
             for (const std::int64_t r : detail::spread(s.hidden.shape[0])) {
               const auto row = stored.row(0, r);
               if (!row) return {};
               const auto states = detail::row_of(s.hidden, r, s.hidden.shape[1]);
               const auto embedding = detail::row_of(s.position_embeddings, s.offset + r, s.hidden.shape[1]);
               for (std::size_t c = 0; c < row->size(); ++c) {
                 const double x = (*row)[c], allowed = u * std::fabs(x) + 0x1p-52 * (std::fabs(x) + std::fabs(states[c])) + detail::floor_of(u);
                 if (std::isfinite(x) && !(std::fabs(x - states[c] - embedding[c]) <= allowed))
                   return fmt::format("row {}, channel {}: {:.9g} - {:.9g} is not {:.9g}", r, c, x, states[c], embedding[c]);
               }
             }
             return {};
           }}};
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(deberta_emd, DebertaEmd)
