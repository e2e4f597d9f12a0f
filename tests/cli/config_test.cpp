// Configs through the real binary: the record that inspect prints, the other dialect, tables of what a config describes.
#include <nlohmann/json.hpp>

#include <sys/stat.h>

#include "cli/process.hpp"
#include "support/configs.hpp"

namespace posenc::test {
namespace {

using Json = nlohmann::json;

void refused(const Words& words, int status, std::string_view word, const Setup& setup = {}) {
  const std::string sentence = test::refused(words, status, setup);
  CHECK_MESSAGE(mentions(sentence, word), sentence);
}

}  // namespace

TEST_CASE("inspect: a config's record, in words and as JSON of a stable shape") {
  const std::string text = done({"inspect", configs + "facebook--opt-1.3b"}).out;
  for (const char* words : {"2050 rows = max_position_embeddings + 2", "2 in front", "2048 for positions", "vLLM serves", "decoder.embed_positions.weight"}) CHECK_MESSAGE(mentions(text, words), words);
  const Json opt = Json::parse(done({"inspect", configs + "facebook--opt-1.3b", "--json"}).out);
  for (const char* key : {"file", "kind", "model_type", "dialect", "readings", "warnings", "lengths", "architectures"}) CHECK_MESSAGE(opt.contains(key), key);
  const Json& reading = opt["readings"][0];
  for (const char* key : {"layer_type", "encoding", "settings", "context", "softmax_multiplier", "notes", "context_from", "softmax_multiplier_from", "attention_factor", "layers", "facts", "open"})
    CHECK_MESSAGE(reading.contains(key), key);
  CHECK(reading["settings"]["length"] == Json::parse(R"({"value":"2048","from":"max_position_embeddings"})"));
  const Json& tensor = opt["architectures"][0]["tensors"][0];
  CHECK(tensor["rows"] == 2050);
  CHECK(tensor["offset"] == 2);
  CHECK(tensor["usable"] == 2048);
  // Layer types with their layers, and both magnitudes.
  const Json gemma = Json::parse(done({"inspect", configs + "google--gemma-3-4b-it", "--json"}).out);
  CHECK(gemma["readings"][1]["layers"] == Json::parse("[5,11,17,23,29]"));
  CHECK(gemma["architectures"].size() == 2);
  const std::string deepseek = done({"inspect", configs + "deepseek-ai--DeepSeek-V3"}).out;
  CHECK(mentions(deepseek, "attention_factor"));
  CHECK(mentions(deepseek, "softmax_multiplier"));
  // Known for its tensors alone.
  const Setup from_input{.input = R"({"model_type":"led","max_encoder_position_embeddings":16384,"max_decoder_position_embeddings":1024})"};
  const Scratch scratch;
  spill(scratch / "led.json", from_input.input);
  const std::string led = done({"inspect", scratch / "led.json"}).out;
  CHECK(mentions(led, "16384 rows"));
  CHECK(mentions(led, "posenc does not read its positions"));
}

TEST_CASE("inspect --config-dialect prints the config, to the byte") {
  const Scratch scratch;
  const std::string llama = configs + "meta-llama--Llama-3.1-8B/config.json";
  CHECK(done({"inspect", llama, "--config-dialect", "4"}).out == slurp(llama));
  const std::string fresh = done({"inspect", llama, "--config-dialect", "5"}).out;
  CHECK(Json::parse(fresh)["rope_parameters"]["rope_theta"] == 500000.0);
  spill(scratch / "five.json", fresh);
  CHECK(Json::parse(done({"inspect", scratch / "five.json", "--config-dialect", "4"}).out) == Json::parse(slurp(llama)));
  refused({"inspect", llama, "--config-dialect", "6"}, 2, "--config-dialect");
  refused({"inspect", llama, "--config-dialect", "4", "--json"}, 2, "--json");
  refused({"inspect", configs + "google--gemma-4-31B", "--config-dialect", "4"}, 2, "rope_parameters.full_attention");
  refused({"inspect", configs + "awkward--duplicate_keys", "--config-dialect", "5"}, 3, "rope_theta");
  spill(scratch / "spec.json", R"({"posenc":1,"encoding":"rope"})");
  refused({"inspect", scratch / "spec.json", "--config-dialect", "5"}, 2, "spec");
  done({"generate", "rope", "--positions", "2", "-o", scratch / "t.npz"});
  refused({"inspect", scratch / "t.npz", "--config-dialect", "5"}, 2, "config.json");
}

TEST_CASE("generate --config makes what a config describes, and says why not") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  const auto tensors = [&](const Words& words) -> std::string {
    const Json report = Json::parse(done(words, here).out);
    std::string text;
    for (const Json& t : report["written"][0]["tensors"]) {
      text += (text.empty() ? "" : "; ") + t["name"].get<std::string>();
      for (const Json& n : t["shape"]) text += " " + std::to_string(n.get<std::int64_t>());
    }
    return text;
  };
  const auto made = [&](const Words& more, const std::string& model) {
    Words words{"generate"};
    words.insert(words.end(), more.begin(), more.end());
    for (const std::string& w : Words{"--config", configs + model, "-o", "x.npz", "--json", "--quiet"}) words.push_back(w);
    return tensors(words);
  };
  CHECK(made({}, "google-t5--t5-base") == "encoder.bucket 512 512; decoder.bucket 512 512");
  CHECK(made({}, "microsoft--swin-base-patch4-window7-224") == "stage_0.index 49 49; stage_1.index 49 49; stage_2.index 49 49; stage_3.index 49 49");
  CHECK(made({}, "microsoft--beit-base-patch16-224") == "index 197 197");
  CHECK(made({}, "microsoft--deberta-v3-base") == "c2p 512 512");
  CHECK(made({}, "openai--whisper-small") == "table 1500 768");
  // Learned tables hold initial values, so they are made when they are asked for.
  refused({"generate", "--config", configs + "google-bert--bert-base-uncased", "-o", "x.npz"}, 2, "generate learned", here);
  refused({"generate", "--config", configs + "google--vit-base-patch16-224", "-o", "x.npz"}, 2, "checkpoint", here);
  CHECK(made({"learned"}, "google-bert--bert-base-uncased") == "table 512 768");
  CHECK(made({"learned"}, "facebook--opt-1.3b") == "table 2050 2048");
  CHECK(made({"learned"}, "openai--whisper-small") == "table 448 768");
  CHECK(made({"learned"}, "openai--clip-vit-base-patch32") == "text.table 77 512; vision.table 50 768");
  // A tower that rotates is made when it is asked for, or where the text model has nothing.
  CHECK(made({"rope_2d"}, "meta-llama--Llama-4-Scout-17B-16E-Instruct") == "cos 577 44; sin 577 44");
  refused({"generate", "rope_2d", "--config", configs + "Qwen--Qwen2-VL-7B-Instruct", "-o", "x.npz"}, 2, "--height and --width", here);
  CHECK(made({"rope_2d", "--height", "28", "--width", "14"}, "Qwen--Qwen2-VL-7B-Instruct") == "cos 392 40; sin 392 40");
  CHECK(made({"--positions", "4"}, "mistralai--Ministral-3-3B-Reasoning-2512") == "cos 4 64; sin 4 64");
  // BERT with distances: Shaw's index, 2M - 1 rows.
  spill(scratch / "shaw.json", R"({"model_type":"bert","hidden_size":768,"num_attention_heads":12,"max_position_embeddings":8,"position_embedding_type":"relative_key"})");
  CHECK(tensors({"generate", "--config", "shaw.json", "-o", "y.npz", "--json", "--quiet"}) == "index 8 8");
  spill(scratch / "xlnet.json", R"({"model_type":"xlnet"})");
  refused({"generate", "--config", "xlnet.json", "-o", "x.npz"}, 2, "model_type xlnet", here);
  refused({"generate", "alibi", "--config", configs + "google-t5--t5-base", "-o", "x.npz"}, 2, "not alibi", here);
}

