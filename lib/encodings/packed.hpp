// packed: ids of documents packed into one sequence, each counting from its own start (packing without contamination: Krell et al.
// 2021, arXiv:2107.02027, section 3.2; seqio's trim_and_pack_dataset; Hugging Face's DataCollatorWithFlattening).
//
//   part position-ids   start, start + 1, .. in each document
//   part segment-ids    number of the document, from 1; padding 0 (seqio, T5X, MaxText)
//   part cu-seqlens     0, and where each document ends; padding is one document more (FlashAttention's variable lengths)
// total pads the sequence at its end.
#pragma once
#include <memory>
#include <optional>

#include "posenc/encoding.hpp"

namespace posenc {

enum class PackedPart : std::uint8_t { position_ids, segment_ids, cu_seqlens };
template <>
struct EnumNames<PackedPart> {
  static constexpr std::array<EnumName<PackedPart>, 3> values{{
      {PackedPart::position_ids, "position-ids", "position_ids [position], restarting at each document"},
      {PackedPart::segment_ids, "segment-ids", "segment_ids [position]: the document, from 1; padding 0"},
      {PackedPart::cu_seqlens, "cu-seqlens", "cu_seqlens [boundary]: lengths summed up from 0; padding is one more document"},
  }};
};

enum class PackedPadding : std::uint8_t { constant, restart, proceed };
template <>
struct EnumNames<PackedPadding> {
  static constexpr std::array<EnumName<PackedPadding>, 3> values{{
      {PackedPadding::constant, "constant", "padding has the id padding_id: seqio, T5X, MaxText (0)"},
      {PackedPadding::restart, "restart", "padding counts from start, as a document of its own"},
      {PackedPadding::proceed, "continue", "padding counts on from the last document"},
  }};
};

struct Packed {
  static constexpr std::string_view name = "packed";
  static constexpr std::string_view summary = "position ids of packed documents, restarting at each";
  static constexpr std::string_view source = "Krell et al. 2021, arXiv:2107.02027, section 3.2";

  PackedPart output = PackedPart::position_ids;
  std::vector<double> lengths{2048};
  std::optional<std::int64_t> total{};
  PackedPadding padding = PackedPadding::constant;
  std::int64_t padding_id = 0;
  std::int64_t start = 0;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "part", .metavar = "NAME", .help = "which tensor"}, s.output);
    v(Field{.name = "lengths", .metavar = "LIST", .help = "lengths of the documents, in order", .unit = "positions", .range = between(1, 0x1p40)}, s.lengths);
    v(Field{.name = "total", .metavar = "N", .help = "length with padding; absent: no padding", .unit = "positions", .range = between(1, 0x1p53), .count = true},
      s.total);
    v(Field{.name = "padding", .metavar = "NAME", .help = "part position-ids: ids of the padding"}, s.padding);
    v(Field{.name = "padding_id", .metavar = "N", .help = "id of every padding, with padding constant", .range = between(-0x1p53, 0x1p53)}, s.padding_id);
    v(Field{.name = "start", .metavar = "N", .help = "first id of each document", .range = between(-0x1p52, 0x1p52), .source = "0; RoBERTa: padding_idx + 1"},
      s.start);
  }

  void check() const;
  /// `position_ids` [position], `segment_ids` [position] or `cu_seqlens` [boundary].
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  /// 0 and the ends of the documents.
  [[nodiscard]] std::vector<std::int64_t> ends() const;

  class Table;
  [[nodiscard]] Table table() const;
};

/// Computes a Packed's ids.
class Packed::Table {
 public:
  explicit Table(const Packed& spec) : spec_(spec), ends_(spec.ends()) {}
  [[nodiscard]] std::int64_t integer(std::size_t tensor, std::span<const std::int64_t> index) const;

 private:
  Packed spec_;
  std::vector<std::int64_t> ends_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Packed& encoding);

}  // namespace posenc
