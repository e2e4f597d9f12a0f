// Image towers: learned tables over patches, and two-axis rotations.
#include <fmt/format.h>

#include "context/readers.hpp"

namespace posenc::config {
namespace {

struct Grid {
  std::int64_t side;
  std::string origin;
};

// Square pictures: image_size / patch_size patches a side, as the models floor it.
Grid grid_of(const Lookup& tower) {
  const auto image = tower.need_count({"image_size"}, lanes);
  const auto patch = tower.need_count({"patch_size"}, lanes);
  if (image.value < patch.value)
    tower.fail(fmt::format("{} {} is smaller than {} {}; correct one", image.origin, image.value, patch.origin, patch.value));
  return {image.value / patch.value, fmt::format("{} / {}", image.origin, patch.origin)};
}

Reading patches(const Lookup& tower, const ModelClass& known) {
  const Grid grid = grid_of(tower);
  const std::int64_t rows = grid.side * grid.side + known.extra_tokens;
  const std::string origin = fmt::format("({})^2 + {}", grid.origin, known.extra_tokens);
  Reading reading;
  reading.encoding = "learned";
  put(reading, "length", rows, origin);
  if (const auto width = tower.count({"hidden_size"}, lanes))
    put(reading, "dim", width->value, width->origin);
  else
    reading.open.push_back("dim");
  put(reading, "offset", std::int64_t{0}, "class of " + tower.owner());
  put_spread(reading, tower);
  put_fact(reading, "rows", rows, origin);
  put_fact(reading, "grid", std::string_view(fmt::format("{},{}", grid.side, grid.side)), grid.origin);
  put_fact(reading, "extra_tokens", known.extra_tokens, "class of " + tower.owner());
  reading.context = rows;
  reading.context_origin = "patches and extra tokens";
  return reading;
}

struct Rotation {
  std::string_view model_type, defaults;
  std::int64_t share;  ///< frequency_denominator is head_dim / share
  bool adjacent;
  std::string_view frequencies, axes;  ///< as parameters of rope_2d
  std::string_view words;              ///< how the two axes share the frequencies
};
// What the towers' classes supply beside their files.
constexpr Rotation rotations[] = {
    {"llama4_vision_model", R"({"rope_theta":10000.0,"image_size":448,"patch_size":14})", 2, true, "language", "xy", "width takes the first half, height the second, both from 1"},
    {"pixtral", R"({"rope_theta":10000.0,"image_size":1024,"patch_size":16,"hidden_size":1024,"num_attention_heads":16})", 1,
     false, "alternating", "yx", "height takes even frequencies, width odd"},
    {"qwen2_vl", R"({"rope_theta":10000.0,"spatial_merge_size":2})", 2, false, "language", "yx", "height takes the first half, width the second"},
    {"qwen2_5_vl", R"({"rope_theta":10000.0,"spatial_merge_size":2})", 2, false, "language", "yx", "height takes the first half, width the second"},
};

Reading rotation(const Lookup& file, const Rotation& known) {
  const Json defaults = Json::parse(known.defaults);
  const Lookup tower = file.with_defaults(&defaults, known.model_type);
  const bool qwen = known.model_type.starts_with("qwen");
  Reading reading;
  reading.encoding = "rope_2d";
  std::optional<Given<std::int64_t>> head = tower.count({"head_dim"}, lanes);
  if (!head) {
    // Qwen2-VL's hidden_size is the width behind the tower; embed_dim is the tower's own.
    const auto width =
        qwen && tower.has({"embed_dim"}) ? tower.need_count({"embed_dim"}, lanes) : tower.need_count({"hidden_size"}, lanes);
    const auto heads = tower.need_count({"num_attention_heads", "num_heads"}, lanes);
    if (width.value % heads.value != 0)
      tower.fail(
          fmt::format("{} {} is not a multiple of {} {}; correct one", width.origin, width.value, heads.origin, heads.value));
    head = Given<std::int64_t>{width.value / heads.value, fmt::format("{} / {}", width.origin, heads.origin)};
  }
  if (head->value % 4 != 0)
    tower.fail(fmt::format("{} is {}; two axes of pairs need a multiple of 4", head->origin, head->value));
  std::vector<Place> places = tower.places();
  for (const Place& place : tower.objects("rope_parameters")) places.push_back(place);
  const auto base = tower.at(std::move(places)).real({"rope_theta"}, bases);
  if (!base) tower.fail(fmt::format("{}rope_theta is null; give its number", tower.places().front().prefix));
  put(reading, "base", base->value, base->origin);
  put(reading, "head_dim", head->value, head->origin);
  const std::string of_class = fmt::format("class of {}", known.model_type);
  put(reading, "frequencies", known.frequencies, of_class);
  put(reading, "axes", known.axes, of_class);
  put_fact(reading, "rotary_dim", head->value, "all of head_dim");
  put_fact(reading, "frequency_denominator", head->value / known.share, known.share == 1 ? "head_dim" : "head_dim / 2");
  put_fact(reading, "pair_stride", known.adjacent ? std::int64_t{1} : head->value / 2, of_class);
  put_fact(reading, "frequencies_per_axis", head->value / 4, "head_dim / 4");
  put_fact(reading, "sharing", known.words, of_class);
  if (qwen) {
    const auto merge = tower.need_count({"spatial_merge_size"}, lanes);
    put(reading, "spatial_merge_size", merge.value, merge.origin);
    reading.open = {"height", "width"};  // a grid for each picture
    return reading;
  }
  const Grid grid = grid_of(tower);
  put(reading, "height", grid.side, grid.origin);
  put(reading, "width", grid.side, grid.origin);
  if (known.model_type == "llama4_vision_model") {
    put(reading, "grid_offset", 1.0, of_class);
    put(reading, "suffix_rows", std::int64_t{1}, of_class);
    put_fact(reading, "rows", grid.side * grid.side + 1, fmt::format("({})^2 + 1", grid.origin));
    put_fact(reading, "cls", "last, angle 0", of_class);
  }
  return reading;
}

}  // namespace

std::vector<Reading> read_vision(const Lookup& tower, std::string_view top) {
  const auto named = tower.word({"model_type"});
  const std::string type = named ? named->value : std::string(top);
  for (const Rotation& known : rotations)
    if (known.model_type == type) {
      Reading reading = rotation(tower, known);
      reading.layer_type = "vision";
      return {reading};
    }
  const ModelClass* known = find_model_class(type);
  if (known != nullptr && known->family == Family::image) {
    const Json defaults = Json::parse(known->defaults);
    Reading reading = patches(tower.with_defaults(&defaults, type), *known);
    reading.layer_type = "vision";
    return {reading};
  }
  tower.warn(fmt::format("{} is of a kind ({}) that posenc does not read", tower.places().front().name(), in_quotes(type)));
  return {};
}

std::vector<Reading> read_image(const Lookup& model, const ModelClass& known) { return {patches(model, known)}; }

}  // namespace posenc::config
