// complex_order: a complex word embedding that turns with the position (Wang et al. 2020, arXiv:1912.12333, equation 7).
//
// Word j at position k has in dimension l the value r_jl exp(i (omega_jl k + theta_jl)); a complex network takes it. r, omega
// and theta are trainable. Each is given as an array, shared or not, or left at its start value:
//   amplitude r   1 unless given (the published code takes an ordinary embedding, normal with std 1: an array)
//   frequency     frequency_start:
//                   classification   omega = j 10000^(-2l / dim): the number of the word multiplies, l is not halved
//                   translation      omega = 10000^(-2 floor(l / 2) / dim) for every word; padding_word has 0
//   phase theta   0 unless given, as in the published code and experiments
// Positions are as given. The code's are 1, 2, ... with 0 for padding (classification, translation); its transformer
// classifier counts down from the last to 0: positions 99:-1:-1.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>

#include "numeric/real.hpp"
#include "posenc/array.hpp"
#include "posenc/encoding.hpp"
#include "posenc/positions.hpp"

namespace posenc {

enum class ComplexOrderStart : std::uint8_t { classification, translation };
template <>
struct EnumNames<ComplexOrderStart> {
  static constexpr std::array<EnumName<ComplexOrderStart>, 2> values{{
      {ComplexOrderStart::classification, "classification", "word * base^(-2l / dim): the published text classifiers"},
      {ComplexOrderStart::translation, "translation", "base^(-2 floor(l / 2) / dim) for every word: the published translation and language models"},
  }};
};

enum class ComplexOrderSharing : std::uint8_t { none, words, dimensions };
template <>
struct EnumNames<ComplexOrderSharing> {
  static constexpr std::array<EnumName<ComplexOrderSharing>, 3> values{{
      {ComplexOrderSharing::none, "none", "a frequency for every word and dimension: [vocabulary, dim]"},
      {ComplexOrderSharing::words, "words", "shared by all words, one per dimension: [dim]"},
      {ComplexOrderSharing::dimensions, "dimensions", "shared by all dimensions, one per word: [vocabulary]"},
  }};
};

enum class ComplexOrderForm : std::uint8_t { complex, pair, frequencies };
template <>
struct EnumNames<ComplexOrderForm> {
  static constexpr std::array<EnumName<ComplexOrderForm>, 3> values{{
      {ComplexOrderForm::complex, "complex", "embedding [position, channel], complex"},
      {ComplexOrderForm::pair, "pair", "real and imaginary [position, channel]"},
      {ComplexOrderForm::frequencies, "frequencies", "omega [word, channel]: the frequencies in force"},
  }};
};

struct ComplexOrder {
  static constexpr std::string_view name = "complex_order";
  static constexpr std::string_view summary = "complex word embedding whose phase turns with the position";
  static constexpr std::string_view source = "Wang et al. 2020, arXiv:1912.12333, equation 7";

  std::int64_t dim = 8;
  std::int64_t vocabulary = 16;
  Array words{};
  Array amplitude{};
  Array frequency{};
  ComplexOrderSharing sharing = ComplexOrderSharing::none;
  ComplexOrderStart frequency_start = ComplexOrderStart::translation;
  Array phase{};
  double base = 10000;
  std::optional<std::int64_t> padding_word{};
  ComplexOrderForm form = ComplexOrderForm::complex;
  Positions positions = Positions::range(1, 129);

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "dim", .metavar = "N", .help = "complex dimensions of a word", .unit = "channels", .range = between(1, 1 << 16)}, s.dim);
    v(Field{.name = "vocabulary", .metavar = "N", .help = "number of words", .unit = "words", .range = between(1, 1 << 24), .count = true},
      s.vocabulary);
    v(Field{.name = "words", .metavar = "FILE", .help = "[positions] numbers of the words at the positions; absent: word 1 everywhere, or 0 of one word",
            .unit = "words", .range = at_least(0)},
      s.words);
    v(Field{.name = "amplitude", .metavar = "FILE", .help = "r [vocabulary, dim]; absent: 1"}, s.amplitude);
    v(Field{.name = "frequency", .metavar = "FILE", .help = "omega, of the shape that sharing says; absent: frequency_start",
            .unit = "radians per position"},
      s.frequency);
    v(Field{.name = "sharing", .metavar = "NAME", .help = "who shares a given frequency", .source = "arXiv:1912.12333, section 3.3"}, s.sharing);
    v(Field{.name = "frequency_start", .metavar = "NAME", .help = "frequencies where none are given"}, s.frequency_start);
    v(Field{.name = "phase", .metavar = "FILE", .help = "theta [vocabulary, dim]; absent: 0", .unit = "radians"}, s.phase);
    v(Field{.name = "base", .metavar = "X", .help = "base of the start frequencies", .range = positive}, s.base);
    v(Field{.name = "padding_word", .metavar = "N", .help = "word whose start frequencies are 0; absent: none", .unit = "words", .range = at_least(0),
            .source = "the published code: padding_idx 0"},
      s.padding_word);
    v(Field{.name = "form", .metavar = "NAME", .help = "what is written"}, s.form);
    v(Field{.name = "positions", .metavar = "P", .help = "N, A:B, A:B:S, a list, or a file of integers or reals", .unit = "positions"},
      s.positions);
  }

  void check() const;
  /// `embedding` complex [position, channel]; or `real` and `imaginary` [position, channel]; or `omega` [word, channel].
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  /// Word at a row.
  [[nodiscard]] std::int64_t word(std::int64_t row) const {
    return words.given() ? static_cast<std::int64_t>(words.values[static_cast<std::size_t>(row)]) : std::min<std::int64_t>(1, vocabulary - 1);
  }
  [[nodiscard]] double amplitude_of(std::int64_t w, std::int64_t channel) const {
    return amplitude.given() ? amplitude.values[static_cast<std::size_t>(w * dim + channel)] : 1.0;
  }
  /// omega, radians per position.
  template <class T>
  [[nodiscard]] T omega(std::int64_t w, std::int64_t channel) const;

  class Table;
  [[nodiscard]] Table table() const;
};

/// What computes a ComplexOrder's values.
class ComplexOrder::Table {
 public:
  explicit Table(const ComplexOrder& spec) : spec_(std::make_shared<const ComplexOrder>(spec)) {}
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;

 private:
  std::shared_ptr<const ComplexOrder> spec_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const ComplexOrder& encoding);

}  // namespace posenc
