// Rotary encodings of a config: widths, pairing and base of each kind of layer; the rule is read by rope_rule.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "context/layer_plan.hpp"
#include "context/readers.hpp"
#include "context/rope_block.hpp"
#include "context/rope_rule.hpp"
#include "encodings/mrope.hpp"
#include "posenc/error.hpp"

namespace posenc::config {
namespace {

class RopeReader {
 public:
  RopeReader(const Lookup& model, const ModelClass* known)
      : model_(model),
        known_(known),
        family_(known != nullptr ? known->family : Family::rope),
        blocks_(find_rope_blocks(model)) {}

  std::vector<Reading> read() {
    refuse_other_rules();
    std::vector<LayerGroup> groups = plan_layers(model_, known_);
    if (blocks_.nested()) groups = match_blocks(std::move(groups));
    std::int64_t total = 0;
    for (const LayerGroup& group : groups) total += static_cast<std::int64_t>(group.layers.size());
    std::vector<Reading> readings;
    for (const LayerGroup& group : groups) {
      Reading reading;
      reading.layer_type = groups.size() > 1 ? group.type : "";
      if (groups.size() > 1) {
        reading.layers = group.layers;
        if (!group.layers.empty()) reading.notes.push_back(describe_layers(group.layers, total));
      }
      if (rotates(group.type))
        rope(reading, group.type);
      else
        still(reading, group.type);
      readings.push_back(std::move(reading));
    }
    if (std::none_of(readings.begin(), readings.end(), [](const Reading& r) { return r.encoding == "rope"; }))
      model_.fail("no kind of layer rotates; check layer_types and rope_parameters");
    return readings;
  }

 private:
  // Rules that only a model's own code knows and that would change the table without a word.
  void refuse_other_rules() const {
    if (const auto found = model_.find({"rotary_emb_scale_base"}))
      model_.fail(fmt::format("{} is {}: xPos, which is not read from configs; set it to null or give the parameters by hand",
                              found->origin, shown(*found->value)));
    if (const auto found = model_.flag({"position_encoding_2d"}); found && found->value)
      model_.fail(fmt::format(
          "{} is true: the two-axis rotation of the first ChatGLM is not read from configs; give the parameters by hand",
          found->origin));
  }

  // A block for every kind of layer that rotates, and no block for none.
  std::vector<LayerGroup> match_blocks(std::vector<LayerGroup> groups) const {
    const auto has_block = [&](std::string_view type) {
      return std::any_of(blocks_.per_layer.begin(), blocks_.per_layer.end(), [&](const auto& b) { return same_layer_type(b.first, type); });
    };
    const bool from_file = model_.has({"layer_types"});
    if (!from_file && std::none_of(groups.begin(), groups.end(), [&](const LayerGroup& g) { return has_block(g.type); })) {
      groups.clear();
      for (const auto& [type, place] : blocks_.per_layer)
        if (std::none_of(groups.begin(), groups.end(), [&, &t = type](const LayerGroup& g) { return g.type == t; }))
          groups.push_back({type, {}});
    }
    for (const LayerGroup& group : groups)
      if (!has_block(group.type) && rotates(group.type))
        model_.fail(fmt::format("{} has no block for the layer type {}; add it, or null when these layers do not rotate",
                                name_of(blocks_.per_layer.front().second), in_quotes(group.type)));
    for (const auto& [type, place] : blocks_.per_layer)
      if (std::none_of(groups.begin(), groups.end(), [&, &t = type](const LayerGroup& g) { return same_layer_type(g.type, t); }))
        model_.warn(fmt::format("{} is for layers that the model does not have", place.name()));
    return groups;
  }

  // "rope_parameters" of "rope_parameters.full_attention.".
  static std::string name_of(const Place& block) {
    const std::string whole = block.name();
    const std::size_t dot = whole.rfind('.');
    return dot == std::string::npos ? whole : whole.substr(0, dot);
  }

  bool rotates(std::string_view type) const {
    if (never_rotates(type) || type == "no_rope" || (known_ != nullptr && !type.empty() && type == known_->still)) return false;
    for (const auto& [name, place] : blocks_.per_layer)
      if (same_layer_type(name, type) && place.object == nullptr) return false;
    return true;
  }

