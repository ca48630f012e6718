// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/hmc/trajectory_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "miniapps/shared/krylov_time.hpp"

namespace plaquette {

namespace {

/// Seconds on an H200 at 32^3x64, times the peak of FMA in double, a site (validation/results/h200.md).
namespace flops_a_site {
constexpr double of(double seconds) { return seconds * 32.7e12 / (32.0 * 32 * 32 * 64); }
constexpr double plaquettes = of(3.3e-3), rectangles = of(4.7e-3), gather = of(4.4e-3), outer_product = of(1.5e-3),
                 determinant = of(1e-3), exponential = of(1e-3), operators = of(3.9e-3);
}  // namespace flops_a_site

/// The work around the iterations of a system: heat bath or force, residuals in double. In vectors of double.
constexpr double vectors_around_a_system = 200.0;

/// Of CG for W W^+, fitted on an H200 in half precision.
constexpr iteration_parts parts_of_cg{2, 18, 2, 8};

/// Returns the seconds of one system.
double seconds_of_system(const krylov_clock& clock, const factor_solver& solver, double iterations) {
  const iteration_parts& parts = solver.method == factor_solver::kind::cg ? parts_of_cg : parts_of_bicgstab;
  std::optional<stored_as> updated;
  if (solver.inner != precision::double_) updated.emplace();  // in double
  return iterations * clock.iteration(parts, {.numbers = solver.inner}, updated) +
         clock.of_vectors(vectors_around_a_system, precision::double_);
}

/// Flops a site of the forces of a level.
double flops_of_forces(const hybrid_action& action, const md_level& level) {
  using namespace flops_a_site;
  double flops = 0.0;
  bool gathers = false;
  for (const std::string& term : level.terms)
    if (term == "gauge") {
      flops += plaquettes + (action.gauge.c1 != 0.0 ? rectangles : 0.0);
    } else {
      gathers = gathers || action.has_determinant();
      flops += term == "det" ? determinant : outer_product * action.quarks->pairs;
    }
  return flops + (gathers ? gather : 0.0);
}

}  // namespace

double trajectory_times::total() const { return std::accumulate(factors.begin(), factors.end(), forces + moves); }

double iterations_of_system(double lightest, double mu) { return mu > 0.0 ? 36.0 / std::pow(mu, 0.9) : lightest; }

trajectory_times times_of_trajectory(const hmc_options& options, const lattice_geometry& geometry,
                                     const machine_figures& machine) {
  const hybrid_action& action = options.action;
  const auto levels = static_cast<int>(options.plan.levels.size());
  const std::vector<int> forces = forces_of(options.plan.operations, levels);
  const double sites = static_cast<double>(geometry.local_volume());
  const double peak = machine.fma_double * machine.share_of("forces");  // efficiency, as a multiple of an H200's
  trajectory_times times;
  for (int k = 0; k < levels; ++k)
    times.forces += forces[static_cast<std::size_t>(k)] * sites / peak *
                    flops_of_forces(action, options.plan.levels[static_cast<std::size_t>(k)]);
  // Each drift moves the links, and a displaced kick moves them there and back. Operators follow before a kick of
  // quarks.
  int moves = 0, followed = 0;
  const auto has_quarks = [&](int level) {
    return std::ranges::any_of(options.plan.levels[static_cast<std::size_t>(level)].terms,
                               [](const std::string& term) { return term != "gauge"; });
  };
  for (const md_operation& op : options.plan.operations) {
    const bool displaces = op.what == md_operation::kind::displaced_kick;
    moves += op.what == md_operation::kind::drift ? 1 : displaces ? 2 : 0;
    if (op.what != md_operation::kind::drift && has_quarks(op.level)) followed += displaces ? 2 : 1;
  }
  times.moves =
      sites / peak * (moves * flops_a_site::exponential + (action.quarks ? followed : 0) * flops_a_site::operators);
  if (!action.quarks) return times;
  const std::vector<std::string> terms = term_names(action);
  const krylov_clock clock(machine, geometry, action.has_determinant(), options.shared.overlap, 1);
  for (int k = 0; k < action.quarks->factors(); ++k) {
    const std::string& term = terms[static_cast<std::size_t>(first_factor_term(action) + k)];
    int systems = 2;  // heat bath and action
    for (int l = 0; l < levels; ++l)
      if (std::ranges::count(options.plan.levels[static_cast<std::size_t>(l)].terms, term) > 0)
        systems += forces[static_cast<std::size_t>(l)];
    factor_solver solver{k == 0 ? factor_solver::kind::bicgstab : factor_solver::kind::cg, precision::half};
    if (!action.solvers.empty())
      solver = action.solvers[std::min(static_cast<std::size_t>(k), action.solvers.size() - 1)];
    const double iterations = iterations_of_system(options.expected_iterations, action.quarks->mu(k));
    times.factors.push_back(action.quarks->pairs * systems * seconds_of_system(clock, solver, iterations));
  }
  return times;
}

}  // namespace plaquette
