// The list of architectures: every line has what it needs, and rows come out as the models have them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <set>
#include <stdexcept>

#include "context/expression.hpp"
#include "context/model_classes.hpp"
#include "posenc/architectures.hpp"
#include "posenc/error.hpp"
#include "support/configs.hpp"

namespace {

using posenc::Architecture;
using posenc::ConfigArchitecture;
using posenc::TensorKind;
using posenc::TensorRows;

using posenc::test::config_of;

std::vector<ConfigArchitecture> parts_of(const std::string& text) { return posenc::architectures_in(text, "config.json"); }

struct Expected {
  std::int64_t rows, offset, usable;
};
void expect(const TensorRows& t, std::string_view name, Expected e) {
  INFO(t.tensor.name);
  CHECK(t.tensor.name == name);
  CHECK(t.rows == e.rows);
  CHECK(t.offset == e.offset);
  CHECK(t.usable() == e.usable);
}

// All names of an expression have a value, so that only its grammar is left to fail.
std::optional<std::int64_t> with_ones(std::string_view expression) {
  return posenc::config::evaluate(expression, [](std::string_view) { return std::int64_t{16}; });
}

}  // namespace

TEST_CASE("every architecture has a name, a purpose and expressions that read") {
  std::set<std::string_view> names, used;
  for (const posenc::config::ModelClass& known : posenc::config::model_classes()) used.insert(known.architecture);
  // Files that carry no config.json of that kind: told by their tensors.
  const std::set<std::string_view> without_type{"open_clip", "timm_vit", "timm_stages", "maxvit"};
  for (const Architecture& a : posenc::architectures()) {
    INFO(a.name);
    CHECK(names.insert(a.name).second);
    CHECK(used.contains(a.name) != without_type.contains(a.name));
    CHECK((!a.keys.empty() || a.name == "recurrent"));
    CHECK((!a.tensors.empty() || !a.note.empty() || !a.keys.empty()));
    for (const posenc::PositionTensor& t : a.tensors) {
      INFO(t.name);
      CHECK(!t.name.empty());
      if (!t.rows.empty()) CHECK(with_ones(t.rows).value_or(0) > 0);
      CHECK(with_ones(t.offset).has_value());
      CHECK(with_ones(t.suffix).has_value());
      CHECK((t.axis >= 0 && t.axis <= 1));
      CHECK((t.when.empty() || (t.when.find('=') != std::string_view::npos && t.when.back() != '=')));
    }
  }
  for (const posenc::config::ModelClass& known : posenc::config::model_classes()) {
    INFO(known.model_type);
    // CLIP is two towers, each with a row of its own.
    CHECK((posenc::architecture_of(known.model_type) != nullptr || known.model_type == "clip"));
  }
  CHECK(posenc::architecture_of("brand_new") == nullptr);
}

TEST_CASE("rows of published configs") {
  const std::map<std::string, std::pair<std::string, Expected>> first{
      {"facebook--opt-1.3b", {"decoder.embed_positions.weight", {2050, 2, 2048}}},
      {"facebook--bart-large", {"{encoder,decoder}.embed_positions.weight", {1026, 2, 1024}}},
      {"google-bert--bert-base-uncased", {"embeddings.position_embeddings.weight", {512, 0, 512}}},
      {"openai-community--gpt2", {"wpe.weight", {1024, 0, 1024}}},
      {"google--vit-base-patch16-224", {"embeddings.position_embeddings", {197, 1, 196}}},
      {"microsoft--swin-base-patch4-window7-224", {"*.relative_position_bias_table", {169, 0, 169}}},
      {"microsoft--beit-base-patch16-224", {"*.relative_position_bias_table", {732, 0, 729}}},
      {"microsoft--deberta-v3-base", {"encoder.rel_embeddings.weight", {512, 0, 512}}},
      {"google-t5--t5-base", {"{encoder,decoder}.block.0.layer.0.SelfAttention.relative_attention_bias.weight", {32, 0, 32}}},
      {"google--flan-t5-base", {"{encoder,decoder}.block.0.layer.0.SelfAttention.relative_attention_bias.weight", {32, 0, 32}}},
      {"openai--whisper-small", {"encoder.embed_positions.weight", {1500, 0, 1500}}},
      {"openai--clip-vit-base-patch32", {"embeddings.position_embedding.weight", {77, 0, 77}}},
      {"meta-llama--Llama-3.1-8B", {"*.rotary_emb.inv_freq", {64, 0, 64}}},
      {"EleutherAI--gpt-neox-20b", {"layers.*.attention.rotary_emb.inv_freq", {12, 0, 12}}},
  };
  for (const auto& [model, want] : first) {
    INFO(model);
    const auto parts = parts_of(config_of(model));
    REQUIRE(!parts.empty());
    REQUIRE(!parts[0].tensors.empty());
    expect(parts[0].tensors[0], want.first, want.second);
  }
  const auto whisper = parts_of(config_of("openai--whisper-small"));
  REQUIRE(whisper[0].tensors.size() == 2);
  expect(whisper[0].tensors[1], "decoder.embed_positions.weight", {448, 0, 448});
  CHECK(whisper[0].tensors[0].tensor.kind == TensorKind::sinusoid);
  const auto clip = parts_of(config_of("openai--clip-vit-base-patch32"));
  REQUIRE(clip.size() == 2);
  CHECK(clip[0].part == "text_config");
  CHECK(clip[1].part == "vision_config");
  expect(clip[1].tensors.at(0), "embeddings.position_embedding.weight", {50, 1, 49});
  const auto gemma = parts_of(config_of("google--gemma-3-4b-it"));
  REQUIRE(gemma.size() == 2);
  expect(gemma[1].tensors.at(0), "embeddings.position_embedding.weight", {4096, 0, 4096});
  // DeBERTa-v3 has no absolute table; with position_biased_input it does.
  CHECK(parts_of(config_of("microsoft--deberta-v3-base"))[0].tensors.size() == 1);
}

