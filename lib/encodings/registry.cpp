// The list of encodings, from list.inc.
#include <vector>

#include "posenc/encoding.hpp"
#include "posenc/error.hpp"
#include "posenc/text.hpp"

namespace posenc {
namespace detail {
#define POSENC_ENCODING(function, Type) EncodingEntry entry_##function();
#include "encodings/list.inc"
#undef POSENC_ENCODING
}  // namespace detail

std::span<const EncodingEntry> encodings() {
  static const std::vector<EncodingEntry> list{
#define POSENC_ENCODING(function, Type) detail::entry_##function(),
#include "encodings/list.inc"
#undef POSENC_ENCODING
  };
  return list;
}

std::unique_ptr<Encoding> make_encoding(std::string_view name) {
  std::vector<std::string> names;
  for (const EncodingEntry& entry : encodings()) {
    if (entry.name == name) return entry.make();
    names.emplace_back(entry.name);
  }
  fail_usage("there is no encoding " + quoted_word(name) + did_you_mean(name, names) + " ('posenc list' shows them all)");
}

}  // namespace posenc
