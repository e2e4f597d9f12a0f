// What lengthening changes in a model's checkpoint, architecture by architecture: tensors with their rows, keys of the config,
// buffers. Rows are expressions over the config, so that the same line tells the rows before and after.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace posenc {

/// What a tensor of positions is, which decides how it becomes longer.
enum class TensorKind : std::uint8_t {
  learned,      ///< trained rows: resampled
  sinusoid,     ///< stored values of a formula: computed again, never interpolated
  relative,     ///< a table of distances or offsets: resampled around its centre
  buckets,      ///< a table of buckets: stays as it is, or is bucketed again
  frequencies,  ///< an inv_freq buffer: computed again
};
[[nodiscard]] std::string_view name_of(TensorKind kind);

/// One tensor, or several of one form.
struct PositionTensor {
  std::string_view name;  ///< what follows an optional model prefix; * is any one part, {a,b} either
  TensorKind kind = TensorKind::learned;
  std::string_view rows = "";     ///< expression: size of the axis; "" where no config tells it
  std::string_view offset = "0";  ///< expression: rows in front that are no position; they are copied
  std::string_view suffix = "0";  ///< expression: rows behind that are no position
  int axis = 0;                   ///< axis that grows; the next one too where `square`
  bool square = false;
  std::string_view when = "";  ///< "key=a|b": only where the config says one of these; "" always
};

struct Architecture {
  std::string_view name;                   ///< of the row, usually its best known model_type
  std::vector<PositionTensor> tensors{};   ///< empty: nothing stored
  std::vector<std::string_view> keys{};    ///< keys of config.json that lengthening changes or must look at
  std::vector<std::string_view> buffers{}; ///< tensors that follow the length: recomputed or dropped
  std::string_view note = "";
  bool verified = false;  ///< read in the model's source; else as generally known
};

[[nodiscard]] std::span<const Architecture> architectures();
/// Null for a model_type that is not in the list.
[[nodiscard]] const Architecture* architecture_of(std::string_view model_type);

/// A tensor's numbers for one config; absent where the config does not tell.
struct TensorRows {
  PositionTensor tensor;
  std::optional<std::int64_t> rows, offset, suffix;
  /// Rows that are positions.
  [[nodiscard]] std::optional<std::int64_t> usable() const {
    if (!rows || !offset || !suffix || *rows < *offset + *suffix) return std::nullopt;
    return *rows - *offset - *suffix;
  }
};
/// The architecture of one part of a config: the text model, or a tower beside it.
struct ConfigArchitecture {
  std::string part;  ///< "" the whole file, "text_config", "vision_config"
  std::string model_type;
  const Architecture* architecture;
  std::vector<TensorRows> tensors;  ///< those whose condition holds
};
/// Every part whose model_type is in the list. Throws bad_input as read_config does.
[[nodiscard]] std::vector<ConfigArchitecture> architectures_in(std::string_view json_text, std::string_view name);

}  // namespace posenc
