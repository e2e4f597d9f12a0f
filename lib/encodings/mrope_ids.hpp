// The position ids (t, h, w) of an Mrope's tokens, from its spans or its given rows.
#pragma once
#include <vector>

#include "encodings/mrope.hpp"

namespace posenc {

class MropeIds {
 public:
  /// One span in place: its grid after merging, its first token and the id at which it starts.
  struct Placed {
    TokenSpan span;
    std::int64_t first_token = 0, start = 0;
    std::vector<std::int64_t> times{};  ///< of the grids of a video, from `start`; empty: 0, 1, ..
    [[nodiscard]] std::int64_t time(std::int64_t grid) const { return times.empty() ? grid : times[static_cast<std::size_t>(grid)]; }
  };

  /// Throws usage where an id would pass 2^53, or a grid does not divide by spatial_merge_size.
  explicit MropeIds(const Mrope& spec);

  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  /// Id of a token on axis 0 (time), 1 (height) or 2 (width).
  [[nodiscard]] std::int64_t at(std::int64_t axis, std::int64_t token) const;
  /// Empty when the rows were given.
  [[nodiscard]] const std::vector<Placed>& placed() const { return placed_; }
  [[nodiscard]] const Placed& span_of(std::int64_t token) const;

 private:
  std::int64_t tokens_ = 0, offset_ = 0;
  std::vector<double> rows_;  ///< [3, tokens], when given
  std::vector<Placed> placed_;
};

}  // namespace posenc
