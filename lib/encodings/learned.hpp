// learned: a trainable table, at its initial values (BERT, GPT-2, ViT, BART, OPT, RoBERTa, DETR).
//
// Element (row, channel) is a pure function of the seed and its index: Philox 4x32-10 (lib/numeric/philox.hpp) gives an integer
// k < 2^53, u = (k + 1/2) / 2^53 is the uniform number, and the value is the quantile at u of the initialiser's distribution,
// in real arithmetic and rounded once. A longer or wider table keeps the values of a smaller one, xavier's and kaiming's
// changing scale aside. What no seed can do is repeat another framework's generator; `uniforms` takes its numbers instead.
//   normal              mean + std Phi^-1(u)                    BERT, GPT-2 in transformers: std 0.02; fairseq: dim^-0.5
//   truncated-absolute  bounds low and high as values            torch.nn.init.trunc_normal_ (default -2, 2: no cut at std 0.02)
//   truncated-sigma     bounds mean + low std, mean + high std   TensorFlow, JAX, Keras, timm's trunc_normal_tf_; the original BERT
//   uniform             low + (high - low) u                     DETR: 0 to 1
//   xavier-uniform      +- sqrt(6 / (fan_in + fan_out))          torch: of an Embedding fan_in = dim, fan_out = rows
//   xavier-normal       std sqrt(2 / (fan_in + fan_out))
//   kaiming-uniform     +- sqrt(6 / fan_in)
//   lecun-normal        truncated-sigma, std sqrt(1 / fan_in), corrected for the cut: Keras, JAX
//   zeros               bert4keras
// Truncated: u runs from Phi of the lower to Phi of the upper bound. Cut at 2 sigma the standard deviation is 0.87962566 std;
// variance_correction divides std by that number, as Keras' and JAX' variance scaling does and their TruncatedNormal does not.
// Rows before position 0: `offset` (BART, OPT 2; RoBERTa, Longformer, fairseq padding_row + 1). Row = position + offset.
#pragma once
#include <memory>
#include <optional>

#include "numeric/real.hpp"
#include "posenc/array.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

enum class LearnedInitialiser : std::uint8_t {
  normal, truncated_absolute, truncated_sigma, uniform, xavier_uniform, xavier_normal, kaiming_uniform, lecun_normal, zeros
};
template <>
struct EnumNames<LearnedInitialiser> {
  static constexpr std::array<EnumName<LearnedInitialiser>, 9> values{{
      {LearnedInitialiser::normal, "normal", "normal with mean and std: BERT and GPT-2 in transformers, fairseq"},
      {LearnedInitialiser::truncated_absolute, "truncated-absolute",
       "normal cut at the values low and high: torch.nn.init.trunc_normal_, timm's trunc_normal_"},
      {LearnedInitialiser::truncated_sigma, "truncated-sigma",
       "normal cut at low and high standard deviations from the mean: TensorFlow, JAX, Keras, timm's trunc_normal_tf_"},
      {LearnedInitialiser::uniform, "uniform", "uniform from low to high: DETR's learned positions (0 to 1)"},
      {LearnedInitialiser::xavier_uniform, "xavier-uniform", "uniform within sqrt(6 / (fan_in + fan_out)): Glorot, FLOATER's start"},
      {LearnedInitialiser::xavier_normal, "xavier-normal", "normal with std sqrt(2 / (fan_in + fan_out)): Glorot"},
      {LearnedInitialiser::kaiming_uniform, "kaiming-uniform", "uniform within sqrt(6 / fan_in): He"},
      {LearnedInitialiser::lecun_normal, "lecun-normal", "normal with std sqrt(1 / fan_in), cut at 2 sigma and corrected for it: Keras, JAX"},
      {LearnedInitialiser::zeros, "zeros", "all zero: bert4keras"},
  }};
};

enum class LearnedForm : std::uint8_t { table, distribution };
template <>
struct EnumNames<LearnedForm> {
  static constexpr std::array<EnumName<LearnedForm>, 2> values{{
      {LearnedForm::table, "table", "table [row, channel]"},
      {LearnedForm::distribution, "distribution", "low, high, mean, variance, std of the values and scale, the std before the cut, one number each"},
  }};
};