  void still(Reading& reading, std::string_view type) {
    reading.encoding = "none";
    if (never_rotates(type)) return;
    put_context(reading, model_);
    if (known_ == nullptr || known_->model_type != "llama4_text") return;
    const auto tuned = model_.find({"attn_temperature_tuning"});  // a truth value; the first files say 4
    if (!tuned || !(tuned->value->is_boolean() || tuned->value->is_number())) return;
    const bool on = tuned->value->is_boolean() ? tuned->value->get<bool>() : tuned->value->get<double>() != 0;
    if (!on) return;
    const auto floor = model_.need_count({"floor_scale"}, positions);
    const auto strength = model_.real({"attn_scale"}, factors);
    if (!strength) model_.fail("attn_scale is null; give its number or set attn_temperature_tuning to false");
    reading.notes.push_back(
        fmt::format("attention temperature: the query is multiplied by 1 + {} * ln(1 + floor((position + 1) / {})) ({})",
                    plain(strength->value), floor.value, floor.origin));
  }

  // The dictionaries that apply to one kind of layer.
  Lookup block_of(std::string_view type) const {
    std::vector<Place> places;
    if (blocks_.nested()) {
      for (const auto& [name, place] : blocks_.per_layer)
        if (same_layer_type(name, type) && place.object != nullptr) places.push_back(place);
    } else if (known_ == nullptr || known_->scaled_only.empty() || type.empty() || known_->scaled_only == type) {
      places = blocks_.flat;
    }
    return model_.at(std::move(places)).explicit_only();
  }

  void rope(Reading& reading, std::string_view type) {
    reading.encoding = "rope";
    const Lookup block = block_of(type);
    const bool proportional = rope_rule(block).value == "proportional";
    const Given<std::int64_t> head = head_dim(reading, type);
    const Given<std::int64_t> rotary = rotary_dim(block, head, proportional);
    put(reading, "head_dim", head.value, head.origin);
    put(reading, "rotary_dim", rotary.value, rotary.origin);
    if (proportional) {  // Gemma-4: the exponent and the partner follow the whole head, the rest stands still
      put(reading, "frequency_denominator", head.value, "head_dim, by the proportional rule");
      put(reading, "pair_stride", head.value / 2, "head_dim / 2, by the proportional rule");
    } else {
      put(reading, "frequency_denominator", rotary.value, "rotary_dim");
      pair_stride(reading, rotary.value);
    }
    const Given<double> theta = base(reading, block, type);
    put(reading, "base", theta.value, theta.origin);
    if (family_ == Family::qwen)
      qwen_rule(reading);
    else if (family_ == Family::nomic)
      nomic_rule(reading);
    else
      read_rope_rule(reading, block, model_, known_, rotary);
    sections(reading, block, rotary.value);
    if (const auto window = model_.innermost().explicit_only().count({"sliding_window"}, positions);
        window && (type == "sliding_attention" || type == "local_attention"))
      reading.notes.push_back(
          fmt::format("attends within {} positions ({}); the table is not affected", window->value, window->origin));
  }

  Given<std::int64_t> head_dim(Reading& reading, std::string_view type) {
    const Lookup own = model_.innermost();
    if (family_ == Family::latent) return latent_head(reading, own);
    if (type == "full_attention")
      if (const auto global = own.count({"global_head_dim"}, lanes)) return *global;
    if (const auto stated = own.count({"head_dim", "kv_channels"}, lanes)) return *stated;
    return width_per_head(model_);
  }

