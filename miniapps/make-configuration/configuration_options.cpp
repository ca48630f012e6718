// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/make-configuration/configuration_options.hpp"

#include <fmt/core.h>

#include "common/app/command_line.hpp"
#include "common/app/parse.hpp"
#include "common/error.hpp"

namespace plaquette {

namespace {

constexpr int most_sweeps = 100'000'000;

void declare_machine(command_line& line, shared_options& shared) {
  line.section("Lattice and machine");
  declare_lattice(line, shared, "Extents of the lattice, all even; of a file given to --start, its own");
  line.choice("--device", shared.device, {"cpu", "gpu"}, "What the links are updated on").reported("device");
  declare_threads(line, shared);
  declare_stall_timeout(line, shared);
}

void declare_update(command_line& line, configuration_options& options) {
  line.section("Action and update");
  line.reports(true);
  line.real("--beta", options.action.beta, "6 / g^2 of the Wilson gauge action", real_range::not_negative());
  line.real("--anisotropy", options.action.anisotropy, "xi_g of the gauge action", real_range::positive());
  line.integer("--sweeps", options.sweeps, "Combined sweeps: heat baths, then over-relaxations", 0, most_sweeps);
  line.integer("--heatbath", options.plan.heatbath, "Heat baths of a combined sweep", 0, 1000);
  line.integer("--overrelaxation", options.plan.overrelaxation, "Over-relaxations of a combined sweep", 0, 1000);
  line.custom(
          "--start", "cold|hot|FILE", "cold",
          [&shared = options.shared](const std::string& text, const std::string&) {
            using enum gauge_choice::origin;
            if (text.empty()) throw input_error("--start: expected cold, hot or a file, found ''");
            shared.gauge = text == "cold"  ? gauge_choice{.from = unit}
                           : text == "hot" ? gauge_choice{.from = random}
                                           : gauge_choice{.from = file, .path = text};
          },
          "The links to begin with: unit ones, random ones, or those of a file")
      .reported_as("start", options.start());
  declare_reunitarise(line, options.shared);
  line.integer("--first-sweep", options.first_sweep,
               "Combined sweeps done before, to continue a run to the same bits: its random numbers are not used again",
               0, most_sweeps);
  declare_seed(line, options.shared);
}

void declare_output(command_line& line, configuration_options& options) {
  line.section("Output");
  line.text("--output", options.output, "FILE", "Write the configuration there");
  line.choice("--format", options.ildg, {{"nersc", false}, {"ildg", true}}, "Of the configuration")
      .needs("--output FILE");
  line.choice("--precision", options.precision_bits, {{"64", 64}, {"32", 32}}, "Bits of a number of the configuration")
      .needs("--output FILE")
      .reported_as("precision", options.precision_bits);
  line.flag("--two-row", options.two_row, "Leave the third rows out (nersc)")
      .needs_value("--format", "nersc")
      .needs("--output FILE");
  line.text("--history", options.history, "FILE.csv|FILE.txt", "Write the plaquette history there");
  line.integer("--measure-every", options.measure_every, "Combined sweeps from one measurement to the next", 1,
               most_sweeps);
  line.text("--checkpoint", options.checkpoint, "FILE",
            "Keep the state of the run there (an ILDG configuration). Where the file exists already, the run continues "
            "from it to the same bits, on any process grid; it is refused unless it belongs to this run. A run that is "
            "stopped then leaves its links there and not in --output; its --history and --json are replaced by the run "
            "that continues it. A larger --sweeps goes on from a finished run's");
  line.integer("--checkpoint-every", options.checkpoint_every,
               "Combined sweeps from one checkpoint to the next; one more at the end, however it comes", 1, most_sweeps)
      .needs("--checkpoint FILE");
  line.reports(false);
  line.text("--json", options.shared.json, "FILE", "Write the report there; -: to stdout, and the tables to stderr");
  line.flag("--force", options.shared.force, "Overwrite output files that exist");
  line.flag("--dryrun", options.shared.dry_run, "Say what would run, and how much memory it takes; then stop");
  line.real("--time-limit", options.shared.time_limit,
            "Seconds after which to stop and write what there is (exit status 6)", real_range::positive());
  line.footer(
      "Exit status: 0 done and verified; 1 a check failed; 2 unusable arguments or input; 4 out of memory;\n"
      "5 output could not be written; 6 stopped by a signal or the time limit; 70 internal error.");
}

void declare(command_line& line, configuration_options& options) {
  declare_machine(line, options.shared);
  declare_update(line, options);
  declare_output(line, options);
}

}  // namespace

std::string configuration_options::start() const {
  switch (shared.gauge.from) {
    case gauge_choice::origin::unit:
      return "cold";
    case gauge_choice::origin::random:
      return "hot";
    default:
      return shared.gauge.path;
  }
}

configuration_options parse_configuration_options(int argc, const char* const* argv) {
  configuration_options options;
  options.shared.gauge = {.from = gauge_choice::origin::unit};
  command_line line(
      "plaquette-make-configuration",
      "Makes a quenched SU(3) gauge configuration: pseudo heat bath (Cabibbo-Marinari, Kennedy-Pendleton) "
      "and over-relaxation for the Wilson gauge action. The same bits on any process grid and any number "
      "of threads.");
  declare(line, options);
  line.examples({"--lattice 8x8x8x16 --beta 6.0 --sweeps 400 --output b6.nersc",
                 "--lattice 32x32x32x64 --sweeps 300 --device gpu --output b6.nersc",
                 "--lattice 8x8x8x16 --beta 6.0 --sweeps 10000 --checkpoint state --output b6.nersc"});
  line.parse(argc, argv);
  require_reunitarise_sense(options.shared);
  options.command = line.typed();
  if (options.sweeps > most_sweeps - options.first_sweep)
    throw input_error("--first-sweep and --sweeps: expected at most " + std::to_string(most_sweeps) +
                      " in all, found more");
  return options;
}

json_document parameters_of(const configuration_options& options, const lattice_geometry& geometry) {
  configuration_options used = options;
  used.shared.lattice = geometry.global();
  used.shared.grid = geometry.grid();
  command_line line;
  declare(line, used);
  json_document parameters{{"command", options.command}};
  parameters.update(line.parameters());
  return parameters;
}

}  // namespace plaquette
