// From a typed encoding to the seam. A struct E in X.hpp gives
//   static constexpr std::string_view name, summary, source;
//   static void fields(self, visit)       parameters (fields.hpp)
//   void check() const                    rules across parameters
//   std::vector<Tensor> tensors() const
//   std::vector<Law> laws() const
//   auto table() const                    what computes the values; everything derived from the parameters, computed once
// and the table gives
//   template <class T> T element(std::size_t tensor, std::span<const std::int64_t> index) const    the formula
//   void fill(std::size_t tensor, Block& block) const                        optional: fast values with a bound
//   bool rounded(tensor, extent, dtype, out, undecided) const                optional: the same, rounded on the way
//   std::int64_t integer(std::size_t tensor, std::span<const std::int64_t> index) const   for Kind::integer tensors
// X.hpp also declares std::unique_ptr<Encoding> erase(const E&), which POSENC_DEFINE_ENCODING defines.
// An encoding whose parameter list depends on a choice also has extra_views, extra_assign and all_views (see rope.hpp).
#pragma once
#include <memory>

#include "encodings/fields.hpp"
#include "numeric/decide.hpp"
#include "numeric/scalar.hpp"
#include "posenc/encoding.hpp"

namespace posenc::detail {

template <class Table>
concept HasFill = requires(const Table& t, Block& b) { t.fill(std::size_t{}, b); };
template <class Table>
concept HasRounded = requires(const Table& t, const Extent& e, std::vector<std::uint32_t>& u) {
  t.rounded(std::size_t{}, e, DType{}, static_cast<void*>(nullptr), u);
};
template <class Table>
concept HasInteger = requires(const Table& t, std::span<const std::int64_t> i) { t.integer(std::size_t{}, i); };
template <class Table>
concept HasElement =
    requires(const Table& t, std::span<const std::int64_t> i) { t.template element<num::Real>(std::size_t{}, i); };

/// Calls f(index, offset) for every element of an extent, in order.
template <class F>
void each_element(const Tensor& tensor, const Extent& extent, F&& f) {
  std::vector<std::int64_t> index(tensor.axes.empty() ? 1 : tensor.axes.size(), 0);
  std::int64_t offset = 0;
  for (std::int64_t r = extent.row; r < extent.row + extent.rows; ++r) {
    if (!tensor.axes.empty()) tensor.row_index(r, index);
    for (std::int64_t c = extent.col; c < extent.col + extent.cols; ++c) {
      index.back() = c;
      f(std::span<const std::int64_t>(index), offset++);
    }
  }
}

/// The formula in binary64 with its running bound; where even a comparison fails, the bound is infinite.
template <class Table>
void plain_fill(const Table& table, const Tensor& tensor, std::size_t number, Block& block) {
  const std::int64_t cols = block.extent.cols;
  for (std::int64_t r = 0; r < block.extent.rows; ++r) block.bounds[r] = {};
  each_element(tensor, block.extent, [&](std::span<const std::int64_t> index, std::int64_t at) {
    num::Bounded value;
    try {
      value = table.template element<num::Bounded>(number, index);
    } catch (const num::Undecided&) {
      value = {0, HUGE_VAL};
    }
    // What overflowed on the way tells nothing; an exact infinity (a mask) is one.
    const bool lost = std::isnan(value.v) || !(value.e < HUGE_VAL);
    block.hi[at] = lost ? 0 : value.v;
    if (block.lo) block.lo[at] = 0;
    double& bound = block.bounds[at / cols].absolute;
    bound = lost ? HUGE_VAL : std::max(bound, value.e);
  });
}

template <class E>
class ModelEvaluator final : public Evaluator {
 public:
  explicit ModelEvaluator(const E& encoding) : tensors_(encoding.tensors()), table_(encoding.table()) {}

  void fill(std::size_t tensor, Block& block) const override {
    if constexpr (HasFill<Table>)
      table_.fill(tensor, block);
    else if constexpr (HasElement<Table>)
      plain_fill(table_, tensors_[tensor], tensor, block);
    else
      throw std::logic_error("an index tensor has no real values");
  }