  // DeepSeek: the rotated part of a head stands behind the part without position.
  Given<std::int64_t> latent_head(Reading& reading, const Lookup& own) {
    const auto rotated = own.need_count({"qk_rope_head_dim"}, lanes);
    const auto plain = own.need_count({"qk_nope_head_dim"}, lanes);
    const std::int64_t whole = rotated.value + plain.value;
    if (const auto stated = own.count({"qk_head_dim"}, lanes); stated && stated->value != whole)
      model_.fail(fmt::format("{} is {} but {} {} and {} {} make {}; correct one", stated->origin, stated->value, plain.origin,
                              plain.value, rotated.origin, rotated.value, whole));
    if (const auto stated = own.count({"head_dim"}, lanes)) {
      const auto value = own.count({"v_head_dim"}, lanes);
      if (stated->value != rotated.value && stated->value != whole && (!value || stated->value != value->value))
        model_.fail(fmt::format("{} is {}, neither {} {} nor the whole head {}; correct it", stated->origin, stated->value,
                                rotated.origin, rotated.value, whole));
    }
    reading.qk_head_dim = whole;
    reading.rotary_offset = plain.value;
    reading.notes.push_back(fmt::format("lanes {} to {} of each query and key head of {} turn", plain.value, whole - 1, whole));
    return rotated;
  }

  Given<std::int64_t> rotary_dim(const Lookup& block, const Given<std::int64_t>& head, bool proportional) const {
    // A block of one layer type speaks for itself; else the share may stand in the block or beside it.
    const bool inner = block.has({"partial_rotary_factor"});
    std::vector<Place> places = block.places();
    if (!blocks_.nested() || !inner) places.insert(places.end(), model_.places().begin(), model_.places().end());
    const Lookup wide = model_.at(std::move(places));
    const std::vector<std::string_view> share_keys{"partial_rotary_factor", "rotary_pct", "rotary_emb_fraction",
                                                   "rotary_percentage"};
    auto share = wide.explicit_only().real(share_keys, shares);
    auto count = wide.explicit_only().count({"rotary_dim"}, lanes);
    const bool null = wide.has(share_keys) || wide.has({"rotary_dim"});
    if (!share && !count && !null) {
      share = wide.real(share_keys, shares);
      if (!share) count = wide.count({"rotary_dim"}, lanes);
      if (family_ == Family::chatglm) share = Given<double>{0.5, "class of chatglm"};
    }
    Given<std::int64_t> rotary{head.value, head.origin == "head_dim" ? "head_dim" : "all of head_dim"};
    if (share) {
      const double product = static_cast<double>(head.value) * share->value;
      rotary.value = proportional ? 2 * static_cast<std::int64_t>(product / 2) : static_cast<std::int64_t>(product);
      rotary.origin = fmt::format("head_dim * {} ({})", plain(share->value), share->origin);
      if (count && count->value != rotary.value)
        model_.fail(fmt::format("{} is {} but head_dim {} times {} {} is {}; remove the wrong one", count->origin, count->value,
                                head.value, share->origin, plain(share->value), rotary.value));
    } else if (count) {
      rotary = *count;
    }
    if (rotary.value > head.value)
      model_.fail(fmt::format("{} is {}, larger than head_dim {} ({}); correct one", rotary.origin, rotary.value, head.value,
                              head.origin));
    if (rotary.value < 2 || rotary.value % 2 != 0)
      model_.fail(
          fmt::format("{} lanes turn ({}), but lanes turn in pairs; make it an even number from 2", rotary.value, rotary.origin));
    if (proportional && head.value % 2 != 0)
      model_.fail(fmt::format("{} is {}, but the proportional rule needs an even head_dim", head.origin, head.value));
    return rotary;
  }

  void pair_stride(Reading& reading, std::int64_t rotary) const {
    Pairs pairs = known_ != nullptr ? known_->pairs : Pairs::half;
    std::string origin = known_ != nullptr ? "class of " + std::string(known_->model_type) : "half-split, assumed";
    if (known_ == nullptr)
      model_.warn(fmt::format("model_type {} is not known: pairs are assumed half a head apart, as in Llama; check its code",
                              in_quotes(model_.owner())));
    if (family_ == Family::nomic) {
      const auto adjacent = model_.flag({"rotary_emb_interleaved"});
      if (!adjacent) model_.fail("rotary_emb_interleaved is null; write true or false");
      pairs = adjacent->value ? Pairs::adjacent : Pairs::half;
      origin = adjacent->origin;
    }
    if (family_ == Family::latent)
      if (const auto adjacent = model_.flag({"rope_interleave"})) {
        pairs = adjacent->value ? Pairs::adjacent : Pairs::half;
        origin = adjacent->origin;
      }
    put(reading, "pair_stride", pairs == Pairs::adjacent ? std::int64_t{1} : rotary / 2,
        pairs == Pairs::adjacent ? "adjacent pairs, " + origin : "half of rotary_dim, " + origin);
  }

