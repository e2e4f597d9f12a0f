#include "array_argument.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include "posenc/array.hpp"
#include "posenc/error.hpp"
#include "posenc/formats.hpp"
#include "posenc/pipeline.hpp"
#include "posenc/positions.hpp"
#include "posenc/text.hpp"

namespace posenc::cli {
namespace {

bool names_a_file(const std::string& path) {
  for (const formats::FormatTraits& format : formats::formats())
    for (const std::string_view suffix : format.suffixes)
      if (path.ends_with(suffix)) return true;
  return false;
}

// FILE and TENSOR of FILE#TENSOR: cut at the first '#' that leaves the name of a file, for names of arrays may have one too;
// a name with '#' in it that is a file stays whole. HDF5 users write /group/name.
std::pair<std::string, std::string> split_name(const std::string& text, bool any_suffix) {
  struct stat status {};
  if (::stat(text.c_str(), &status) == 0) return {text, ""};
  std::size_t cut = std::string::npos;
  for (std::size_t hash = text.find('#'); hash != std::string::npos; hash = text.find('#', hash + 1)) {
    const std::string path = text.substr(0, hash);
    if (!any_suffix && !names_a_file(path)) continue;
    cut = hash;
    if (::stat(path.c_str(), &status) == 0) break;
  }
  if (cut == std::string::npos) return {text, ""};
  return {text.substr(0, cut), text.substr(text[std::min(cut + 1, text.size() - 1)] == '/' ? cut + 2 : cut + 1)};
}

ArrayInFile pick(const std::string& path, const std::string& tensor, const std::string& what) {
  ArrayInFile found{formats::open(path), 0, path};
  const auto& tensors = found.reader->tensors();
  std::vector<std::string> names;
  found.tensor = tensors.size();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    names.push_back(tensors[i].name);
    if (tensor.empty() ? tensors.size() == 1 : tensors[i].name == tensor) found.tensor = i;
  }
  if (found.tensor == tensors.size())
    fail_usage(tensor.empty() ? fmt::format("{}: {} has {} arrays; say which: {}#NAME with {}", what, path, tensors.size(), path, one_of(names))
                              : fmt::format("{}: {} has no array '{}'; it has {}", what, path, tensor, one_of(names)));
  return found;
}

Array load(const ArrayInFile& file, const std::string& field) {
  const StoredTensor& t = file.reader->tensors()[file.tensor];
  if (t.is_complex) fail_usage(fmt::format("{} wants real numbers; {} in {} is complex", field, t.name, file.path));
  if (t.shape.empty()) fail_usage(fmt::format("{} wants an array; {} in {} is a single number", field, t.name, file.path));
  constexpr std::int64_t most = std::int64_t{1} << 28;
  if (t.values() > most) fail_usage(fmt::format("{} takes up to {} numbers from a file; {} has {}", field, most, file.path, t.values()));
  std::vector<std::byte> bytes(static_cast<std::size_t>(t.bytes()));
  file.reader->read(file.tensor, 0, bytes);
  Array array{t.shape, {}};
  const std::size_t size = size_of(t.dtype);
  for (std::int64_t i = 0; i < t.values(); ++i) array.values.push_back(stored_value(t.dtype, bytes.data() + static_cast<std::size_t>(i) * size));
  return array;
}

class LoneReader final : public Reader {
 public:
  explicit LoneReader(const ArrayInFile& array) : inner_(array.reader), tensor_(array.tensor), tensors_{array.reader->tensors()[array.tensor]} {}
  const std::vector<StoredTensor>& tensors() const override { return tensors_; }
  const std::map<std::string, std::string>& metadata() const override { return inner_->metadata(); }
  void read(std::size_t, std::int64_t first, std::span<std::byte> out) const override { inner_->read(tensor_, first, out); }
  std::string_view format() const override { return inner_->format(); }

 private:
  std::shared_ptr<const Reader> inner_;
  std::size_t tensor_;
  std::vector<StoredTensor> tensors_;
};

}  // namespace

std::pair<std::string, std::string> file_and_tensor(const std::string& text) { return split_name(text, true); }

std::unique_ptr<Reader> alone(const ArrayInFile& array) { return std::make_unique<LoneReader>(array); }

ArrayInFile open_array(const std::string& text, const std::string& what) {
  const auto [path, tensor] = split_name(text, true);
  return pick(path, tensor, what);
}

std::string array_text(const std::string& text, const std::string& field, const std::string& type) {
  const bool marked = text.starts_with('@');
  const auto [path, tensor] = split_name(marked ? text.substr(1) : text, marked);
  if (!marked && !names_a_file(path)) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && path.find_first_not_of("0123456789") != std::string::npos)
      fail_usage(fmt::format("{}: {} is a file, but not called like one that posenc reads arrays from; say @{} to read it all the same", field, path, path));
    return text;
  }
  const Array array = load(pick(path, tensor, field), field);
  if (array.values.empty() && type != "positions") fail_usage(fmt::format("{} wants numbers; the array in {} has none", field, path));
  if (type == "array") return array.text();
  if (array.shape.size() != 1)
    fail_usage(fmt::format("{} wants a one-dimensional array of numbers; the one in {} has {} axes", field, path, array.shape.size()));
  return type == "positions" ? Positions::list(array.values).text() : print(std::span<const double>(array.values));
}

}  // namespace posenc::cli
