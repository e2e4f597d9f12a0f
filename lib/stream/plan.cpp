#include "posenc/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "posenc/error.hpp"
#include "posenc/text.hpp"

namespace posenc {
namespace {

StoredTensor stored_form(const Tensor& tensor, const std::string& name, DType dtype, bool fold_complex) {
  StoredTensor out;
  out.name = name;
  out.dtype = dtype;
  out.help = tensor.help;
  for (const Axis& axis : tensor.axes) {
    out.shape.push_back(axis.size);
    out.axis_names.push_back(axis.name);
  }
  if (fold_complex) {
    out.shape.pop_back();
    out.axis_names.pop_back();
  }
  return out;
}

}  // namespace

std::vector<PlannedTensor> plan(const Spec& spec, ComplexForm complex_form) {
  spec.check();
  std::vector<PlannedTensor> out;
  std::vector<std::string> all;
  std::set<std::string> used;
  for (std::size_t t = 0; t < spec.tables.size(); ++t) {
    const Table& table = spec.tables[t];
    const std::vector<Tensor> tensors = table.encoding->tensors();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& tensor = tensors[i];
      const std::string own = table.name.empty() ? tensor.name : table.name + "." + tensor.name;
      all.push_back(own);
      // A table's name or a tensor's own name selects too: --tensor cos keeps every layer type's.
      const bool keep = spec.only.empty() || std::any_of(spec.only.begin(), spec.only.end(), [&](const std::string& wanted) {
        const bool match = wanted == own || wanted == tensor.name || (!table.name.empty() && wanted == table.name);
        if (match) used.insert(wanted);
        return match;
      });
      if (!keep) continue;
      const auto renamed = spec.names.find(tensor.name);
      const std::string base = renamed == spec.names.end() ? tensor.name : renamed->second;
      const std::string name = table.name.empty() ? base : table.name + "." + base;
      const DType dtype = tensor.kind == Kind::integer ? spec.index_dtype : spec.dtype;
      PlannedTensor planned{t, i, -1, tensor, {}};
      if (tensor.kind != Kind::complex || complex_form == ComplexForm::pair) {
        planned.stored = stored_form(tensor, name, dtype, false);
        out.push_back(planned);
      } else if (complex_form == ComplexForm::native) {
        if (dtype != DType::f32 && dtype != DType::f64)
          fail_usage(fmt::format("{} is complex and {} has no complex form; use dtype f32 or f64, or --complex split or pair", name, name_of(dtype)));
        planned.stored = stored_form(tensor, name, dtype, true);
        planned.stored.is_complex = true;
        out.push_back(planned);
      } else {
        for (int part : {0, 1}) {
          planned.part = part;
          planned.stored = stored_form(tensor, name + (part == 0 ? ".real" : ".imag"), dtype, true);
          out.push_back(planned);
        }
      }
    }
  }
  for (const std::string& wanted : spec.only)
    if (!used.contains(wanted))
      fail_usage(fmt::format("there is no tensor {} here; there {} {}{}", quoted_word(wanted), all.size() == 1 ? "is" : "are", one_of(all), did_you_mean(wanted, all)));
  std::set<std::string> names;
  for (const PlannedTensor& planned : out) {
    (void)planned.stored.bytes();  // refuses sizes beyond 63 bits
    if (!names.insert(planned.stored.name).second) fail_usage(fmt::format("two tensors would be called '{}'", planned.stored.name));
  }
  return out;
}

std::map<std::string, std::string> provenance(const Spec& spec) {
  std::string text = spec.json();
  constexpr std::size_t most = std::size_t{32} << 20;  // readers of metadata stop not far above
  if (text.size() > most)
    fail_usage(fmt::format("the arrays among the parameters make a spec of {}; files carry up to {} of it", human_bytes(text.size()), human_bytes(most)));
  return {{std::string(spec_key), std::move(text)}, {std::string(version_key), std::string(version())}};
}

std::string_view version() { return POSENC_VERSION; }

}  // namespace posenc