  std::string_view base_key(std::string_view type) const {
    if (known_ == nullptr || known_->pattern.chosen.empty()) {
      return (type == "sliding_attention" || type == "local_attention") && model_.has({"rope_local_base_freq"})
                 ? "rope_local_base_freq"
                 : "rope_theta";
    }
    const EveryNth& p = known_->pattern;
    return type == p.others || (type == "sliding_attention" && p.others == "local_attention") ? p.others_base : p.chosen_base;
  }

  Given<double> base(Reading& reading, const Lookup& block, std::string_view type) const {
    if (family_ == Family::chatglm) return chatglm_base(reading);
    std::vector<Place> outer = model_.places();
    for (const Place& place : model_.objects("attn_config")) outer.push_back(place);
    const Lookup flat = model_.at(outer);
    const std::string_view key = base_key(type);
    const auto flat_base = [&](const Lookup& where) {
      return key == "rope_theta" ? where.real({"rope_theta", "rotary_emb_base"}, bases) : where.real({key}, bases);
    };
    const auto inner = block.real({"rope_theta"}, bases);
    if (!inner) {
      // Also where gemma-3 keeps the base of layers that rope_scaling does not reach.
      if (const auto found = flat_base(flat)) return *found;
      std::string looked = fmt::format("{}", key == "rope_theta" ? "rope_theta, rotary_emb_base" : key);
      for (const Place& place : block.places()) looked += fmt::format(", {}rope_theta", place.prefix);
      if (block.places().empty()) looked += ", rope_parameters.rope_theta";
      model_.fail(fmt::format("no rope base found under {}, and model_type {} has no known default; add rope_theta", looked,
                              in_quotes(model_.owner())));
    }
    const auto beside = flat_base(flat.explicit_only());
    if (beside && beside->value == inner->value) model_.agree(inner->origin, beside->origin);
    if (beside && beside->value != inner->value) {
      // Beside blocks per layer type one flat base may repeat that of another block.
      const bool repeats = std::any_of(blocks_.per_layer.begin(), blocks_.per_layer.end(), [&](const auto& b) {
        if (b.second.object == nullptr) return false;
        const auto theta = model_.at({b.second}).explicit_only().real({"rope_theta"}, bases);
        return theta && theta->value == beside->value;
      });
      if (!repeats || key != "rope_theta")
        model_.fail(fmt::format("{} is {} but {} is {}; remove the wrong one", inner->origin, plain(inner->value), beside->origin,
                                plain(beside->value)));
    }
    return *inner;
  }

  Given<double> chatglm_base(Reading& reading) const {
    const auto ratio = model_.real({"rope_ratio"}, factors);
    if (!ratio) model_.fail("rope_ratio is null; give its number");
    const double value = 10000.0 * ratio->value;
    if (!(value > bases.min && value <= bases.max))
      model_.fail(
          fmt::format("{} is {}, which makes a base of {}; correct it", ratio->origin, plain(ratio->value), plain(value)));
    reading.notes.push_back(fmt::format("rope_ratio {} ({})", plain(ratio->value), ratio->origin));
    return {value, fmt::format("10000 * rope_ratio ({})", ratio->origin)};
  }