TEST_CASE("--method after --config keeps what both rules have and says what goes") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  const std::string qwen = configs + "Qwen--Qwen2.5-7B-Instruct-yarn";  // yarn, factor 4, trained for 32768
  const Outcome linear = done({"generate", "rope", "--config", qwen, "--method", "linear", "--positions", "64", "--tensor", "cos", "-o", "a.npy"}, here);
  CHECK_MESSAGE(mentions(linear.err, "config.json: method linear in the place of yarn; factor 4 stays; original_max_position_embeddings 32768 dropped"), linear.err);
  // The factor is in the table: the bytes of the command that says it outright.
  done({"generate", "rope", "--head-dim", "128", "--base", "1e6", "--method", "linear", "--factor", "4", "--positions", "64", "--tensor", "cos", "-o", "b.npy"}, here);
  CHECK(slurp(scratch / "a.npy") == slurp(scratch / "b.npy"));
  // What is given counts, whatever the file says; the same method needs no word.
  CHECK(mentions(done({"generate", "rope", "--config", qwen, "--method", "linear", "--factor", "2", "--print-spec"}, here).out, "\"factor\": 2"));
  CHECK_FALSE(mentions(done({"generate", "rope", "--config", qwen, "--method", "yarn", "--factor", "2", "--print-spec"}, here).err, "in the place of"));
  // A spec likewise.
  spill(scratch / "s.json", done({"generate", "rope", "--config", qwen, "--print-spec", "--quiet"}, here).out);
  CHECK(mentions(done({"generate", "--spec", "s.json", "--method", "ntk", "--positions", "8", "-o", "c.npz"}, here).err, "s.json: method ntk in the place of yarn; factor 4 stays"));
  refused({"generate", "rope", "--config", qwen, "--method", "longrope", "-o", "d.npz"}, 2, "--short-factor", here);
}

