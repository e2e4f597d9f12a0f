// tables_of: which readings of published configs become tables, how long those are, and why the others become none.
#include <algorithm>
#include <string>

#include "support/configs.hpp"
#include "posenc/config_tables.hpp"
#include "posenc/encoding.hpp"

using posenc::ConfigReading;
using posenc::ConfigTables;
using posenc::LeftOut;
using posenc::tables_of;
using posenc::WantedTables;
using Why = posenc::LeftOut::Why;

namespace {

ConfigReading read(const std::string& model) { return posenc::read_config(posenc::test::config_of(model), "config.json"); }

std::string value(const posenc::Table& table, std::string_view field) {
  for (const auto& f : table.encoding->fields())
    if (f.name == field) return f.value;
  return "";
}

}  // namespace

TEST_CASE("config tables: one table has no name and the declared length") {
  const ConfigTables made = tables_of(read("meta-llama--Llama-3.1-8B"));
  REQUIRE(made.tables.size() == 1);
  REQUIRE(made.spec.tables.size() == 1);
  CHECK(made.spec.tables[0].name.empty());
  CHECK(made.spec.tables[0].encoding->name() == "rope");
  CHECK(value(made.spec.tables[0], "positions") == "131072");
  CHECK(std::stod(value(made.spec.tables[0], "base")) == 500000);
  CHECK(made.tables[0].context == 131072);
  REQUIRE(made.tables[0].length.has_value());
  CHECK(made.tables[0].length->field == "positions");
  CHECK(made.tables[0].length->origin == "max_position_embeddings");
  CHECK_FALSE(made.tables[0].initial_values);
  CHECK(made.left_out.empty());
  // What the caller sets himself is not filled in.
  const ConfigTables own = tables_of(read("meta-llama--Llama-3.1-8B"), {.given = {"positions"}});
  CHECK_FALSE(own.tables[0].length.has_value());
  CHECK(value(own.spec.tables[0], "positions") != "131072");
}

TEST_CASE("config tables: layer types name their tables, and the image tower waits for its name") {
  const ConfigReading gemma = read("google--gemma-3-4b-it");
  const ConfigTables made = tables_of(gemma);
  REQUIRE(made.spec.tables.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(made.spec.tables[i].name == gemma.readings[made.tables[i].reading].layer_type);
  CHECK(made.spec.tables[0].name != made.spec.tables[1].name);
  for (const LeftOut& left : made.left_out) CHECK(gemma.readings[left.reading].layer_type == "vision");
  CHECK(made.tables.size() + made.left_out.size() == gemma.readings.size());
}

TEST_CASE("config tables: stored values come when their encoding is named, as initial ones") {
  const ConfigReading gpt2 = read("openai-community--gpt2");
  const ConfigTables none = tables_of(gpt2);
  CHECK(none.spec.tables.empty());
  REQUIRE(none.left_out.size() == 1);
  CHECK(none.left_out[0].why == Why::stored_values);
  const ConfigTables named = tables_of(gpt2, {.encoding = "learned"});
  REQUIRE(named.tables.size() == 1);
  CHECK(named.tables[0].initial_values);
  CHECK(value(named.spec.tables[0], "length") == "1024");
  CHECK(value(named.spec.tables[0], "dim") == "768");
  const ConfigTables other = tables_of(gpt2, {.encoding = "rope"});
  REQUIRE(other.left_out.size() == 1);
  CHECK(other.left_out[0].why == Why::another_encoding);
}

TEST_CASE("config tables: parameters that no config tells are missed until they are given") {
  for (const char* model : {"Qwen--Qwen2-VL-7B-Instruct", "bigscience--bloom-560m", "google-t5--t5-base", "microsoft--beit-base-patch16-224",
                            "microsoft--swin-base-patch4-window7-224", "microsoft--deberta-v3-base", "openai--clip-vit-base-patch32"}) {
    CAPTURE(model);
    const ConfigReading config = read(model);
    const ConfigTables made = tables_of(config);
    CHECK(made.tables.size() + made.left_out.size() == config.readings.size());
    for (const LeftOut& left : made.left_out) {
      if (left.why != Why::open_parameters) continue;
      CHECK(left.missing == config.readings[left.reading].open);
      WantedTables wanted{config.readings[left.reading].encoding, {}};
      wanted.given.assign(left.missing.begin() + 1, left.missing.end());
      const ConfigTables again = tables_of(config, wanted);
      const auto same = std::find_if(again.left_out.begin(), again.left_out.end(), [&](const LeftOut& l) { return l.reading == left.reading; });
      REQUIRE(same != again.left_out.end());
      CHECK(same->missing == std::vector<std::string>{left.missing.front()});
      wanted.given = left.missing;
      CHECK(tables_of(config, wanted).tables.size() > 0);
    }
  }
}

TEST_CASE("config tables: DeepSeek's factor on the softmax is recorded with the table") {
  const ConfigReading deepseek = read("deepseek-ai--DeepSeek-V3");
  const ConfigTables made = tables_of(deepseek);
  REQUIRE(made.spec.tables.size() == 1);
  // (0.1 ln 40 + 1)^2, DeepSeek-V3's modeling file.
  CHECK(std::stod(value(made.spec.tables[0], "softmax_multiplier")) == doctest::Approx(1.8738542).epsilon(1e-7));
}
