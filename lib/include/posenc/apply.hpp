// Position information put to use: an encoding's tables added to, multiplied into or turned onto an array of vectors or
// scores. The result is one tensor behind the same seam as an encoding, so that it is rounded, streamed and stored alike.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "posenc/encoding.hpp"
#include "posenc/io.hpp"

namespace posenc {

enum class Operation : std::uint8_t { add, multiply, multiply_plus_one, rotate, rotate_back };
template <>
struct EnumNames<Operation> {
  static constexpr std::array<EnumName<Operation>, 5> values{{
      {Operation::add, "add", "x + table: position vectors onto tokens, a bias onto scores"},
      {Operation::multiply, "multiply", "x * table"},
      {Operation::multiply_plus_one, "multiply-plus-one", "x * (table + 1): bert4keras merge_mode mul"},
      {Operation::rotate, "rotate", "pairs of lanes turned by cos and sin: queries and keys"},
      {Operation::rotate_back, "rotate-back", "the same by the opposite angle: undoes rotate, but for the square of attention_factor"},
  }};
};

enum class Pairing : std::uint8_t { half, interleaved, interleaved_to_half, axis_halves };
template <>
struct EnumNames<Pairing> {
  static constexpr std::array<EnumName<Pairing>, 4> values{{
      {Pairing::half, "half", "lanes i and i + pairs (GPT-NeoX, Llama in Hugging Face)"},
      {Pairing::interleaved, "interleaved", "lanes 2i and 2i + 1 (RoFormer, GPT-J, Meta's Llama, Cohere)"},
      {Pairing::interleaved_to_half, "interleaved-to-half",
       "lanes 2i and 2i + 1, which come out as lanes i and i + pairs (DeepSeek-V3 in Hugging Face)"},
      {Pairing::axis_halves, "axis-halves", "lanes i and i + pairs / 2 in each half of the vector, one for the row and one for the column (Gemma 4 vision)"},
  }};
};

/// How tables meet an array. What is absent follows from the tables, or is refused where they do not tell.
struct Application {
  std::optional<Operation> operation{};  ///< absent: rotate with cos and sin, multiply by a tensor `scale`, else add
  std::optional<Pairing> pairing{};      ///< absent: as the encoding's layout says
  /// Names of the array's axes, first to last, at which the tables' axes of the same name are found; the last is the axis
  /// of lanes (or keys). A table without the last axis (a factor for each position) has one value for all of it. Empty: the tables' axes are the array's last ones.
  std::vector<std::string> axes{};
  std::string set{};     ///< which of several frequency sets, "short" or "long"
  std::string tensor{};  ///< which tensor to add or multiply; empty: the only one
};

/// The array that an encoding is applied to.
class Input {
 public:
  virtual ~Input() = default;
  [[nodiscard]] virtual const std::vector<std::int64_t>& shape() const = 0;
  /// Values from flat offset `first`, as doubles (exact). May be called from several threads at once.
  virtual void read(std::int64_t first, std::span<double> out) const = 0;
};
/// Tensor `tensor` of a file. Throws usage for complex values and for integers beyond 2^53, which doubles do not hold.
[[nodiscard]] std::shared_ptr<const Input> input_from(std::shared_ptr<const Reader> reader, std::size_t tensor);

/// Tensors of a file in the role of an encoding's: what a table without a formula gives to `applied`.
[[nodiscard]] std::shared_ptr<const Encoding> stored_tables(std::shared_ptr<const Reader> reader);

/// The result: tensor "y", of the input's shape, true to y = x + t, x * t, or
///   y_a = x_a cos - x_b sin,  y_b = x_b cos + x_a sin   for each pair of lanes (a, b); lanes beyond the pairs as they are
/// in real arithmetic, rounded once. Arithmetic float32 takes model code's steps: the table in its own steps, each product
/// and the sum rounded. Infinities and NaN in the input follow IEEE 754. Throws usage where shapes do not meet.
/// Its fields() say what was done (operation, pairing, ..), for records.
[[nodiscard]] std::shared_ptr<const Encoding> applied(std::shared_ptr<const Encoding> tables, const Application& application,
                                                      std::shared_ptr<const Input> input);

/// q(m) . k(n) of one vector pair; `where` are its coordinates along the axes that are neither positions nor lanes.
struct Score {
  std::vector<std::int64_t> where;
  double value;  ///< from 256 bits, rounded
};
/// A sentence where tables as wide as what turns are laid out for another pairing, so that the result is no rotation (V-JEPA 2
/// was released so); empty where they agree or nothing is known.
[[nodiscard]] std::string pairing_remark(const Encoding& tables, Pairing pairing);

/// One score for each pair of vectors at row m of the query's and row n of the key's position axis; a query or key of one
/// axis is a single vector, put at position m or n itself. Throws usage where shapes do not meet.
[[nodiscard]] std::vector<Score> scores(const std::shared_ptr<const Encoding>& tables, const Application& application,
                                        const std::shared_ptr<const Input>& query, const std::shared_ptr<const Input>& key, std::int64_t m,
                                        std::int64_t n);

}  // namespace posenc
