// Tables with one row a position: learned ones, and Whisper's sinusoids.
#include <fmt/format.h>

#include "context/readers.hpp"

namespace posenc::config {
namespace {

// The width of a row; a file that does not have it leaves it open.
void put_dim(Reading& reading, const Lookup& model) {
  const Lookup own = model.innermost();
  auto width = own.count({"embedding_size"}, lanes);  // ELECTRA and ALBERT project a narrow table
  if (!width) width = own.count({"hidden_size", "n_embd", "d_model", "dim"}, lanes);
  if (width)
    put(reading, "dim", width->value, width->origin);
  else
    reading.open.push_back("dim");
}

void set_context(Reading& reading, std::int64_t value, std::string_view origin) {
  reading.context = value;
  reading.context_origin = origin;
}

// `front` rows stand before the row of position 0; the file's length includes them or not.
Reading learned(const Lookup& model, const Given<std::int64_t>& length, std::int64_t front, bool included,
                std::string_view rule) {
  Reading reading;
  reading.encoding = "learned";
  if (included && length.value <= front)
    model.fail(fmt::format("{} is {}, but {} rows stand in front of position 0; correct it", length.origin, length.value, front));
  const std::int64_t usable = included ? length.value - front : length.value;
  const std::string usable_origin = front > 0 && included ? fmt::format("{} - {}", length.origin, front) : length.origin;
  put(reading, "length", usable, usable_origin);
  put_dim(reading, model);
  put(reading, "offset", front, front == 0 ? "class of " + model.owner() : std::string(rule));
  put_spread(reading, model);
  put_fact(reading, "rows", usable + front, front > 0 && !included ? fmt::format("{} + {}", length.origin, front) : length.origin);
  if (front > 0) put_fact(reading, "offset_rule", rule, "class of " + model.owner());
  set_context(reading, usable, usable_origin);
  return reading;
}

Given<std::int64_t> need_length(const Lookup& model) {
  auto length = model.first_count(context_keys, positions);
  if (!length)
    model.fail(
        fmt::format("has no {}, and model_type {} has no known default; add it", either(context_keys), in_quotes(model.owner())));
  return *length;
}

// DistilBERT with sinusoidal_pos_embds: sines in even channels, cosines in odd ones.
Reading sinusoids(const Lookup& model, const Given<std::int64_t>& length, const Given<bool>& fixed) {
  const auto width = model.innermost().need_count({"dim", "hidden_size"}, lanes);
  if (width.value % 2 != 0) model.fail(fmt::format("{} is {}; the sinusoids need an even width", width.origin, width.value));
  Reading reading;
  reading.encoding = "sinusoidal";
  put(reading, "dim", width.value, width.origin);
  put(reading, "layout", "interleaved", fixed.origin);
  put(reading, "divisor", "n", fixed.origin);
  put(reading, "base", 10000.0, fixed.origin);
  put(reading, "positions", std::string_view(fmt::format("0:{}", length.value)), length.origin);
  set_context(reading, length.value, length.origin);
  return reading;
}

// BERT's position_embedding_type: a learned table, or Shaw's table of distances.
std::vector<Reading> table(const Lookup& model) {
  const auto kind = model.word({"position_embedding_type"});
  const Given<std::int64_t> length = need_length(model);
  if (const auto fixed = model.flag({"sinusoidal_pos_embds"}); fixed && fixed->value) return {sinusoids(model, length, *fixed)};
  if (!kind || kind->value == "absolute") return {learned(model, length, 0, true, "")};
  if (kind->value != "relative_key" && kind->value != "relative_key_query")
    model.fail(fmt::format("{} is {}; use absolute, relative_key or relative_key_query", kind->origin, in_quotes(kind->value)));
  Reading reading;
  reading.encoding = "shaw";
  if (length.value < 2) model.fail(fmt::format("{} is {}, but distances need two positions; correct it", length.origin, length.value));
  put(reading, "max_relative_position", length.value - 1, fmt::format("{} - 1", length.origin));
  put(reading, "sign", "query-key", kind->origin);
  put(reading, "beyond", "refuse", kind->origin);
  const auto width = width_per_head(model);
  put(reading, "head_dim", width.value, width.origin);
  put(reading, "key_length", length.value, length.origin);
  put_fact(reading, "position_embedding_type", std::string_view(kind->value), kind->origin);
  put_fact(reading, "rows", 2 * length.value - 1, fmt::format("2 * {} - 1", length.origin));
  set_context(reading, length.value, length.origin);
  return {reading};
}

std::vector<Reading> padded(const Lookup& model) {
  const auto kind = model.word({"position_embedding_type"});
  if (kind && kind->value != "absolute") return table(model);
  const auto pad = model.need_count({"pad_token_id"}, {0, positions.max - 1});
  Reading reading = learned(model, need_length(model), pad.value + 1, true, "pad_token_id + 1");
  put(reading, "padding_row", pad.value, pad.origin);
  return {std::move(reading)};
}

std::vector<Reading> encoder_decoder(Reading encoder, Reading decoder) {
  encoder.layer_type = "encoder";
  decoder.layer_type = "decoder";
  Reading cross;
  cross.layer_type = "cross_attention";
  cross.encoding = "none";
  return {std::move(encoder), std::move(decoder), std::move(cross)};
}

std::vector<Reading> bart(const Lookup& model) {
  const auto length = model.need_count({"max_position_embeddings"}, positions);
  return encoder_decoder(learned(model, length, 2, false, "always 2"), learned(model, length, 2, false, "always 2"));
}

std::vector<Reading> whisper(const Lookup& model) {
  const auto width = model.need_count({"d_model"}, lanes);
  const auto rows = model.need_count({"max_source_positions"}, positions);
  if (width.value < 4 || width.value % 2 != 0)
    model.fail(fmt::format("{} is {}; the sinusoids need an even width from 4", width.origin, width.value));
  Reading encoder;
  encoder.encoding = "sinusoidal";
  put(encoder, "dim", width.value, width.origin);
  put(encoder, "layout", "concatenated", "class of whisper");  // all sines, then all cosines
  put(encoder, "divisor", "n-1", "class of whisper");          // exponent i / (dim/2 - 1)
  put(encoder, "base", 10000.0, "class of whisper");
  put(encoder, "positions", std::string_view(fmt::format("0:{}", rows.value)), rows.origin);
  set_context(encoder, rows.value, rows.origin);
  return encoder_decoder(std::move(encoder), learned(model, model.need_count({"max_target_positions"}, positions), 0, true, ""));
}

std::vector<Reading> mpt(const Lookup& model, const ModelClass& known) {
  const std::vector<Place> inner = model.objects("attn_config");
  const Lookup attention = model.at(inner);
  if (const auto rope = attention.explicit_only().flag({"rope"}); rope && rope->value)
    model.fail(
        fmt::format("{} is true: the rotary form of MPT is not read from configs; give the parameters by hand", rope->origin));
  if (attention.flag_or({"alibi"}, true)) return read_alibi(model, known);
  return {learned(model, need_length(model), 0, true, "")};
}

}  // namespace

std::vector<Reading> read_table(const Lookup& model, const ModelClass& known) {
  switch (known.family) {
    case Family::padded:
      return padded(model);
    case Family::opt:
      return {learned(model, need_length(model), 2, false, "always 2")};
    case Family::bart:
      return bart(model);
    case Family::whisper:
      return whisper(model);
    case Family::mpt:
      return mpt(model, known);
    default:
      return table(model);
  }
}

}  // namespace posenc::config