  // First Qwen: above seq_length the base grows in powers of two; the query is scaled by a logarithm of its position.
  void qwen_rule(Reading& reading) const {
    const auto trained = model_.count({"seq_length"}, positions);
    const auto grows = model_.flag({"use_dynamic_ntk"});
    put_context(reading, model_);
    if (grows && grows->value) {
      const auto length = trained ? trained : model_.first_count(context_keys, positions);
      if (!length) model_.fail("use_dynamic_ntk needs the trained length; add seq_length");
      put(reading, "method", "dynamic", grows->origin);
      put(reading, "variant", "qwen", "class of qwen");
      put(reading, "max_position_embeddings", length->value, length->origin);
      reading.notes.push_back(fmt::format(
          "above {0} positions the base is multiplied by alpha^(d/(d-2)), alpha = max(2^ceil(log2(length/{0}) + 1) - 1, 1)",
          length->value));
    } else {
      put(reading, "method", "default", grows ? grows->origin : "no use_dynamic_ntk");
    }
    if (const auto logn = model_.flag({"use_logn_attn"}); logn && logn->value && trained)
      reading.notes.push_back(fmt::format("the query at position i is multiplied by log_{0}(i) for i > {0}, else by 1 ({1})",
                                          trained->value, logn->origin));
  }

  // Nomic: trained for max_trained_positions; n_positions is reached only with the dynamic rule.
  void nomic_rule(Reading& reading) const {
    const auto trained = model_.count({"max_trained_positions"}, positions);
    const auto rows = model_.count({"n_positions"}, positions);
    const auto factor = model_.real({"rotary_scaling_factor"}, factors);
    if (factor) {
      if (!trained) model_.fail(fmt::format("{} needs max_trained_positions; add it", factor->origin));
      put(reading, "method", "dynamic", factor->origin);
      put(reading, "factor", factor->value, factor->origin);
      put(reading, "max_position_embeddings", trained->value, trained->origin);
      if (rows) reading.context = rows->value, reading.context_origin = rows->origin;
      return;
    }
    put(reading, "method", "default", "no rotary_scaling_factor");
    const auto& length = trained ? trained : rows;
    if (length) reading.context = length->value, reading.context_origin = length->origin;
    if (trained && rows && rows->value != trained->value)
      reading.notes.push_back(
          fmt::format("n_positions {} holds only with rotary_scaling_factor set; trained for {}", rows->value, trained->value));
  }

  // Multimodal rotation: which position axis (time, height, width) each pair follows.
  void sections(Reading& reading, const Lookup& block, std::int64_t rotary) const {
    const auto given = block.counts({"mrope_section"}, {0, lanes.max});
    if (!given) return;
    const auto stated = block.flag({"mrope_interleaved"});
    const bool interleaved = stated ? stated->value : known_ != nullptr && known_->interleaved_mrope;
    const Mrope table{.head_dim = rotary,
                      .mrope_section = {given->value.begin(), given->value.end()},
                      .arrangement = interleaved ? MropeArrangement::interleaved : MropeArrangement::chunked};
    const auto refuse = [&](const std::string& why) {
      model_.fail(fmt::format("{}: {}; write three numbers (time, height, width) that make {} pairs", given->origin, why, rotary / 2));
    };
    if (given->value.empty()) refuse("is an empty list");  // of a table it would mean the usual sections
    try {
      table.check();
    } catch (const Error& e) {
      refuse(e.what());
    }
    std::array<std::int64_t, 3> follow{};
    for (std::int64_t pair = 0; pair < rotary / 2; ++pair) ++follow[static_cast<std::size_t>(table.axis(pair))];
    // Model code would cut off what reaches beyond the last pair, and turn other pairs than the file says.
    if (!std::equal(follow.begin(), follow.end(), given->value.begin()))
      model_.fail(fmt::format("{} is [{}], which cannot alternate over {} pairs: {} would follow time, {} height, {} width; use chunks or correct it",
                              given->origin, fmt::join(given->value, ", "), rotary / 2, follow[0], follow[1], follow[2]));
    reading.mrope_section = given->value;
    reading.mrope_layout = interleaved ? "interleaved" : "chunked";
    reading.notes.push_back(fmt::format("three position axes: {} pairs follow time, {} height, {} width, {} ({})",
                                        given->value[0], given->value[1], given->value[2], reading.mrope_layout, given->origin));
  }

  const Lookup& model_;
  const ModelClass* known_;
  Family family_;
  RopeBlocks blocks_;
};

}  // namespace

std::vector<Reading> read_rope(const Lookup& model, const ModelClass* known) { return RopeReader(model, known).read(); }

}  // namespace posenc::config
