// posenc generate: spec -> plan -> files.
#include <fmt/format.h>

#include "command.hpp"
#include "posenc/error.hpp"
#include "posenc/names.hpp"
#include "report.hpp"
#include "sources.hpp"
#include "table_files.hpp"

namespace posenc::cli {
namespace {

struct Options {
  SpecOptions spec;
  TableFiles files;
};

int run(Options& o, const Common& common) {
  std::vector<std::string> remarks;
  const std::optional<Spec> spec = spec_from(o.spec, remarks);
  if (!spec) fail_usage("generate wants an encoding, --config or --spec (see posenc generate --help)");
  if (!common.quiet)
    for (const std::string& remark : remarks) say(remark);
  o.files.complex_form = complex_form_of(o.spec);
  if (o.files.print_spec) {
    if (o.files.stack || !o.spec.complex_form.empty())
      fail_usage("a spec does not carry --stack or --complex, which are about the file; leave them out beside --print-spec");
    if (const auto form = o.files.complex_form; form && !common.quiet)
      say(fmt::format("a spec does not say how complex tensors are stored; --for {} means --complex {}", o.spec.preset, enum_name(*form)));
    print_spec(*spec);
    return 0;
  }
  write_tables(*spec, o.files, common, "generate");
  return 0;
}

}  // namespace

Command add_generate(CLI::App& app, Common& common) {
  CLI::App* sub = app.add_subcommand("generate", "make tables: posenc generate rope --head-dim 128 --positions 4096 -o rope.h5");
  auto o = std::make_shared<Options>();
  add_table_file_options(*sub, o->files);
  if (common.named("generate")) add_spec_options(*sub, o->spec, common.words);
  add_common(*sub, common);
  return {sub, [o, &common] { return run(*o, common); }};
}

}  // namespace posenc::cli
