// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/overlap-propagator/overlap_program.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "common/app/memory.hpp"
#include "common/app/parse.hpp"
#include "common/io/hdf5_file.hpp"

namespace plaquette {

double overlap_memory::largest() const { return links + std::max({kernel_modes, overlap_modes, solves}); }

double expected_mode(int modes, double volume) {
  // Modes below |lambda| on 16^3x32: 40 below .234, 200 on 24^3x64 below .205; the density grows with the seventh power
  // or so above 0.15.
  const double density = std::max(1.0, modes + 0.0) / volume;
  return std::clamp(0.205 * std::pow(density / (200.0 / 884736.0), 0.2), 0.03, 0.6);
}

overlap_memory memory_of(const overlap_options& options, const lattice_geometry& geometry) {
  const double spinor = 24.0 * sizeof(double) * static_cast<double>(geometry.local_volume());
  const double search = options.search_space > 0 ? options.search_space : std::max(16.0, 2.5 * options.modes);
  const double overlap_search = options.overlap_search_space > 0
                                    ? options.overlap_search_space
                                    : std::max(options.overlap_modes + 43.0, 2.5 * options.overlap_modes);
  overlap_memory memory;
  memory.links = (72.0 * sizeof(double) * 1.5 + 72.0 * sizeof(double)) * static_cast<double>(geometry.local_volume());
  memory.kernel_modes = spinor * (search + options.modes + 60.0);
  memory.overlap_modes = spinor * (options.modes + 0.5 * (overlap_search + 3.0 * options.overlap_modes) + 60.0);
  memory.solves = spinor * (options.modes + options.overlap_modes +
                            12.0 * (3.0 * static_cast<double>(options.masses.size()) + 12.0));
  return memory;
}

overlap_work work_of(const overlap_options& options, double lowest, double highest) {
  const auto degree = [&](double delta) { return std::log(0.41 / delta) / (2.1 * lowest / highest); };
  overlap_work work;
  const double filter = options.filter_degree > 0 ? options.filter_degree : 2.5 * highest / (1.05 * lowest);
  const double search = options.search_space > 0 ? options.search_space : std::max(16.0, 2.5 * options.modes);
  work.kernel_modes = options.modes > 0 ? 2.0 * filter * 1.6 * search : 0.0;
  work.sign = 24.0 * degree(options.delta);
  // Two hundred and fifty signs for few modes, six a mode for many; relaxed and mixed at a good half of the price.
  const double signs = options.overlap_modes > 0 ? std::max(250.0, 6.0 * options.overlap_modes) : 0.0;
  work.overlap_modes = signs * 2.0 * degree(1e-11) * (options.relaxed_modes ? 0.55 : 1.0);
  const double iterations = 95.0, relaxed = options.scheme == overlap_scheme::fixed ? 1.0 : 0.3;
  work.propagators =
      12.0 * (iterations * relaxed + 2.0 * static_cast<double>(options.masses.size())) * 2.0 * degree(1e-10);
  if (options.until < overlap_stage::propagators) work.propagators = 0.0;
  if (options.until < overlap_stage::overlap_modes) work.overlap_modes = 0.0;
  return work;
}

std::vector<named_file> overlap_program::files() const {
  using enum named_file::use;
  if (!has_hdf5() && !(options_.checkpoint + options_.propagators).empty())
    throw input_error("--checkpoint, --propagators: this program was built without HDF5");
  std::vector<named_file> list{{"--gauge", options_.shared.gauge.path, input},
                               {"--checkpoint", options_.modes_file(), checkpoint},
                               {"--checkpoint", options_.search_file(), checkpoint},
                               {"--checkpoint", options_.overlap_file(), checkpoint},
                               {"--checkpoint", options_.solutions_file(), checkpoint}};
  if (!options_.propagators.empty())
    for (std::size_t i = 0; i < options_.masses.size(); ++i)
      list.push_back({"--propagators", options_.propagator_file(static_cast<int>(i)), output});
  return list;
}

lattice_geometry overlap_program::geometry(const communicator& world) {
  const lattice_geometry geometry = geometry_of_run(options_.shared, world);
  cpu::require_source_on(options_.source, geometry.global());
  return geometry;
}

run_estimate overlap_program::estimate(app_run& run) {
  const overlap_memory memory = memory_of(options_, run.geometry);
  const double lowest = options_.sign.lowest > 0.0
                            ? options_.sign.lowest
                            : expected_mode(options_.modes, static_cast<double>(run.geometry.global_volume()));
  const double highest = options_.sign.highest > 0.0 ? options_.sign.highest : 6.2;
  const overlap_work work = work_of(options_, lowest, highest);
  run_estimate needs;
  const double spinor = 24.0 * sizeof(double) * static_cast<double>(run.geometry.local_volume());
  needs.host_bytes = run.gpu ? 40.0 * spinor : memory.largest() + 20.0 * spinor;
  needs.gpu_bytes = run.gpu ? memory.largest() : 0.0;
  needs.lines.emplace_back(
      "modes", fmt::format("{} of H in {}, {} of D in {}", options_.modes, format_bytes(memory.kernel_modes),
                           options_.overlap_modes, format_bytes(memory.overlap_modes)));
  needs.lines.emplace_back(
      "work", fmt::format("about {:.2g} applications of H: modes of H {:.0f}%, of D {:.0f}%, propagators {:.0f}%",
                          work.total(), 100.0 * work.kernel_modes / work.total(),
                          100.0 * work.overlap_modes / work.total(), 100.0 * work.propagators / work.total()));
  return needs;
}

void overlap_program::print_problem(const app_run& run) const {
  fmt::print("lattice    {}{}, grid {}\n", to_string(run.geometry.global()),
             options_.size.empty() ? "" : " (" + options_.size + ")", to_string(run.geometry.grid()));
  fmt::print("gauge      {}\n", printable(options_.shared.gauge.describe()));
  fmt::print("kernel     H = gamma_5 D_w(-{:g})\n", options_.rho);
  std::string masses;
  for (const double m : options_.masses) masses += fmt::format("{}{:g}", masses.empty() ? "" : ", ", m);
  fmt::print("masses     {}\n", masses);
}

exit_status overlap_program::body(app_run& run) {
  const gauge_input& gauge = run.gauge();
  return run.finish(run.gpu ? overlap_on_gpu(run, options_, gauge) : overlap_on_cpu(run, options_, gauge));
}

}  // namespace plaquette