TEST_CASE("rows in front: the padding id and the families that count otherwise") {
  const auto first = [](const std::string& text) { return parts_of(text).at(0).tensors.at(0); };
  const std::string table = "embeddings.position_embeddings.weight";
  expect(first(R"({"model_type":"roberta","max_position_embeddings":514,"pad_token_id":1})"), table, {514, 2, 512});
  expect(first(R"({"model_type":"roberta","max_position_embeddings":514,"pad_token_id":3})"), table, {514, 4, 510});  // rinna
  expect(first(R"({"model_type":"xlm-roberta","max_position_embeddings":514})"), table, {514, 2, 512});
  expect(first(R"({"model_type":"longformer","max_position_embeddings":4098})"), table, {4098, 2, 4096});
  expect(first(R"({"model_type":"nystromformer","max_position_embeddings":510})"), table, {512, 2, 510});
  expect(first(R"({"model_type":"esm","position_embedding_type":"absolute","max_position_embeddings":1026,"pad_token_id":1})"), table, {1026, 2, 1024});
  expect(first(R"({"model_type":"led","max_encoder_position_embeddings":16384,"max_decoder_position_embeddings":1024})"), "encoder.embed_positions.weight", {16384, 0, 16384});
  expect(first(R"({"model_type":"marian","max_position_embeddings":512})"), "{encoder,decoder}.embed_positions.weight", {512, 0, 512});
  // v1: 2k, k from max_position_embeddings where max_relative_positions is -1.
  expect(first(R"({"model_type":"deberta","max_relative_positions":-1,"max_position_embeddings":512})"), "encoder.rel_embeddings.weight", {1024, 0, 1024});
  // 12 x 101 patches of a spectrogram and two tokens.
  expect(first(R"({"model_type":"audio-spectrogram-transformer"})"), "embeddings.position_embeddings", {1214, 2, 1212});
  expect(first(R"({"model_type":"deit","hidden_size":768})"), "embeddings.position_embeddings", {198, 2, 196});
  // Shaw: 2M - 1 rows beside the absolute table.
  const auto shaw = parts_of(R"({"model_type":"bert","position_embedding_type":"relative_key","max_position_embeddings":512})").at(0).tensors;
  REQUIRE(shaw.size() == 2);
  CHECK(shaw[1].rows == 1023);
  CHECK(parts_of(R"({"model_type":"bert","position_embedding_type":"alibi"})").at(0).tensors.empty());
  // ALiBi, or a learned table; distilbert's two kinds.
  CHECK(parts_of(R"({"model_type":"mpt","max_seq_len":2048,"attn_config":{"alibi":true}})").at(0).tensors.empty());
  expect(first(R"({"model_type":"mpt","max_seq_len":2048,"attn_config":{"alibi":false}})"), "wpe.weight", {2048, 0, 2048});
  CHECK(first(R"({"model_type":"distilbert","sinusoidal_pos_embds":true,"dim":768})").tensor.kind == TensorKind::sinusoid);
  CHECK(first(R"({"model_type":"distilbert"})").tensor.kind == TensorKind::learned);
  // Values that are no number leave a row open; nothing is guessed.
  CHECK(!first(R"({"model_type":"vit","image_size":[224,224]})").rows);
  CHECK(!first(R"({"model_type":"esm","position_embedding_type":"absolute","max_position_embeddings":1e3})").rows);
  CHECK(parts_of(R"({"model_type":"brand_new"})").empty());
}

TEST_CASE("expressions over a config") {
  const auto value = [](std::string_view name) -> std::optional<std::int64_t> {
    if (name == "a") return 7;
    if (name == "minus") return -1;
    if (name == "big") return std::int64_t{1} << 62;
    return std::nullopt;
  };
  const auto at = [&](std::string_view text) { return posenc::config::evaluate(text, value); };
  CHECK(at("2 + 3 * 4") == 14);
  CHECK(at("(2 + 3) * 4 - 1") == 19);
  CHECK(at("(a / 2)^2 + 1") == 10);  // 7 / 2 is 3
  CHECK(at("10 - 3 - 2") == 5);
  CHECK(at("first(minus, missing, a) * 2") == 14);
  CHECK(!at("first(minus, missing)"));
  CHECK(!at("a + missing"));
  CHECK(!at("a / (a - 7)"));
  CHECK(!at("big * 4"));
  CHECK(!at("big^2"));
  for (const char* wrong : {"", "2 +", "(2", "2 )", "a b", "first(a", "+"}) CHECK_THROWS_AS((void)at(wrong), std::logic_error);
}
