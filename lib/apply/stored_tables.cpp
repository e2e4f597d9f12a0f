// Tensors of a file: as the input of an operation, and in the role of an encoding's tables.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "numeric/real.hpp"
#include "posenc/apply.hpp"
#include "posenc/error.hpp"
#include "posenc/pipeline.hpp"
#include "posenc/positions.hpp"
#include "posenc/spec.hpp"

namespace posenc {
namespace {

// Values [first, first + out.size()) as doubles.
void read_doubles(const Reader& reader, std::size_t tensor, std::int64_t first, std::span<double> out) {
  const StoredTensor& form = reader.tensors()[tensor];
  const std::size_t size = size_of(form.dtype);
  thread_local std::vector<std::byte> bytes;
  bytes.resize(out.size() * size);
  reader.read(tensor, first, bytes);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = stored_value(form.dtype, bytes.data() + i * size);
    if (form.dtype != DType::i64) continue;
    std::int64_t integer = 0;
    std::memcpy(&integer, bytes.data() + i * size, 8);
    if (integer < -max_position || integer > max_position)
      fail_usage(fmt::format("{} holds the integer {}, beyond 2^53, where doubles have gaps", form.name, integer));
  }
}

void check_real(const StoredTensor& form) {
  if (form.is_complex) fail_usage(fmt::format("{} is complex; apply takes real arrays (numpy's view(float) gives one)", form.name));
  if (form.shape.empty()) fail_usage(fmt::format("{} is a single number; apply takes arrays", form.name));
}

class FileInput final : public Input {
 public:
  FileInput(std::shared_ptr<const Reader> reader, std::size_t tensor) : reader_(std::move(reader)), tensor_(tensor) {}
  const std::vector<std::int64_t>& shape() const override { return reader_->tensors()[tensor_].shape; }
  void read(std::int64_t first, std::span<double> out) const override { read_doubles(*reader_, tensor_, first, out); }

 private:
  std::shared_ptr<const Reader> reader_;
  std::size_t tensor_;
};

// Values are what the file holds: doubles without error.
class StoredEvaluator final : public Evaluator {
 public:
  StoredEvaluator(std::shared_ptr<const Reader> reader, std::vector<Tensor> tensors) : reader_(std::move(reader)), tensors_(std::move(tensors)) {}

  void fill(std::size_t tensor, Block& block) const override {
    const Extent& e = block.extent;
    const auto count = static_cast<std::size_t>(e.elements());
    read_doubles(*reader_, tensor, e.row * tensors_[tensor].columns() + e.col, std::span(block.hi, count));
    if (block.lo) std::fill_n(block.lo, count, 0.0);
    std::fill_n(block.bounds, e.rows, ErrorBound{});
  }
  bool rounded(std::size_t, const Extent&, DType, void*, std::vector<std::uint32_t>&) const override { return false; }
  num::Real element(std::size_t tensor, std::span<const std::int64_t> index) const override { return num::Real::of(value(tensor, index)); }
  // The caller rounds: what a file holds is a double.
  double truth(std::size_t tensor, std::span<const std::int64_t> index, DType) const override { return value(tensor, index); }
  double imitate(Arithmetic, std::size_t tensor, std::span<const std::int64_t> index) const override { return value(tensor, index); }
  void integers(std::size_t, const Extent&, std::int64_t*) const override { throw std::logic_error("stored tables are read as reals"); }

 private:
  [[nodiscard]] double value(std::size_t tensor, std::span<const std::int64_t> index) const {
    std::int64_t flat = 0;
    for (std::size_t i = 0; i < index.size(); ++i) flat = flat * tensors_[tensor].axes[i].size + index[i];
    double out = 0;
    read_doubles(*reader_, tensor, flat, std::span(&out, 1));
    return out;
  }

  std::shared_ptr<const Reader> reader_;
  std::vector<Tensor> tensors_;
};

class StoredTables final : public Encoding {
 public:
  explicit StoredTables(std::shared_ptr<const Reader> reader) : reader_(std::move(reader)) {
    // What cannot be applied is refused when it is asked for (applied.cpp), not because it lies in the same file.
    for (const StoredTensor& form : reader_->tensors()) {
      Tensor tensor{form.name, {}, form.is_complex ? Kind::complex : Kind::real, form.help};
      for (std::size_t i = 0; i < form.shape.size(); ++i)
        tensor.axes.push_back({form.axis_names.empty() ? fmt::format("axis{}", i) : form.axis_names[i], form.shape[i]});
      tensors_.push_back(std::move(tensor));
    }
    // How pairs lie is known where the file carries the spec of one table.
    const auto spec = reader_->metadata().find(std::string(spec_key));
    if (spec == reader_->metadata().end()) return;
    const Spec said = Spec::parse(spec->second, "the spec of the tables");
    if (said.tables.size() != 1) return;
    for (FieldView& field : said.tables[0].encoding->fields())
      if (field.name == "layout" || field.name == "pair_stride") fields_.push_back(std::move(field));
  }
  std::string_view name() const override { return "table"; }
  std::string_view summary() const override { return "tables of a file, as they are"; }
  std::string_view source() const override { return ""; }
  std::unique_ptr<Encoding> clone() const override { return std::make_unique<StoredTables>(*this); }
  std::vector<FieldView> fields() const override { return fields_; }
  std::vector<FieldView> all_fields() const override { return fields_; }
  void set(std::string_view field, std::string_view) override { fail_usage(fmt::format("a stored table has no parameter {}", field)); }
  void check() const override {}
  std::vector<Tensor> tensors() const override { return tensors_; }
  std::vector<Law> laws() const override { return {}; }
  std::unique_ptr<Evaluator> evaluator() const override { return std::make_unique<StoredEvaluator>(reader_, tensors_); }

 private:
  std::shared_ptr<const Reader> reader_;
  std::vector<Tensor> tensors_;
  std::vector<FieldView> fields_;
};

}  // namespace

std::shared_ptr<const Input> input_from(std::shared_ptr<const Reader> reader, std::size_t tensor) {
  check_real(reader->tensors()[tensor]);
  return std::make_shared<FileInput>(std::move(reader), tensor);
}

std::shared_ptr<const Encoding> stored_tables(std::shared_ptr<const Reader> reader) { return std::make_shared<StoredTables>(std::move(reader)); }

}  // namespace posenc
