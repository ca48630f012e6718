// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/bench/bench_options.hpp"

#include <fmt/core.h>

#include "common/app/command_line.hpp"
#include "common/app/gauge_choice.hpp"
#include "common/error.hpp"

namespace plaquette::bench {

namespace {

/// Options that would be passed over in silence are refused.
void require_sense(const command_line& line, const std::string& device) {
  const auto refuse = [&line](const std::vector<std::string>& list, const std::string& expected) {
    for (const std::string& option : list)
      if (line.given(option)) throw input_error(fmt::format("{}: expected {} with it", option, expected));
  };
  const std::vector<std::string> of_one_case{"--precision", "--reconstruct", "--rhs", "--threads"};
  if (device == "gpu") {
    refuse({"--isa", "--large", "--lattice"}, "--device cpu");
    for (const char* option : {"--idle-seconds", "--running-seconds"})
      if (line.given(option) && line.given("--protocol-seconds"))
        throw input_error(fmt::format("{}: expected no --protocol-seconds with it, which says the same", option));
    return refuse(of_one_case, "--device cpu");
  }
  refuse({"--rows", "--protocol", "--idle-seconds", "--running-seconds", "--gauge", "--mass", "--csw", "--delta"},
         "--device gpu");
  if (!line.given("--lattice")) return refuse(of_one_case, "--lattice");
  if (line.given("--large")) throw input_error("--large: expected no --lattice with it, whose case is the only one");
}

void declare(command_line& line, options& o) {
  declare_device(line, o.gpu.shared);
  line.choice("--isa", o.isa, {"best", "generic", "avx2", "avx512"}, "instruction set of the kernels");
  line.integer("--samples", o.samples, "measurements of each case", 3, 1000).reported("samples");
  line.flag("--large", o.large, "lattices beyond the last-level cache too: 16 GB of memory, some minutes");
  line.section("One case instead of the list");
  line.value("--lattice", o.lattice, "XxYxZxT", parse_extents, "time the hopping term there, and nothing else")
      .shows("none");
  line.choice("--precision", o.precision, {"double", "single", "half"}, "of its numbers");
  line.choice("--reconstruct", o.links, {"18", "12", "8"}, "stored reals of a link");
  line.integer("--rhs", o.rhs, "right-hand sides", 1, 64);
  line.integer("--threads", o.threads, "threads", 1, 4096);
  line.section("On a GPU");
  line.text("--rows", o.gpu.rows, "NAMES", "rows of the table, or how their names begin, separated by commas");
  line.flag("--list-rows", o.list_rows, "print the names of all rows, and stop");
  line.choice("--protocol", o.gpu.protocol, {"both", "cool", "sustained"},
              "after idleness, after some time of the same work (the power limit then acts), or both");
  line.real("--idle-seconds", o.gpu.idle_seconds, "before samples of a cool GPU", real_range::positive());
  line.real("--running-seconds", o.gpu.running_seconds, "before samples under sustained load", real_range::positive());
  line.custom(
      "--gauge", "weak:EPS|random|unit|heatbath:BETA[:SWEEPS]", "weak:0.3; heatbath:6:100 for solves",
      [&o](const std::string& text, const std::string& option) { o.gpu.gauge = parse_gauge_choice(text, option); },
      "where the links come from");
  line.real("--mass", o.gpu.mass, "of the solves");
  line.real("--csw", o.gpu.csw, "of the solves");
  line.real("--delta", o.gpu.delta, "of the solves: the residual is recomputed where it has fallen by this factor",
            real_range::positive());
  line.section("Output");
  line.text("--json", o.gpu.shared.json, "FILE", "write the report there; -: to stdout, and the tables to stderr");
  line.flag("--force", o.gpu.shared.force, "overwrite an existing report");
}

}  // namespace

cpu::instruction_set chosen(const std::string& name) {
  using enum cpu::instruction_set;
  const auto isa = name == "best"     ? cpu::best_instruction_set()
                   : name == "avx512" ? avx512
                   : name == "avx2"   ? avx2
                                      : generic;
  if (cpu::kernels_of(isa).single_precision[0].width == 0)
    throw input_error("--isa " + name + ": this processor does not have it");
  return isa;
}

options read_options(int argc, const char* const* argv) {
  options o;
  command_line line(
      "plaquette-bench",
      "Times the kernels and prints them as ratios to the machine's own peaks, measured in the same run.");
  declare(line, o);
  line.examples({"--device cpu", "--device gpu --json bench.json", "--device gpu --json bench.json --force"});
  line.parse(argc, argv);
  require_device_sense(line, o.gpu.shared);
  require_sense(line, o.gpu.shared.device);
  if (line.given("--protocol-seconds")) {
    o.gpu.idle_seconds = o.gpu.shared.idle_seconds;
    o.gpu.running_seconds = o.gpu.shared.running_seconds;
  }
  if (line.given("--samples")) o.gpu.samples = o.samples;
  o.typed = line.typed();
  return o;
}

json_document parameters_of(const options& o) {
  options used = o;
  command_line line;
  declare(line, used);
  json_document all{{"command", o.typed}};
  all.update(line.parameters());
  return all;
}

}  // namespace plaquette::bench
