// A spec: which encodings with which parameters, and how they are stored. The unit of provenance; its JSON text is what a
// file carries, what --spec reads and what --print-spec prints.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "posenc/dtype.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

/// One encoding of a spec. `name` tells layer types apart ("full_attention"); "" when there is one table only.
struct Table {
  std::string name;
  std::shared_ptr<const Encoding> encoding;
};

struct Spec {
  std::vector<Table> tables;
  DType dtype = DType::f32;        ///< of real tensors
  DType index_dtype = DType::i64;  ///< of integer tensors
  Arithmetic arithmetic = Arithmetic::exact;
  std::vector<std::string> only;             ///< tensors to keep; empty: all
  std::map<std::string, std::string> names;  ///< tensor -> name in the file, where a preset renames

  /// Rules across all of it; throws usage.
  void check() const;
  /// Shortest JSON that reads back to the same spec; the same spec gives the same text.
  [[nodiscard]] std::string json(int indent = -1) const;
  /// `what` names the source in messages. Throws bad_input (not JSON, wrong shape) or usage (values).
  static Spec parse(std::string_view json_text, std::string_view what);
};

/// Sets parameters in whatever order makes them valid: one that exists only under a choice waits for the choice. Throws
/// usage for a parameter that stays unknown, naming the choice that it belongs to.
void apply(Encoding& encoding, std::vector<std::pair<std::string, std::string>> settings);

}  // namespace posenc
