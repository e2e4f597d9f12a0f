#include "stacking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "posenc/error.hpp"

namespace posenc::cli {
namespace {

class StackedWriter final : public Writer {
 public:
  StackedWriter(Writer& inner, std::int64_t values) : inner_(inner), values_(values) {}
  std::int64_t granule(std::size_t) const override { return inner_.granule(0); }
  void write(std::size_t tensor, std::int64_t first, std::span<const std::byte> bytes) override {
    inner_.write(0, static_cast<std::int64_t>(tensor) * values_ + first, bytes);
  }
  void finish() override {}

 private:
  Writer& inner_;
  std::int64_t values_;
};

class UnstackedReader final : public Reader {
 public:
  UnstackedReader(std::unique_ptr<Reader> inner, std::vector<StoredTensor> tensors) : inner_(std::move(inner)), tensors_(std::move(tensors)) {}
  const std::vector<StoredTensor>& tensors() const override { return tensors_; }
  const std::map<std::string, std::string>& metadata() const override { return inner_->metadata(); }
  void read(std::size_t tensor, std::int64_t first, std::span<std::byte> out) const override {
    inner_->read(0, static_cast<std::int64_t>(tensor) * tensors_[0].values() + first, out);
  }
  std::string_view format() const override { return inner_->format(); }

 private:
  std::unique_ptr<Reader> inner_;
  std::vector<StoredTensor> tensors_;
};

}  // namespace

std::string full_name(const Spec& spec, const PlannedTensor& tensor) {
  const std::string& table = spec.tables[tensor.table].name;
  return table.empty() ? tensor.source.name : table + "." + tensor.source.name;
}

std::string stack_names(const std::vector<PlannedTensor>& tensors) {
  std::string names;
  for (const PlannedTensor& t : tensors) names += (names.empty() ? "" : " ") + t.stored.name;
  return names;
}

namespace {

StoredTensor stacked_form(const std::vector<PlannedTensor>& tensors) {
  StoredTensor form = tensors.front().stored;
  for (const PlannedTensor& t : tensors)
    if (t.stored.shape != form.shape || t.stored.dtype != form.dtype || t.stored.is_complex != form.is_complex)
      fail_usage(fmt::format("--stack wants tensors of one shape; {} and {} differ", form.name, t.stored.name));
  form.name = "stack";
  form.help = "stacked along the first axis: " + stack_names(tensors);
  form.shape.insert(form.shape.begin(), static_cast<std::int64_t>(tensors.size()));
  form.axis_names.insert(form.axis_names.begin(), "tensor");
  return form;
}

}  // namespace

void plan_stack(FilePlan& plan, const std::vector<PlannedTensor>& tensors) {
  plan.tensors = {stacked_form(tensors)};
  // Tensors are written one by one, so that no chunk may hold values of two.
  plan.chunking.chunk_bytes = std::max<std::int64_t>(1, std::min(plan.chunking.chunk_bytes, tensors.front().stored.bytes()));
}

std::unique_ptr<Writer> stacked_writer(Writer& inner, const std::vector<PlannedTensor>& tensors) {
  return std::make_unique<StackedWriter>(inner, tensors.front().stored.values());
}

std::unique_ptr<Reader> unstacked_reader(std::unique_ptr<Reader> inner, const std::string& names, const std::string& path) {
  std::vector<StoredTensor> tensors;
  std::istringstream words(names);
  for (std::string name; words >> name;) {
    if (inner->tensors().size() != 1 || inner->tensors()[0].shape.empty()) break;
    StoredTensor t = inner->tensors()[0];
    t.name = name;
    t.shape.erase(t.shape.begin());
    if (!t.axis_names.empty()) t.axis_names.erase(t.axis_names.begin());
    tensors.push_back(std::move(t));
  }
  if (tensors.empty() || inner->tensors()[0].shape[0] != static_cast<std::int64_t>(tensors.size()))
    fail_input(fmt::format("{}: its stack names '{}' do not fit its shape", path, names));
  return std::make_unique<UnstackedReader>(std::move(inner), std::move(tensors));
}

}  // namespace posenc::cli
