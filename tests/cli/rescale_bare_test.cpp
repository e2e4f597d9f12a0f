// posenc rescale and what tables are said to be: a spec, beside a table or in its file, must be the table's.
#include "cli/rescale.hpp"

namespace posenc::test {

TEST_CASE("rescale: a bare table that is not what it is said to be is refused with the place") {
  const Scratch scratch;
  const std::string rope = small_rope(scratch);
  Array values = load_array(rope);
  values.values[3 * 8 + 5] += 1e-3;
  save(scratch / "bare.npy", values.shape, values.values);
  const Words said{"rope", "--head-dim", "8", "--positions", "32", "--layout", "cache", "--method", "linear", "--factor", "2", "-o", "x.npy"};
  CHECK(mentions(refused(plus({"rescale", scratch / "bare.npy"}, said), 1), "first at ["));
  CHECK(mentions(refused(plus({"rescale", scratch / "bare.npy", "rope", "--head-dim", "8", "--positions", "31", "--layout", "cache", "--method",
                               "linear", "--factor", "2"},
                              {"-o", "x.npy"}),
                         1),
                 "[32, 8]"));
  // A place alone: exact doubles of an angle table, one of them moved.
  std::vector<double> angles;
  for (int k = 0; k < 6; ++k) angles.push_back(k), angles.push_back(k / 2.0);
  save(scratch / "angles.npy", {6, 2}, angles);
  const Words exact{"rope", "--head-dim", "4", "--base", "4", "--positions", "6", "--layout", "angles", "--method", "linear", "--factor", "2"};
  done(plus(plus({"rescale", scratch / "angles.npy"}, exact), {"-o", scratch / "half.npy"}));
  CHECK(formats::open(scratch / "half.npy")->tensors().at(0).dtype == DType::f64);
  for (double& a : angles) a /= 2;
  CHECK(load_array(scratch / "half.npy").values == angles);
  CHECK(run({"verify", scratch / "half.npy", "--quiet"}).status == 0);
  for (double& a : angles) a *= 2;
  angles[7] += 0.25;
  save(scratch / "angles.npy", {6, 2}, angles);
  CHECK(mentions(refused(plus(plus({"rescale", scratch / "angles.npy"}, exact), {"-o", "x.npy"}), 1), "first at [3,1] with 1.75 for 1.5"));
  // A file that knows what it is takes no second word for it; an encoding beside it must be its own.
  CHECK(mentions(refused({"rescale", rope, "--config", llama, "--method", "linear", "--factor", "2", "-o", "x.npy"}, 2), "carries its spec"));
  CHECK(mentions(refused({"rescale", rope, "sinusoidal", "--context", "64", "-o", "x.npy"}, 2), "describes rope"));
  CHECK(mentions(refused({"rescale", llama, "--spec", llama, "--method", "linear", "--factor", "2", "-o", "x.npy"}, 2), "itself"));
}

TEST_CASE("rescale: one array of a file is a bare table too") {
  const Scratch scratch;
  FilePlan plan;
  plan.tensors = {{"layers/angles", DType::f64, {3, 2}, {}, false, ""}, {"w", DType::f64, {2}, {}, false, ""}};
  const std::vector<double> angles{0, 0, 1, 0.5, 2, 1}, w{1, 2};
  const auto writer = formats::create(formats::parse_format("hdf5"), scratch / "model.h5", plan);
  writer->write(0, 0, std::as_bytes(std::span(angles)));
  writer->write(1, 0, std::as_bytes(std::span(w)));
  writer->finish();
  const Words said{"rope", "--head-dim", "4", "--base", "4", "--positions", "3", "--layout", "angles", "--method", "linear", "--factor", "4", "-o"};
  done(plus(plus({"rescale", scratch / "model.h5#layers/angles"}, said), {scratch / "y.npy"}));
  CHECK(load_array(scratch / "y.npy").values == std::vector<double>{0, 0, 0.25, 0.125, 0.5, 0.25});
  CHECK(mentions(refused(plus(plus({"rescale", scratch / "model.h5#nothing"}, said), {"x.npy"}), 2), "nothing"));
  CHECK(mentions(refused({"rescale", scratch / "model.h5", "--length", "8", "-o", "x.npy"}, 2), "say which"));
  done({"rescale", scratch / "model.h5#layers/angles", "--length", "6", "--method", "tile", "-o", scratch / "z.h5"});
  CHECK(load_array(scratch / "z.h5", "layers/angles").shape == std::vector<std::int64_t>{6, 2});
  CHECK(mentions(refused({"rescale", scratch / "model.h5#w", "--tensor", "w", "--length", "8", "-o", "x.npy"}, 2), "#w"));
}

TEST_CASE("rescale: a file is held against the spec that it carries") {
  const Scratch scratch;
  const Words rule{"--method", "linear", "--factor", "2", "-o", "x.npz"};
  const std::string rope = small_rope(scratch), sidecar = rope + ".json";
  // The sidecar of another table.
  const std::string own = slurp(sidecar);
  small_rope(scratch, {"--base", "500000"});
  const std::string other = slurp(sidecar);
  small_rope(scratch);
  REQUIRE(slurp(sidecar) == own);
  done(plus({"rescale", rope}, {"--method", "linear", "--factor", "2", "-o", scratch / "good.npz"}));
  spill(sidecar, other);
  const std::string sentence = refused(plus({"rescale", rope}, rule), 1);
  CHECK_MESSAGE((mentions(sentence, "is not the table that it is said to be") && mentions(sentence, "first at [1,1]")), sentence);
  CHECK(mentions(refused({"rescale", rope, "--method", "linear", "--factor", "2", "--print-spec"}, 1), "said to be"));
  CHECK(run({"verify", rope, "--quiet"}).status == 1);

  // 50 rows under a spec of 40, and one value moved by an ulp, in every format that says all of it in one file.
  for (const formats::FormatTraits& format : formats::formats()) {
    if (!format.many_tensors) continue;
    CAPTURE(format.name);
    const std::string suffix(format.suffixes[0]), file = scratch / ("in" + suffix), wrong = scratch / ("wrong" + suffix);
    const auto made = [&](const std::string& rows) { done({"generate", "rope", "--head-dim", "8", "--positions", rows, "-o", file, "--quiet"}); };
    const auto written = [&](const auto& metadata, bool moved) {
      const auto reader = formats::open(file);
      FilePlan plan;
      plan.tensors = reader->tensors();
      plan.metadata = metadata;
      const auto writer = formats::create(format, wrong, plan);
      for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
        std::vector<std::byte> bytes = read_tensor(*reader, t);
        if (moved && t == 0) bytes[4 * (7 * 4 + 2)] ^= std::byte{1};  // binary32, row 7, pair 2
        writer->write(t, 0, bytes);
      }
      writer->finish();
    };
    made("40");
    const auto forty = formats::open(file)->metadata();
    written(forty, false);
    done({"rescale", wrong, "--method", "linear", "--factor", "2", "-o", scratch / "y.npz", "--quiet"});
    written(forty, true);
    CHECK(mentions(refused(plus({"rescale", wrong}, rule), 1), "1 of 160 values of cos differ, by up to 1 ulp, first at [7,2]"));
    made("50");
    written(forty, false);
    CHECK(mentions(refused(plus({"rescale", wrong}, rule), 1), "4], the spec says f32 [position 40, pair 4]"));
  }

  // A CRC that does not hold is no difference but a broken file.
  done({"generate", "rope", "--head-dim", "8", "--positions", "40", "-o", scratch / "t.npz", "--quiet"});
  std::string bytes = slurp(scratch / "t.npz");
  const float row[] = {1, 1, 1, 1, 0.5403023058681398F};  // cos of 0 and of 1
  const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(row), sizeof row));
  REQUIRE(at != std::string::npos);
  bytes[at + 16] ^= 1;
  spill(scratch / "torn.npz", bytes);
  CHECK(mentions(refused(plus({"rescale", scratch / "torn.npz"}, rule), 3), "CRC-32"));
}

}  // namespace posenc::test
