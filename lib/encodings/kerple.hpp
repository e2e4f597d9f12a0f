// kerple: kernelised relative position bias (Chi et al. 2022, arXiv:2205.09921, section 4).
//
// With m = |distance| and two learned positive numbers per head, the bias added to a score is
//   kind log     -r1 log(1 + r2 m)
//        power   -r1 m^r2, r2 <= 2           r2 = 1 is ALiBi's
// and the optional weight, a factor on the score, is exp(-w1 m^w2). The code's parameters are bias_p and bias_a: log has
// r1 = bias_p, r2 = bias_a; power has r1 = bias_a, r2 = bias_p; wei_a and wei_p are w1 and w2. It clamps all of them to at
// least 0.01 and exponents to at most 2 when it uses them.
#pragma once
#include <memory>
#include <optional>

#include "attention_span.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

enum class KerpleKind : std::uint8_t { logarithmic, power };
template <>
struct EnumNames<KerpleKind> {
  static constexpr std::array<EnumName<KerpleKind>, 2> values{{
      {KerpleKind::logarithmic, "log", "-r1 log(1 + r2 |distance|): the paper's better one"},
      {KerpleKind::power, "power", "-r1 |distance|^r2"},
  }};
};

enum class KerpleOutput : std::uint8_t { bias, weight };
template <>
struct EnumNames<KerpleOutput> {
  static constexpr std::array<EnumName<KerpleOutput>, 2> values{{
      {KerpleOutput::bias, "bias", "added to the scores"},
      {KerpleOutput::weight, "weight", "factor on the scores before the bias, exp(-w1 |distance|^w2)"},
  }};
};

struct Kerple {
  static constexpr std::string_view name = "kerple";
  static constexpr std::string_view summary = "bias that falls as a logarithm or a power of the distance, learned per head";
  static constexpr std::string_view source = "Chi et al. 2022, arXiv:2205.09921";

  KerpleOutput output = KerpleOutput::bias;
  KerpleKind kind = KerpleKind::logarithmic;
  std::vector<double> r1{}, r2{}, w1{}, w2{};
  bool clamp = true;
  FutureKeys future = FutureKeys::symmetric;
  AttentionSpan span{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "part", .metavar = "NAME", .help = "which tensor"}, s.output);
    v(Field{.name = "kind", .metavar = "NAME", .help = "how the bias falls"}, s.kind);
    v(Field{.name = "r1", .metavar = "LIST", .help = "amplitude of each head's bias", .range = between(0x1p-512, 0x1p512),
            .source = "code: bias_p of log, bias_a of power"},
      s.r1);
    v(Field{.name = "r2", .metavar = "LIST", .help = "rate (log) or exponent (power) of each head's bias", .range = between(0x1p-512, 0x1p512),
            .source = "code: bias_a of log, bias_p of power"},
      s.r2);
    v(Field{.name = "w1", .metavar = "LIST", .help = "rate of each head's weight", .range = between(0x1p-512, 0x1p512), .source = "code: wei_a"},
      s.w1);
    v(Field{.name = "w2", .metavar = "LIST", .help = "exponent of each head's weight", .range = between(0x1p-512, 0x1p512), .source = "code: wei_p"},
      s.w2);
    v(Field{.name = "clamp", .metavar = "BOOL", .help = "clamp parameters to at least 0.01 and exponents to at most 2, as the code does"}, s.clamp);
    v(Field{.name = "future", .metavar = "NAME", .help = "what keys after the query get"}, s.future);
    AttentionSpan::fields(s.span, v);
  }

  void check() const;
  /// `bias` or `weight` [head, ..], see SpanForm.
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  [[nodiscard]] std::int64_t heads() const { return static_cast<std::int64_t>((output == KerpleOutput::bias ? r1 : w1).size()); }

  class Table;
  [[nodiscard]] Table table() const;
};

/// Computes a Kerple's values. Copies share their state.
class Kerple::Table {
 public:
  explicit Table(const Kerple& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  void fill(std::size_t tensor, Block& block) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Kerple& encoding);

}  // namespace posenc
