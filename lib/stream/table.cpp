#include "posenc/table.hpp"

#include <fmt/format.h>

#include <cstring>

#include "posenc/error.hpp"
#include "stream/tensor_called.hpp"

namespace posenc::detail {
namespace {

// Takes the values of one tensor into memory.
class MemoryWriter final : public Writer {
 public:
  MemoryWriter(std::byte* out, std::size_t size) : out_(out), size_(static_cast<std::int64_t>(size)) {}
  std::int64_t granule(std::size_t) const override { return 1; }
  void write(std::size_t, std::int64_t first, std::span<const std::byte> bytes) override {
    std::memcpy(out_ + first * size_, bytes.data(), bytes.size());
  }
  void finish() override {}

 private:
  std::byte* out_;
  std::int64_t size_;
};

}  // namespace

std::vector<std::size_t> shape_of(const Encoding& encoding, std::string_view tensor, Kind kind) {
  encoding.check();
  const std::vector<Tensor> tensors = encoding.tensors();
  const Tensor& t = tensors[tensor_called(tensors, tensor)];
  if (t.kind != kind)
    fail_usage(fmt::format("tensor {} holds {} values; ask for an element type of that kind", t.name,
                           t.kind == Kind::real ? "real" : (t.kind == Kind::integer ? "integer" : "complex")));
  std::vector<std::size_t> shape;
  for (const Axis& axis : t.axes) shape.push_back(static_cast<std::size_t>(axis.size));
  if (kind == Kind::complex) shape.pop_back();
  return shape;
}

void generate_into(const Encoding& encoding, std::string_view tensor, DType dtype, std::byte* out, const PipelineOptions& options) {
  Spec spec;
  spec.tables.push_back({"", std::shared_ptr<const Encoding>(encoding.clone())});
  (info(dtype).integer ? spec.index_dtype : spec.dtype) = dtype;
  const std::vector<Tensor> tensors = encoding.tensors();
  spec.only = {tensors[tensor_called(tensors, tensor)].name};
  const std::vector<PlannedTensor> planned = plan(spec, ComplexForm::pair);
  MemoryWriter writer(out, size_of(dtype));
  const Target target{&writer, planned};
  posenc::generate(spec, std::span<const Target>(&target, 1), options);
}

}  // namespace posenc::detail