TEST_CASE("inspect --config-dialect says when a model has one spelling, --force reaches a config") {
  const Outcome gptj = done({"inspect", configs + "EleutherAI--gpt-j-6b", "--config-dialect", "5"});
  CHECK(gptj.out == slurp(configs + "EleutherAI--gpt-j-6b/config.json"));
  CHECK(mentions(gptj.err, "one spelling; nothing changes"));
  CHECK(done({"inspect", configs + "EleutherAI--gpt-j-6b", "--config-dialect", "5", "--quiet"}).err.empty());
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  refused({"rescale", configs + "meta-llama--Llama-2-7b-hf", "--method", "linear", "--factor", "0.5", "-o", "x.json"}, 2, "--force", here);
  done({"rescale", configs + "meta-llama--Llama-2-7b-hf", "--method", "linear", "--factor", "0.5", "--force", "-o", "x.json", "--quiet"}, here);
  CHECK(Json::parse(slurp(scratch / "x.json")).at("rope_scaling").at("factor") == 0.5);
}

TEST_CASE("hostile configs: one sentence, no hang") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  spill(scratch / "deep.json", R"({"model_type":"llama","x":)" + std::string(100000, '[') + std::string(100000, ']') + "}");
  refused({"inspect", "deep.json"}, 3, "deeper", here);
  refused({"inspect", "deep.json", "--config-dialect", "5"}, 3, "deeper", here);
  spill(scratch / "latin.json", "{\"model_type\":\"llama\xe9\"}");
  refused({"inspect", "latin.json", "--config-dialect", "4"}, 3, "not JSON", here);
  spill(scratch / "twice.json", R"({"model_type":"llama","rope_theta":1e4,"rope_theta":1e4})");
  refused({"inspect", "twice.json", "--config-dialect", "4"}, 3, "twice", here);
  spill(scratch / "nan.json", R"({"model_type":"llama","rope_theta":NaN})");
  refused({"inspect", "nan.json", "--config-dialect", "4"}, 3, "NaN", here);
  spill(scratch / "big.json", R"({"model_type":"llama","x":")" + std::string((std::size_t{64} << 20) + 1, 'x') + "\"}");
  refused({"inspect", "big.json", "--config-dialect", "5"}, 3, "longer", here);
  REQUIRE(::mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  CHECK(run({"inspect", "pipe", "--config-dialect", "5"}, here).status != 0);
  refused({"inspect", "nothing.json", "--config-dialect", "5"}, 4, "nothing.json", here);
}

}  // namespace posenc::test
