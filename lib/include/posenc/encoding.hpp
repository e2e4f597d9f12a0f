// The seam: an encoding with its type erased. Text in, text out, blocks of doubles; command line, JSON, metadata and the
// pipeline know nothing else. Typed structs (lib/encodings/X.hpp) are wrapped by lib/encodings/model.hpp.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/dtype.hpp"
#include "posenc/field.hpp"
#include "posenc/law.hpp"
#include "posenc/tensor.hpp"

namespace posenc {

namespace num {
class Real;  // lib/numeric/real.hpp
}

/// How values are computed. exact: the real number, rounded once. Others imitate model code step by step.
enum class Arithmetic : std::uint8_t { exact, float32, bfloat16 };
template <>
struct EnumNames<Arithmetic> {
  static constexpr std::array<EnumName<Arithmetic>, 3> values{{
      {Arithmetic::exact, "exact", "the real number, rounded once to the dtype"},
      {Arithmetic::float32, "float32", "each step correctly rounded to binary32, as model code computes"},
      {Arithmetic::bfloat16, "bfloat16", "each step rounded to bfloat16, where a family computes so (Falcon's ALiBi)"},
  }};
};

/// Computes values of one checked encoding. Immutable and safe to share between threads; pure in (tensor, extent).
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// Fast values with a rigorous bound per row (see Block).
  virtual void fill(std::size_t tensor, Block& block) const = 0;
  /// fill and rounding in one pass, for encodings with a kernel of their own for it: whole rows of `extent` in `dtype` to
  /// `out`; the places of values that its bound leaves undecided are appended to `undecided`. False: there is none here.
  virtual bool rounded(std::size_t tensor, const Extent& extent, DType dtype, void* out, std::vector<std::uint32_t>& undecided) const = 0;
  /// The formula's value as an interval at the working precision (num::Precision); may throw num::Undecided.
  [[nodiscard]] virtual num::Real element(std::size_t tensor, std::span<const std::int64_t> index) const = 0;
  /// The correctly rounded value in `dtype`.
  [[nodiscard]] virtual double truth(std::size_t tensor, std::span<const std::int64_t> index, DType dtype) const = 0;
  /// The value that an imitated arithmetic gives, before the final cast to the dtype.
  [[nodiscard]] virtual double imitate(Arithmetic arithmetic, std::size_t tensor, std::span<const std::int64_t> index) const = 0;
  /// Values of a Kind::integer tensor.
  virtual void integers(std::size_t tensor, const Extent& extent, std::int64_t* out) const = 0;
};

class Encoding {
 public:
  virtual ~Encoding() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view summary() const = 0;  ///< one line
  [[nodiscard]] virtual std::string_view source() const = 0;   ///< paper
  [[nodiscard]] virtual std::unique_ptr<Encoding> clone() const = 0;

  /// The parameters in force, in order.
  [[nodiscard]] virtual std::vector<FieldView> fields() const = 0;
  /// Every parameter that can be in force under some choice (rules of rope), each once per group.
  [[nodiscard]] virtual std::vector<FieldView> all_fields() const = 0;
  /// Sets one parameter from text; throws usage naming the parameter, what it wants and what it got.
  virtual void set(std::string_view field, std::string_view text) = 0;
  /// Rules across parameters; throws usage.
  virtual void check() const = 0;

  [[nodiscard]] virtual std::vector<Tensor> tensors() const = 0;
  [[nodiscard]] virtual std::vector<Law> laws() const = 0;
  [[nodiscard]] virtual std::unique_ptr<Evaluator> evaluator() const = 0;
};

struct EncodingEntry {
  std::string_view name, summary, source;
  std::unique_ptr<Encoding> (*make)();
};
/// The list of encodings, in the order of lib/encodings/list.inc.
[[nodiscard]] std::span<const EncodingEntry> encodings();
/// A default-constructed encoding; throws usage with a suggestion when there is none of that name.
[[nodiscard]] std::unique_ptr<Encoding> make_encoding(std::string_view name);

}  // namespace posenc
