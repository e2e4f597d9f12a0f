// Makes a table with the public headers only, and checks it.
#include <cstdio>
#include <posenc/encoding.hpp>
#include <posenc/encodings/rope.hpp>
#include <posenc/error.hpp>
#include <posenc/formats.hpp>
#include <posenc/pipeline.hpp>
#include <posenc/plan.hpp>
#include <posenc/spec.hpp>
#include <posenc/table.hpp>

int main(int argc, char** argv) try {
  if (argc != 2) return 2;
  auto rope = posenc::make_encoding("rope");
  rope->set("head_dim", "64");
  rope->set("base", "500000");
  rope->set("positions", "256");
  posenc::Spec spec;
  spec.tables.push_back({"", std::move(rope)});
  spec.check();

  const auto tensors = posenc::plan(spec, posenc::ComplexForm::split);
  posenc::FilePlan file;
  for (const auto& tensor : tensors) file.tensors.push_back(tensor.stored);
  file.metadata = posenc::provenance(spec);
  const auto writer = posenc::formats::create(posenc::formats::format_of_suffix(argv[1]), argv[1], file);
  const posenc::Target target{writer.get(), tensors};
  posenc::generate(spec, {&target, 1}, {});
  writer->finish();

  const auto reader = posenc::formats::open(argv[1]);
  const posenc::Spec carried = posenc::Spec::parse(reader->metadata().at(std::string(posenc::spec_key)), argv[1]);
  const std::vector<std::size_t> sources{0, 1};
  for (const auto& verdict : posenc::compare(carried, *reader, tensors, sources, {})) {
    std::printf("%s: %lld values, %lld wrong\n", verdict.name.c_str(), static_cast<long long>(verdict.compared), static_cast<long long>(verdict.wrong));
    if (verdict.wrong != 0 || verdict.compared != 256 * 32) return 1;
  }

  // Typed parameters, and arrays in memory.
  const xt::xarray<double> cosine = posenc::generate<double>(posenc::Rope{.head_dim = 8, .positions = posenc::Positions::range(0, 3)}, "cos");
  return cosine.shape(0) == 3 && cosine.shape(1) == 4 && cosine(0, 0) == 1 ? 0 : 1;
} catch (const posenc::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return e.exit_status();
}
