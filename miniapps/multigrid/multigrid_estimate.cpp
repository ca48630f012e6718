// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/multigrid/multigrid_estimate.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "common/algebra/spinor.hpp"
#include "common/solvers/schur_work.hpp"

namespace plaquette {

namespace {

// Constants of the reports on H100 and H200 in validation/results (32^3x64, aggregates 4^4 and 2^4, 24 vectors).

/// Ratio of an application on the finest lattice with the vectors of the relaxation to the operator alone.
constexpr double with_vectors = 1.85;
/// Complex numbers of a column that a coarse level reads or writes around an application, a site and component.
constexpr double coarse_vectors = 20.0;
/// Seconds of a coarse application on a GPU, however small the lattice is.
constexpr double least_coarse = 1.9e-5;
/// Seconds that the faces of a coarse lattice take on a GPU, a hop: packing, the message, another kernel.
constexpr double coarse_hop = 1.0e-5;
/// Ratio of a solve to the sum of its levels when they are timed one by one.
constexpr double of_levels = 0.95;
/// Iterations if no option gives their number: measured, 12 to 22.
constexpr int usual_iterations = 20;
/// Seconds of a setup that do not depend on the lattice, on a GPU: memory, plans, hosts.
constexpr double least_setup = 0.6;

/// Returns the shape that trials of the cycle find nearly always, if they are free to.
cycle_shape expected_shape(const multigrid_options& options) {
  if (!options.open_choices().shape) return options.multigrid.shape();
  cycle_shape shape = options.multigrid.shape();
  shape.k_steps = 2;
  shape.steps_after = {7, 4};
  return shape;
}

kernel_time fine_application(const multigrid_options& options, const lattice_geometry& geometry, precision numbers,
                             int columns, const machine_figures& machine) {
  const reconstruct links = machine.is_gpu ? reconstruct::twelve : reconstruct::none;
  kernel_work work;
  work.bytes = with_vectors * 0.5 * static_cast<double>(geometry.local_volume()) *
               schur_bytes_per_site(options.shared.action.has_clover(), columns, numbers, links);
  work.share = machine.share_of(fmt::format("schur {} {}", name(numbers), stored_reals(links)), columns);
  work.hops = 2;
  work.overlap = options.shared.overlap;
  const double projected = 0.5 * spinor_reals * bytes_of_real(numbers);
  work.sent_a_site = 0.5 * columns * (projected + (numbers == precision::half ? 8.0 : 0.0));
  work.read_a_site = 0.5 * columns * bytes_of_spinor(numbers);
  return time_of(machine, divided(geometry.global(), geometry.grid()), work);
}

/// The red-black operator of a coarse lattice: two hops of eight matrices of n^2 complex numbers in 16 bits.
kernel_time coarse_application(const extents& lattice, const extents& grid, double n, int columns,
                               const machine_figures& machine) {
  const divided_lattice part = divided(lattice, grid);
  kernel_work work;
  const double number = machine.is_gpu ? 4.0 : 8.0;
  work.bytes = part.sites() * (8.0 * n * n * number + coarse_vectors * n * 8.0 * columns);
  work.share = machine.share_of("coarse");
  work.hops = 2;
  work.least = machine.is_gpu ? least_coarse : machine.kernel;
  work.sent_a_site = 0.5 * columns * n * 8.0;
  kernel_time t = time_of(machine, part, work);
  if (machine.is_gpu && t.messages > 0) t.seconds += work.hops * coarse_hop;
  return t;
}

/// Seconds on a lattice that each rank holds whole, and of the residuals that are gathered for it.
double seconds_held_whole(const extents& lattice, double n, const level_time& level, double visits, int columns,
                          const extents& grid, const machine_figures& machine) {
  const double alone = coarse_application(lattice, {1, 1, 1, 1}, n, columns, machine).seconds;
  const double bytes = static_cast<double>(volume(lattice)) * n * 8.0 * columns;
  const bool one_host = volume(grid) <= machine.ranks_a_host;
  const double gathered =
      seconds_of_sum(machine, static_cast<int>(volume(grid))) + bytes / (one_host ? machine.link : machine.network);
  return level.applications * alone + visits * gathered;
}

/// The lattices of a cycle. From the one on with which that is fastest, each rank holds them whole.
std::vector<level_time> levels_of_cycle(const multigrid_options& options, const lattice_geometry& geometry,
                                        const cycle_shape& shape, int columns, const machine_figures& machine) {
  const multigrid_parameters& p = options.multigrid;
  const precision of_cycle = options.cycle_precision == "half" ? precision::half : precision::single;
  const std::vector<extents> lattices = lattices_of(p, geometry);
  const double visits = shape.cycle == cycle_kind::v ? 1.0 : shape.cycle == cycle_kind::w ? 2.0 : shape.k_steps;
  const double sum = seconds_of_sum(machine, static_cast<int>(volume(geometry.grid())));
  std::vector<level_time> levels;
  std::vector<double> whole;         // seconds of a lattice that is held whole
  double cycles = 1.0, above = 1.0;  // of this lattice and of the one above
  for (std::size_t k = 0; k < lattices.size(); ++k) {
    const bool is_coarsest = k + 1 == lattices.size();
    const int steps =
        multigrid_parameters::on_lattice(shape.steps_after, k) + multigrid_parameters::on_lattice(p.steps_before, k);
    const double n = k > 0 ? 2.0 * p.coarsenings[k - 1].vectors : 0.0;
    level_time level;
    level.application = k == 0 ? fine_application(options, geometry, of_cycle, columns, machine)
                               : coarse_application(lattices[k], geometry.grid(), n, columns, machine);
    level.applications =
        is_coarsest ? cycles * (p.coarsest_steps + 1.0) : cycles * (steps + 1.0) + (k > 0 ? above : 0.2);
    level.sums = is_coarsest ? cycles * (p.coarsest_steps / 6.0 + 1.0) : 3.0 * cycles;
    level.seconds = level.applications * level.application.seconds + level.sums * sum;
    whole.push_back(
        k == 0 ? 0.0 : seconds_held_whole(lattices[k], n, level, above * visits, columns, geometry.grid(), machine));
    levels.push_back(level);
    above = cycles;
    if (k + 2 < lattices.size()) cycles *= visits;
  }
  if (volume(geometry.grid()) == 1 || options.whole_from == "never") return levels;
  double divided_seconds = 0.0, whole_seconds = 0.0, best = 0.0;
  std::size_t whole_from = levels.size();
  for (std::size_t k = levels.size(); k-- > 1;) {
    divided_seconds += levels[k].seconds;
    whole_seconds += whole[k];
    if (whole_seconds - divided_seconds < best) best = whole_seconds - divided_seconds, whole_from = k;
  }
  if (p.whole_from > 0) whole_from = p.whole_from;
  for (std::size_t k = whole_from; k < levels.size(); ++k) {
    levels[k].seconds = whole[k];
    levels[k].application.inside = levels[k].application.outside = 0.0;
    levels[k].application.messages = 0;
  }
  return levels;
}

/// Returns the seconds of relaxation of random vectors, inverse iterations, trials, and work that each site needs once.
double seconds_of_setup(const multigrid_options& options, const lattice_geometry& geometry, double cycle,
                        double batched_cycle, const machine_figures& machine) {
  const multigrid_parameters& p = options.multigrid;
  const int vectors = p.coarsenings.front().vectors, batch = std::max(1, std::min(p.setup_batch, vectors));
  const double batches = (vectors + batch - 1) / batch;
  const double relaxation = batches * p.relaxation_iterations * 2.0 *
                            fine_application(options, geometry, precision::single, batch, machine).seconds;
  const double refinement = p.refinements * batches * batched_cycle;
  const double trials = 4.0 * 24.0 * cycle;
  // Orthonormal vectors and coarse operators: bytes a fine site that grow with the vectors.
  const double once = static_cast<double>(geometry.local_volume()) * vectors * 96.0 * 1000.0 / machine.copy;
  return (machine.is_gpu ? least_setup : 0.0) + relaxation + refinement + trials + once;
}

}  // namespace

multigrid_times times_of_multigrid(const multigrid_options& options, const lattice_geometry& geometry, int columns,
                                   const machine_figures& machine) {
  const cycle_shape shape = expected_shape(options);
  const multigrid_parameters& p = options.multigrid;
  const auto levels_for = [&](int width) { return levels_of_cycle(options, geometry, shape, width, machine); };
  const auto cycle_of = [](const std::vector<level_time>& levels) {
    double seconds = 0.0;
    for (const level_time& level : levels) seconds += level.seconds;
    return of_levels * seconds;
  };
  multigrid_times times;
  times.levels = levels_for(columns);
  times.iteration = cycle_of(times.levels);
  times.iterations = options.expected_iterations > 0 ? options.expected_iterations : usual_iterations;
  times.solve = times.iterations * times.iteration / columns;
  times.setup = seconds_of_setup(options, geometry, cycle_of(levels_for(1)),
                                 cycle_of(levels_for(std::min(p.setup_batch, p.coarsenings.front().vectors))), machine);
  return times;
}

}  // namespace plaquette
