// posenc rescale on tables that do not say what they are: the spec beside them must be theirs.
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

}  // namespace posenc::test
