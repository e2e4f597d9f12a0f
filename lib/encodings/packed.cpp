// packed: parameters, ids, laws.
#include "encodings/packed.hpp"

#include <algorithm>

#include "encodings/model.hpp"
#include "encodings/span_laws.hpp"

namespace posenc {
namespace {

constexpr std::int64_t longest_row = std::int64_t{1} << 24;  // a law reads whole rows; longer ones are left to the comparison

}  // namespace

std::vector<std::int64_t> Packed::ends() const {
  std::vector<std::int64_t> out{0};
  for (const double n : lengths) out.push_back(out.back() + static_cast<std::int64_t>(n));
  return out;
}

void Packed::check() const {
  if (lengths.empty()) fail_usage("lengths wants the length of each document, such as 5,3,4");
  double sum = 0;
  for (const double n : lengths) {
    if (n != std::floor(n)) fail_usage(fmt::format("lengths wants integers, got {}", print(n)));
    if ((sum += n) > 0x1p52) fail_usage("lengths sum up to more than 2^52");
  }
  if (total && static_cast<double>(*total) < sum) fail_usage(fmt::format("total {} is shorter than the documents' {}", *total, print(sum)));
}

std::vector<Tensor> Packed::tensors() const {
  const std::int64_t used = ends().back(), n = total.value_or(used);
  switch (output) {
    case PackedPart::position_ids: return {{"position_ids", {{"position", n}}, Kind::integer, "ids, restarting at each document"}};
    case PackedPart::segment_ids: return {{"segment_ids", {{"position", n}}, Kind::integer, "number of the document, from 1; padding 0"}};
    case PackedPart::cu_seqlens: break;
  }
  return {{"cu_seqlens", {{"boundary", static_cast<std::int64_t>(lengths.size()) + (n > used ? 2 : 1)}}, Kind::integer, "first position of each document, and the end"}};
}

Packed::Table Packed::table() const { return Table(*this); }

std::int64_t Packed::Table::integer(std::size_t, std::span<const std::int64_t> index) const {
  const std::int64_t at = index[0];
  const auto documents = static_cast<std::int64_t>(ends_.size()) - 1;
  if (spec_.output == PackedPart::cu_seqlens) return at <= documents ? ends_[static_cast<std::size_t>(at)] : *spec_.total;
  // Number of the document, from 1; documents + 1 is the padding.
  const std::int64_t document = std::upper_bound(ends_.begin(), ends_.end(), at) - ends_.begin();
  const bool pad = document > documents;
  if (spec_.output == PackedPart::segment_ids) return pad ? 0 : document;
  if (pad && spec_.padding == PackedPadding::constant) return spec_.padding_id;
  const bool on = pad && spec_.padding == PackedPadding::proceed;
  return spec_.start + at - ends_[static_cast<std::size_t>(document - (on ? 2 : 1))];
}

std::vector<Law> Packed::laws() const {
  const char* paper = "Krell et al. 2021, arXiv:2107.02027, section 3.2";
  const Tensor tensor = tensors()[0];
  if (tensor.columns() > longest_row) return {};
  std::vector<Law> out;
  const auto add = [&](const char* law, const char* text, auto holds) {
    out.push_back({law, text, paper, [s = *this, holds](const Stored& stored) -> detail::Failed {
                     const auto row = stored.row(0, 0);
                     if (!row) return {};
                     return holds(s, s.ends(), *row);
                   }});
  };
  switch (output) {
    case PackedPart::position_ids:
      add("restart", "ids rise by 1 within a document and start anew at each",
          [](const Packed& s, const std::vector<std::int64_t>& ends, const std::vector<double>& row) -> detail::Failed {
            for (std::size_t d = 0; d + 1 < ends.size(); ++d)
              for (std::int64_t p = ends[d]; p < ends[d + 1]; ++p) {
                const auto at = static_cast<std::size_t>(p);
                if (row[at] != (p == ends[d] ? static_cast<double>(s.start) : row[at - 1] + 1)) return fmt::format("id {:.17g} at position {}", row[at], p);
              }
            return {};
          });
      break;
    case PackedPart::segment_ids:
      add("documents", "each document has its length's share of positions", [](const Packed& s, const auto&, const std::vector<double>& row) -> detail::Failed {
        std::vector<double> count(s.lengths.size() + 1);
        for (std::size_t p = 0; p < row.size(); ++p) {
          if (!(row[p] >= 0 && row[p] <= static_cast<double>(s.lengths.size()))) return fmt::format("document {:.17g} at position {}", row[p], p);
          ++count[static_cast<std::size_t>(row[p])];
        }
        for (std::size_t d = 0; d < s.lengths.size(); ++d)
          if (count[d + 1] != s.lengths[d]) return fmt::format("document {} has {:.17g} positions, not {:.17g}", d + 1, count[d + 1], s.lengths[d]);
        return {};
      });
      break;
    case PackedPart::cu_seqlens:
      add("steps", "the steps are the lengths", [](const Packed& s, const auto&, const std::vector<double>& row) -> detail::Failed {
        for (std::size_t d = 0; d < s.lengths.size(); ++d)
          if (row[d + 1] - row[d] != s.lengths[d]) return fmt::format("a step of {:.17g} at document {}", row[d + 1] - row[d], d + 1);
        return {};
      });
      break;
  }
  return out;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(packed, Packed)
