// sinusoidal: fixed sines and cosines of the position (Vaswani et al. 2017, arXiv:1706.03762, section 3.5).
//
// Pair i has angle position * f_i with f_i = min_timescale * ratio^(-e_i), where ratio is base (or max_timescale /
// min_timescale), n the number of complete pairs, and
//   divisor n              e_i = 2i / dim        the paper; i / n when dim is even or odd = zero
//   divisor n-1            e_i = i / (n - 1)     fairseq, M2M100, XGLM, Whisper: the last frequency is exactly 1 / ratio
//   divisor n-1-guarded    e_i = i / max(n - 1, 1)   tensor2tensor
// What the families of implementations are, as parameters:
//   paper, bert4keras       divisor n,   layout interleaved
//   PyTorch's tutorial      the same with odd = sine
//   GPT-J, CodeGen          divisor n,   layout concatenated
//   Marian, RoFormer        divisor n,   layout concatenated, odd = split (they compute in binary64: arithmetic exact)
//   tensor2tensor           divisor n-1-guarded, layout concatenated, odd = zero
//   fairseq, M2M100, XGLM   divisor n-1, layout concatenated, odd = zero, padding_row = their padding_idx
//   Whisper                 divisor n-1, layout concatenated
//   diffusion models        the same with first = cos where they flip
#pragma once
#include <memory>
#include <optional>

#include "../numeric/scalar.hpp"
#include "posenc/encoding.hpp"
#include "posenc/positions.hpp"

namespace posenc {

namespace num {
class RotationRows;
}

enum class SinusoidalDivisor : std::uint8_t { n, n_minus_1, n_minus_1_guarded };
template <>
struct EnumNames<SinusoidalDivisor> {
  static constexpr std::array<EnumName<SinusoidalDivisor>, 3> values{{
      {SinusoidalDivisor::n, "n", "exponent i / n, that is 2i / dim: the paper, bert4keras, GPT-J, Marian, RoFormer"},
      {SinusoidalDivisor::n_minus_1, "n-1", "exponent i / (n - 1): fairseq, M2M100, XGLM, Whisper"},
      {SinusoidalDivisor::n_minus_1_guarded, "n-1-guarded", "exponent i / max(n - 1, 1): tensor2tensor"},
  }};
};

enum class SinusoidalLayout : std::uint8_t { interleaved, concatenated };
template <>
struct EnumNames<SinusoidalLayout> {
  static constexpr std::array<EnumName<SinusoidalLayout>, 2> values{{
      {SinusoidalLayout::interleaved, "interleaved", "channels 2i and 2i + 1 hold pair i: the paper, bert4keras"},
      {SinusoidalLayout::concatenated, "concatenated",
       "[sin | cos]: tensor2tensor, fairseq, M2M100, Whisper, GPT-J, Marian, RoFormer"},
  }};
};

enum class SinusoidalFirst : std::uint8_t { sine, cosine };
template <>
struct EnumNames<SinusoidalFirst> {
  static constexpr std::array<EnumName<SinusoidalFirst>, 2> values{{
      {SinusoidalFirst::sine, "sin", "the sine comes before the cosine: all language models"},
      {SinusoidalFirst::cosine, "cos", "the cosine comes before the sine: diffusion models that flip"},
  }};
};

enum class SinusoidalOdd : std::uint8_t { refuse, sine, zero, split };
template <>
struct EnumNames<SinusoidalOdd> {
  static constexpr std::array<EnumName<SinusoidalOdd>, 4> values{{
      {SinusoidalOdd::refuse, "refuse", "an odd dim is an error, as in bert4keras"},
      {SinusoidalOdd::sine, "sine", "the last channel is the sine of one more pair, exponent (dim - 1) / dim: PyTorch's tutorial"},
      {SinusoidalOdd::zero, "zero", "the table of width dim - 1 and one column of zeros: tensor2tensor, fairseq, M2M100"},
      {SinusoidalOdd::split, "split", "(dim + 1) / 2 sines, then the cosines, exponents 2i / dim: Marian, RoFormer"},
  }};
};

struct Sinusoidal {
  static constexpr std::string_view name = "sinusoidal";
  static constexpr std::string_view summary = "fixed table of sines and cosines of position times a geometric series of frequencies";
  static constexpr std::string_view source = "Vaswani et al. 2017, arXiv:1706.03762, section 3.5";

