// zigzag: parameters, ids, laws.
#include "encodings/zigzag.hpp"

#include "encodings/model.hpp"
#include "encodings/span_laws.hpp"

namespace posenc {
namespace {

constexpr std::int64_t longest_row = std::int64_t{1} << 24;  // a law reads whole rows; longer ones are left to the comparison

}  // namespace

void Zigzag::check() const {
  if (length % (2 * ranks) != 0) fail_usage(fmt::format("length {} does not fall into {} equal chunks, two for each of {} ranks", length, 2 * ranks, ranks));
  if (rank && output == ZigzagPart::inverse) fail_usage("part inverse is of all ranks; leave rank out");
  if (rank && *rank >= ranks) fail_usage(fmt::format("rank {} is not one of {} ranks (0 is the first)", *rank, ranks));
}

std::vector<Tensor> Zigzag::tensors() const {
  if (output == ZigzagPart::inverse) return {{"inverse", {{"position", length}}, Kind::integer, "place of each position among the ranks' positions"}};
  std::vector<Axis> axes;
  if (!rank) axes.push_back({"rank", ranks});
  axes.push_back({"position", 2 * chunk()});
  return {{"position_ids", std::move(axes), Kind::integer, "positions that a rank has, in its order"}};
}

std::int64_t Zigzag::Table::integer(std::size_t, std::span<const std::int64_t> index) const {
  if (spec_.output == ZigzagPart::inverse) return spec_.place(index[0]);
  return spec_.position(spec_.rank ? *spec_.rank : index[0], index.back());
}

std::vector<Law> Zigzag::laws() const {
  const char* paper = "arXiv:2407.21783, section 3.3.2";
  const std::int64_t columns = output == ZigzagPart::inverse ? length : 2 * chunk();
  if (columns > longest_row) return {};
  std::vector<Law> out;
  if (output == ZigzagPart::inverse) {
    out.push_back({"permutation", "every place is taken once", paper, [n = length](const Stored& stored) -> detail::Failed {
                     const auto row = stored.row(0, 0);
                     if (!row) return {};
                     std::vector<bool> taken(static_cast<std::size_t>(n));
                     for (std::size_t p = 0; p < row->size(); ++p) {
                       const double place = (*row)[p];
                       if (!(place >= 0 && place < static_cast<double>(n)) || taken[static_cast<std::size_t>(place)])
                         return fmt::format("position {} has place {:.17g}, which is taken or none of {}", p, place, n);
                       taken[static_cast<std::size_t>(place)] = true;
                     }
                     return {};
                   }});
    return out;
  }
  // Pairs of positions, one of each chunk, that mirror each other: 0 <= p < length, sum length - 1.
  out.push_back({"balance", "position i of a rank and its last but i sum to length - 1, so that all ranks work alike", paper,
                 [s = *this](const Stored& stored) -> detail::Failed {
                   for (const std::int64_t r : detail::spread(s.rank ? 1 : s.ranks)) {
                     const auto row = stored.row(0, r);
                     if (!row) return {};
                     const std::size_t n = row->size();
                     for (std::size_t i = 0; i < n; ++i)
                       if ((*row)[i] + (*row)[n - 1 - i] != static_cast<double>(s.length - 1))
                         return fmt::format("row {}: positions {:.17g} and {:.17g} at {} and {}", r, (*row)[i], (*row)[n - 1 - i], i, n - 1 - i);
                   }
                   return {};
                 }});
  out.push_back({"rising", "positions of a rank rise, by 1 within a chunk", paper, [s = *this](const Stored& stored) -> detail::Failed {
                   for (const std::int64_t r : detail::spread(s.rank ? 1 : s.ranks)) {
                     const auto row = stored.row(0, r);
                     if (!row) return {};
                     for (std::int64_t i = 1; i < 2 * s.chunk(); ++i) {
                       const double step = (*row)[static_cast<std::size_t>(i)] - (*row)[static_cast<std::size_t>(i - 1)];
                       if (i == s.chunk() ? !(step > 0) : step != 1) return fmt::format("row {}: a step of {:.17g} at {}", r, step, i);
                     }
                   }
                   return {};
                 }});
  return out;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(zigzag, Zigzag)
