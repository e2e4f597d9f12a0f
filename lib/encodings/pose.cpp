// pose: parameters, ids, laws.
#include "encodings/pose.hpp"

#include "encodings/model.hpp"
#include "encodings/span_laws.hpp"
#include "numeric/philox.hpp"

namespace posenc {

void Pose::check() const {
  if (target < chunk_length) fail_usage(fmt::format("target {} is shorter than chunk_length {}", target, chunk_length));
  if (rt1 && *rt1 > (chunk_length + 1) / 2)
    fail_usage(fmt::format("rt1 {} is more than half of chunk_length {}: at most {}", *rt1, chunk_length, (chunk_length + 1) / 2));
  if (skip && *skip > target - chunk_length)
    fail_usage(fmt::format("skip {} leads beyond target {}: at most {} with chunk_length {}", *skip, target, target - chunk_length, chunk_length));
}

std::vector<Tensor> Pose::tensors() const {
  std::vector<Axis> axes;
  if (samples) axes.push_back({"sample", *samples});
  axes.push_back({"position", chunk_length});
  return {{"position_ids", std::move(axes), Kind::integer, "ids of each sample's tokens, below target"}};
}

std::int64_t Pose::first_chunk(std::int64_t sample) const {
  if (rt1) return *rt1;
  const auto choices = static_cast<std::uint64_t>((chunk_length + 1) / 2);
  return 1 + static_cast<std::int64_t>(num::philox_below(choices, static_cast<std::uint64_t>(seed), 0, static_cast<std::uint64_t>(sample), 0));
}

std::int64_t Pose::skipped(std::int64_t sample) const {
  if (skip) return *skip;
  const auto choices = static_cast<std::uint64_t>(target - chunk_length + 1);
  return static_cast<std::int64_t>(num::philox_below(choices, static_cast<std::uint64_t>(seed), 0, static_cast<std::uint64_t>(sample), 1));
}

std::int64_t Pose::Table::integer(std::size_t, std::span<const std::int64_t> index) const {
  const std::int64_t sample = spec_.samples ? index[0] : 0, i = index.back();
  return i < spec_.first_chunk(sample) ? i : i + spec_.skipped(sample);
}

std::vector<Law> Pose::laws() const {
  const char* paper = "Zhu et al. 2023, arXiv:2309.10400, section 3";
  std::vector<Law> out;
  const auto each_row = [n = samples.value_or(1)](const Stored& stored, auto&& holds) -> detail::Failed {
    for (const std::int64_t r : detail::spread(n)) {
      const auto row = stored.row(0, r);
      if (!row) return {};
      if (detail::Failed failed = holds(*row)) return fmt::format("sample {}: {}", r, *failed);
    }
    return {};
  };
  out.push_back({"chunks", "ids start at 0 and rise by 1, but for one skip at most", paper, [each_row](const Stored& stored) {
                   return each_row(stored, [](const std::vector<double>& row) -> detail::Failed {
                     if (row[0] != 0) return fmt::format("the first id is {:.17g}", row[0]);
                     int skips = 0;
                     for (std::size_t i = 1; i < row.size(); ++i) {
                       if (!(row[i] > row[i - 1])) return fmt::format("id {:.17g} after {:.17g}", row[i], row[i - 1]);
                       if (row[i] != row[i - 1] + 1 && ++skips > 1) return fmt::format("a second skip at position {}", i);
                     }
                     return {};
                   });
                 }});
  out.push_back({"target", "ids stay below target", paper, [each_row, t = static_cast<double>(target)](const Stored& stored) {
                   return each_row(stored, [t](const std::vector<double>& row) -> detail::Failed {
                     if (row.back() < t) return {};
                     return fmt::format("the last id is {:.17g}", row.back());
                   });
                 }});
  return out;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(pose, Pose)