struct Learned {
  static constexpr std::string_view name = "learned";
  static constexpr std::string_view summary = "a trainable table at its initial values, the same bytes from the same seed everywhere";
  static constexpr std::string_view source = "Gehring et al. 2017, arXiv:1705.03122; Devlin et al. 2018, arXiv:1810.04805";

  std::int64_t length = 512;
  std::int64_t dim = 768;
  LearnedInitialiser initialiser = LearnedInitialiser::normal;
  double mean = 0;
  std::optional<double> std{};
  std::optional<double> low{}, high{};
  bool variance_correction = false;
  std::int64_t seed = 0;
  Array uniforms{};
  std::int64_t offset = 0;
  std::optional<std::int64_t> padding_row{};
  LearnedForm form = LearnedForm::table;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "length", .metavar = "N", .help = "positions that the table holds; its rows are length + offset", .unit = "positions",
            .range = between(1, 0x1p53), .count = true},
      s.length);
    v(Field{.name = "dim", .metavar = "N", .help = "width of a row (d_model)", .unit = "channels", .range = between(1, 1 << 20)}, s.dim);
    v(Field{.name = "initialiser", .metavar = "NAME", .help = "the distribution of the values"}, s.initialiser);
    v(Field{.name = "mean", .metavar = "X", .help = "mean before any cut"}, s.mean);
    v(Field{.name = "std", .metavar = "X", .help = "standard deviation before any cut; absent: 0.02", .range = positive,
            .source = "BERT, GPT-2, ViT: 0.02"},
      s.std);
    v(Field{.name = "low", .metavar = "X", .help = "lower bound; absent: -2 where normal values are cut, 0 where uniform"}, s.low);
    v(Field{.name = "high", .metavar = "X", .help = "upper bound; absent: 2 where normal values are cut, 1 where uniform"}, s.high);
    v(Field{.name = "variance_correction", .metavar = "BOOL",
            .help = "divide std by 0.87962566, so that values cut at 2 sigma have it (Keras' and JAX' variance scaling)"},
      s.variance_correction);
    v(Field{.name = "seed", .metavar = "N", .help = "key of the generator", .range = between(0, 0x1p53)}, s.seed);
    v(Field{.name = "uniforms", .metavar = "FILE", .help = "[rows, dim] numbers in (0, 1), or as many in one axis, to use instead of the generator's",
            .range = {0, 1, true, true}},
      s.uniforms);
    v(Field{.name = "offset", .metavar = "N", .help = "rows before that of position 0", .unit = "rows", .range = between(0, 1 << 20),
            .source = "BART, OPT: 2; RoBERTa, Longformer, fairseq: padding_idx + 1"},
      s.offset);
    v(Field{.name = "padding_row", .metavar = "N", .help = "row that is all zero (rows count from 0); absent: none", .unit = "rows",
            .range = at_least(0), .source = "RoBERTa, fairseq: padding_idx"},
      s.padding_row);
    v(Field{.name = "form", .metavar = "NAME", .help = "the values, or the numbers of their distribution"}, s.form);
  }

  void check() const;
  /// `table` [row, channel]; of form distribution `low`, `high`, `mean`, `variance`, `std`, `scale` [1] each.
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  [[nodiscard]] std::int64_t rows() const { return length + offset; }
  [[nodiscard]] bool is_normal() const;  ///< normal, cut or not
  [[nodiscard]] bool is_cut() const;

  /// At the precision in force: what the values are drawn from. Normal: centre + scale z, z between low and high; uniform:
  /// centre + scale v, v in (-1, 1).
  struct Distribution {
    num::Real centre, scale;
    num::Real low, high;          ///< of the values; infinite where normal values are not cut
    num::Real below, inside;      ///< Phi at the lower bound, and the probability between the bounds
    num::Real mean, variance;     ///< of the values
    bool symmetric = false;       ///< the bounds of a cut lie as far below the centre as above
  };
  [[nodiscard]] Distribution distribution() const;

  class Table;
  [[nodiscard]] Table table() const;
};

/// What computes a Learned's values. Copies share their state.
class Learned::Table {
 public:
  explicit Table(const Learned& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  void fill(std::size_t tensor, Block& block) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Learned& encoding);

}  // namespace posenc