  bool rounded([[maybe_unused]] std::size_t tensor, [[maybe_unused]] const Extent& extent, [[maybe_unused]] DType dtype,
               [[maybe_unused]] void* out, [[maybe_unused]] std::vector<std::uint32_t>& undecided) const override {
    if constexpr (HasRounded<Table>)
      return table_.rounded(tensor, extent, dtype, out, undecided);
    else
      return false;
  }

  num::Real element([[maybe_unused]] std::size_t tensor, [[maybe_unused]] std::span<const std::int64_t> index) const override {
    if constexpr (HasElement<Table>)
      return table_.template element<num::Real>(tensor, index);
    else
      throw std::logic_error("an index tensor has no real values");
  }
  double truth(std::size_t tensor, std::span<const std::int64_t> index, DType dtype) const override {
    return num::decide(dtype, [&] { return element(tensor, index); });
  }

  double imitate([[maybe_unused]] Arithmetic arithmetic, [[maybe_unused]] std::size_t tensor,
                 [[maybe_unused]] std::span<const std::int64_t> index) const override {
    if constexpr (HasElement<Table>) {
      if (arithmetic == Arithmetic::float32) return table_.template element<num::Float32>(tensor, index).to_double();
      if (arithmetic == Arithmetic::bfloat16) return table_.template element<num::BFloat16>(tensor, index).to_double();
    }
    throw std::logic_error("not an imitated arithmetic");
  }

  void integers([[maybe_unused]] std::size_t tensor, [[maybe_unused]] const Extent& extent,
                [[maybe_unused]] std::int64_t* out) const override {
    if constexpr (HasInteger<Table>)
      each_element(tensors_[tensor], extent,
                   [&](std::span<const std::int64_t> index, std::int64_t at) { out[at] = table_.integer(tensor, index); });
    else
      throw std::logic_error("this encoding has no index tensors");
  }

 private:
  using Table = decltype(std::declval<const E&>().table());

  std::vector<Tensor> tensors_;
  Table table_;
};

template <class E>
class Model final : public Encoding {
 public:
  Model() = default;
  explicit Model(E encoding) : encoding_(std::move(encoding)) {}

  std::string_view name() const override { return E::name; }
  std::string_view summary() const override { return E::summary; }
  std::string_view source() const override { return E::source; }
  std::unique_ptr<Encoding> clone() const override { return std::make_unique<Model>(encoding_); }

  std::vector<FieldView> fields() const override {
    std::vector<FieldView> out = views(encoding_);
    if constexpr (requires { encoding_.extra_views(); })
      for (FieldView& view : encoding_.extra_views()) out.push_back(std::move(view));
    return out;
  }
  std::vector<FieldView> all_fields() const override {
    if constexpr (requires { E::all_views(); })
      return E::all_views();
    else
      return views(E{});
  }
  void set(std::string_view field, std::string_view text) override {
    if (assign(encoding_, field, text)) return;
    if constexpr (requires { encoding_.extra_assign(field, text); })
      if (encoding_.extra_assign(field, text)) return;
    std::vector<std::string> names;
    for (const FieldView& view : fields()) names.push_back(view.name);
    fail_usage(fmt::format("{} has no parameter {}{}", E::name, quoted_word(field), did_you_mean(field, names)));
  }
  void check() const override {
    check_ranges(encoding_);
    encoding_.check();
  }
  std::vector<Tensor> tensors() const override { return encoding_.tensors(); }
  std::vector<Law> laws() const override { return encoding_.laws(); }
  std::unique_ptr<Evaluator> evaluator() const override {
    check();
    return std::make_unique<ModelEvaluator<E>>(encoding_);
  }

  const E& typed() const { return encoding_; }

 private:
  E encoding_;
};

}  // namespace posenc::detail

/// At the end of X.cpp: the one place where the encoding's templates are instantiated for the seam.
#define POSENC_DEFINE_ENCODING(function, Type)                                          \
  namespace posenc::detail {                                                            \
  std::unique_ptr<Encoding> make_##function() { return std::make_unique<Model<Type>>(); } \
  EncodingEntry entry_##function() { return {Type::name, Type::summary, Type::source, make_##function}; } \
  }                                                                                     \
  namespace posenc {                                                                    \
  std::unique_ptr<Encoding> erase(const Type& e) { return std::make_unique<detail::Model<Type>>(e); } \
  }
