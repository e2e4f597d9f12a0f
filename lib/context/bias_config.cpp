// Biases on attention scores: ALiBi, T5's buckets, DeBERTa, BEiT and Swin windows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "context/readers.hpp"

namespace posenc::config {
namespace {

constexpr std::string_view key_index =
    "the bias is slope times the key's index, which differs from slope times distance by one number a row";

// Bidirectional attention gives half of the buckets to either side, and half of those to exact distances.
void check_buckets(const Lookup& model, const Given<std::int64_t>& buckets, const Given<std::int64_t>& farthest) {
  const std::int64_t least = 4;
  if (buckets.value < least || buckets.value % 2 != 0)
    model.fail(
        fmt::format("{} is {}; buckets go to two sides: write an even number from {}", buckets.origin, buckets.value, least));
  if (farthest.value <= buckets.value / 2)
    model.fail(fmt::format("{} is {}, which leaves nothing to the logarithmic part of {} {}; make it larger than {}",
                           farthest.origin, farthest.value, buckets.origin, buckets.value, buckets.value / 2));
}

std::vector<Reading> t5(const Lookup& model, const ModelClass& known) {
  const auto heads = model.need_count(head_keys, lanes);
  const auto buckets = model.need_count({"relative_attention_num_buckets"}, lanes);
  const auto farthest = model.need_count({"relative_attention_max_distance"}, positions);
  check_buckets(model, buckets, farthest);
  std::vector<Reading> readings;
  for (const bool encoder : {true, false}) {
    Reading reading;
    reading.layer_type = encoder ? "encoder" : "decoder";
    reading.encoding = "t5";
    put(reading, "bidirectional", encoder, "class of " + std::string(known.model_type));
    put(reading, "num_buckets", buckets.value, buckets.origin);
    put(reading, "max_distance", farthest.value, farthest.origin);
    put_fact(reading, "heads", heads.value, heads.origin);
    put_fact(reading, "table_rows", buckets.value, buckets.origin);
    put_fact(reading, "shared_by_layers", known.model_type != "umt5", "class of " + std::string(known.model_type));
    put_fact(reading, "score_scale", 1.0, "class of " + std::string(known.model_type));
    put_context(reading, model);
    reading.notes.push_back("the context is a training length, not a limit");
    readings.push_back(std::move(reading));
  }
  readings.emplace_back();
  readings.back().layer_type = "cross_attention";
  readings.back().encoding = "none";
  return readings;
}

// "p2c|c2p" or a list.
Given<std::vector<std::string>> attention_types(const Lookup& model) {
  Given<std::vector<std::string>> types{{}, "no pos_att_type"};
  const auto found = model.find({"pos_att_type"});
  if (!found) return types;
  types.origin = found->origin;
  const auto add = [&](std::string_view word) {
    if (word != "p2c" && word != "c2p") model.fail(fmt::format("{} names {}; use p2c and c2p", found->origin, in_quotes(word)));
    types.value.emplace_back(word);
  };
  if (found->value->is_string()) {
    std::string_view text = found->value->get_ref<const std::string&>();
    while (!text.empty()) {
      const std::size_t bar = text.find('|');
      add(text.substr(0, bar));
      text = bar == std::string_view::npos ? "" : text.substr(bar + 1);
    }
  } else if (found->value->is_array()) {
    for (const Json& item : *found->value) {
      if (!item.is_string()) model.fail(fmt::format("{} holds {}; use p2c and c2p", found->origin, shown(item)));
      add(item.get_ref<const std::string&>());
    }
  } else {
    model.fail(fmt::format("{} is {}; write \"p2c|c2p\" or a list", found->origin, shown(*found->value)));
  }
  if (types.value.size() > 2) model.fail(fmt::format("{} names a kind twice; use p2c and c2p once each", found->origin));
  return types;
}

std::vector<Reading> deberta(const Lookup& model) {
  constexpr Limits or_minus_one{-1, positions.max};
  Reading reading;
  reading.encoding = "deberta";
  const auto relative = model.flag({"relative_attention"});
  if (!relative || !relative->value)
    model.fail("relative_attention is not true, so the model has no relative positions to read; check model_type");
  const auto width = model.need_count(hidden_keys, lanes);
  const auto heads = model.need_count(head_keys, lanes);
  const auto per_head = width_per_head(model);
  const auto length = model.need_count({"max_position_embeddings"}, positions);
  auto farthest = model.need_count({"max_relative_positions"}, or_minus_one);
  if (farthest.value < 1) farthest = length;
  const auto buckets = model.need_count({"position_buckets"}, or_minus_one);
  const Given<std::int64_t> span = buckets.value > 0 ? buckets : farthest;
  const auto types = attention_types(model);
  if (buckets.value > 0) put(reading, "position_buckets", buckets.value, buckets.origin);
  put(reading, "max_relative_positions", farthest.value, farthest.origin);
  // Both parts of a model that has both; one index is one table, and c2p is the one to start with.
  const auto has = [&](std::string_view type) { return std::find(types.value.begin(), types.value.end(), type) != types.value.end(); };
  put(reading, "part", has("c2p") ? "c2p" : has("p2c") ? "p2c" : "relative", types.origin);
  if (has("c2p") && has("p2c")) reading.notes.push_back("position to content has an index of its own: --part p2c");
  put_fact(reading, "att_span", span.value, span.origin);
  put_fact(reading, "table_rows", 2 * span.value, "2 * " + span.origin);
  put_fact(reading, "width", width.value, width.origin);
  std::string list;
  for (const std::string& type : types.value) list += (list.empty() ? "" : ",") + type;
  put_fact(reading, "pos_att_type", std::string_view(list), types.origin);
  const auto shared = model.flag({"share_att_key"});
  put_fact(reading, "share_att_key", shared && shared->value, shared ? shared->origin : "share_att_key is null");
  const auto norm = model.word({"norm_rel_ebd"});
  put_fact(reading, "norm_rel_ebd", std::string_view(norm ? norm->value.substr(0, 64) : "none"),
      norm ? norm->origin : "no norm_rel_ebd");
  put_fact(reading, "heads", heads.value, heads.origin);
  put_fact(reading, "head_dim", per_head.value, per_head.origin);
  // He et al. 2021 eq. 4: scores of 1 + c2p + p2c terms are divided by the root of their number times the width.
  put_fact(reading, "score_divisor", std::sqrt(static_cast<double>(per_head.value) * static_cast<double>(1 + types.value.size())),
      "sqrt(head_dim * (1 + kinds in pos_att_type))");
  const auto absolute = model.flag({"position_biased_input"});
  put_fact(reading, "absolute_positions", !absolute || absolute->value, absolute ? absolute->origin : "position_biased_input is null");
  reading.context = length.value;
  reading.context_origin = length.origin;
  return {reading};
}

void put_window(Reading& reading, std::int64_t side, std::string_view origin) {
  put(reading, "window_height", side, origin);
  put(reading, "window_width", side, origin);
}

std::vector<Reading> swin(const Lookup& model) {
  const auto width = model.need_count({"image_size"}, lanes);
  const auto patch = model.need_count({"patch_size"}, lanes);
  const auto window = model.need_count({"window_size"}, lanes);
  const auto depths = model.counts({"depths"}, layer_counts), heads = model.counts({"num_heads"}, lanes);
  if (!depths || !heads || depths->value.size() != heads->value.size() || depths->value.empty() || depths->value.size() > 16)
    model.fail("depths and num_heads must be lists of equal length, one number a stage; correct them");
  std::vector<Reading> readings;
  std::int64_t resolution = width.value / patch.value;
  for (std::size_t stage = 0; stage < depths->value.size(); ++stage, resolution /= 2) {
    if (resolution < 1)
      model.fail(fmt::format("{} {} is smaller than {} {}; correct one", width.origin, width.value, patch.origin, patch.value));
    const std::int64_t side = window.value;
    Reading reading;
    reading.layer_type = fmt::format("stage_{}", stage);
    reading.encoding = "swin";
    put_window(reading, side, window.origin);
    put_fact(reading, "table_rows", (2 * side - 1) * (2 * side - 1), "(2 * window - 1)^2");
    put_fact(reading, "heads", heads->value[stage], heads->origin);
    put_fact(reading, "layers", depths->value[stage], depths->origin);
    put_fact(reading, "resolution", resolution, fmt::format("{} / {}, halved a stage", width.origin, patch.origin));
    readings.push_back(std::move(reading));
  }
  return readings;
}

std::vector<Reading> beit(const Lookup& model, const ModelClass& known) {
  const auto width = model.need_count({"image_size"}, lanes);
  const auto patch = model.need_count({"patch_size"}, lanes);
  const std::int64_t side = width.value / patch.value;
  if (side < 1)
    model.fail(fmt::format("{} {} is smaller than {} {}; correct one", width.origin, width.value, patch.origin, patch.value));
  const bool shared = model.flag_or({"use_shared_relative_position_bias"}, false);
  const bool each = model.flag_or({"use_relative_position_bias"}, false);
  if (!shared && !each)
    model.fail(
        "neither use_relative_position_bias nor use_shared_relative_position_bias is true, so there is no bias to read; check "
        "them");
  const auto heads = model.need_count(head_keys, lanes);
  Reading reading;
  reading.encoding = "beit";
  put_window(reading, side, fmt::format("{} / {}", width.origin, patch.origin));
  put_fact(reading, "table_rows", (2 * side - 1) * (2 * side - 1) + 3, "(2 * window - 1)^2 + 3");
  put_fact(reading, "heads", heads.value, heads.origin);
  put_fact(reading, "shared_by_layers", shared, "use_shared_relative_position_bias");
  reading.context = side * side + known.extra_tokens;
  reading.context_origin = "patches + class token";
  if (model.flag_or({"use_absolute_position_embeddings"}, false))
    reading.notes.push_back("the model also has a learned table (use_absolute_position_embeddings)");
  return {reading};
}

}  // namespace

std::vector<Reading> read_alibi(const Lookup& model, const ModelClass& known) {
  Reading reading;
  reading.encoding = "alibi";
  const auto heads = model.need_count(head_keys, lanes);
  put(reading, "num_heads", heads.value, heads.origin);
  Given<double> farthest{8.0, "class of " + std::string(known.model_type)};
  switch (known.family) {
    case Family::falcon:
      reading.arithmetic = "bfloat16";
      reading.notes.emplace_back(key_index);
      reading.notes.emplace_back("slopes and products are rounded to bfloat16, whatever the dtype of the model");
      reading.notes.emplace_back("the bias is added before the scores are divided by sqrt(head_dim)");
      break;
    case Family::bloom:
      reading.notes.emplace_back(key_index);
      break;
    case Family::mpt: {
      const std::vector<Place> inner = model.objects("attn_config");
      if (!inner.empty())
        if (const auto given = model.at(inner).real({"alibi_bias_max"}, factors)) farthest = *given;
      reading.notes.emplace_back("the bias is slope times (key - last key)");
      break;
    }
    default:
      reading.notes.emplace_back("the bias is slope times (key - query)");
  }
  put(reading, "alibi_bias_max", farthest.value, farthest.origin);
  if (model.innermost().find(hidden_keys)) {
    const auto width = width_per_head(model);
    reading.notes.push_back(fmt::format("head_dim {} ({})", width.value, width.origin));
  }
  put_context(reading, model);
  return {reading};
}

std::vector<Reading> read_bias(const Lookup& model, const ModelClass& known) {
  switch (known.family) {
    case Family::t5:
      return t5(model, known);
    case Family::deberta:
      return deberta(model);
    case Family::swin:
      return swin(model);
    default:
      return beit(model, known);
  }
}

}  // namespace posenc::config