  std::int64_t dim = 512;
  double base = 10000;
  double min_timescale = 1;
  std::optional<double> max_timescale{};
  SinusoidalDivisor divisor = SinusoidalDivisor::n;
  SinusoidalLayout layout = SinusoidalLayout::interleaved;
  SinusoidalFirst first = SinusoidalFirst::sine;
  SinusoidalOdd odd = SinusoidalOdd::refuse;
  Positions positions = Positions::range(0, 2048);
  std::int64_t offset = 0;
  std::optional<std::int64_t> padding_row{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "dim", .metavar = "N", .help = "width of a row (d_model)", .unit = "channels", .range = between(1, 1 << 16),
            .source = "arXiv:1706.03762, section 3.5: d_model"},
      s.dim);
    v(Field{.name = "base", .metavar = "X", .help = "ratio of the longest to the shortest timescale", .range = positive,
            .source = "arXiv:1706.03762, section 3.5: 10000"},
      s.base);
    v(Field{.name = "min_timescale", .metavar = "X",
            .help = "factor on every frequency; a larger value makes angles turn faster, against its name", .range = positive,
            .source = "tensor2tensor get_timing_signal_1d, which multiplies by it"},
      s.min_timescale);
    v(Field{.name = "max_timescale", .metavar = "X", .help = "gives base as max_timescale / min_timescale; absent: base says it",
            .range = positive, .source = "tensor2tensor get_timing_signal_1d"},
      s.max_timescale);
    v(Field{.name = "divisor", .metavar = "NAME", .help = "what the index of a pair is divided by in the exponent (n pairs)"},
      s.divisor);
    v(Field{.name = "layout", .metavar = "NAME", .help = "how sines and cosines lie in a row"}, s.layout);
    v(Field{.name = "first", .metavar = "NAME", .help = "whether the sine or the cosine comes first"}, s.first);
    v(Field{.name = "odd", .metavar = "NAME", .help = "what an odd dim means"}, s.odd);
    v(Field{.name = "positions", .metavar = "P", .help = "N, A:B, A:B:S, a list, or a file of integers or reals", .unit = "positions"},
      s.positions);
    v(Field{.name = "offset", .metavar = "N", .help = "added to every position", .unit = "positions",
            .range = between(-0x1p53, 0x1p53), .source = "tensor2tensor: start_index", .count = true},
      s.offset);
    v(Field{.name = "padding_row", .metavar = "N", .help = "row that is all zero (rows count from 0); absent: none", .unit = "rows",
            .range = at_least(0), .source = "fairseq, M2M100, XGLM: padding_idx"},
      s.padding_row);
  }

  void check() const;
  /// `table` [position, channel].
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  /// n: frequencies of which the table has both the sine and the cosine.
  [[nodiscard]] std::int64_t pairs() const { return dim / 2; }
  /// Frequencies in use: one more than pairs() where an odd dim ends in a sine without its cosine.
  [[nodiscard]] std::int64_t frequencies() const;

  /// What a channel holds; pair < 0: zeros.
  struct Channel {
    std::int64_t pair;
    bool sine;
  };
  [[nodiscard]] Channel channel(std::int64_t c) const;
  /// Channel of the sine or the cosine of a pair; the cosine only where there is one.
  [[nodiscard]] std::int64_t channel_of(std::int64_t pair, bool sine) const;
  /// f_i, radians per position, at the precision in force.
  [[nodiscard]] num::Real inv_freq(std::int64_t pair) const;
  /// The same as model code computes it in binary32.
  [[nodiscard]] num::Float32 inv_freq_float32(std::int64_t pair) const;

  class Table;
  [[nodiscard]] Table table() const;
};

/// What computes a Sinusoidal's values. Copies share their state.
class Sinusoidal::Table {
 public:
  explicit Table(const Sinusoidal& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  void fill(std::size_t tensor, Block& block) const;

 private:
  struct State;
  class Placer;
  Placer& placer(const num::RotationRows& rows) const;

  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Sinusoidal& encoding);

}  // namespace posenc
