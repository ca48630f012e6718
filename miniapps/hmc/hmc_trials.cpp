// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/hmc/hmc_trials.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/error.hpp"
#include "common/multigrid/multigrid_parameters.hpp"

namespace plaquette {

namespace {

constexpr std::uint64_t first_trial = std::uint64_t{1} << 40;  ///< number of a trajectory that no chain has

/// Returns the time of an application of Mhat in units of one in double: as bytes go, and as was measured on both
/// devices (CPUs unpack 16 bits).
double price_of(precision inner, bool on_gpu) {
  if (inner == precision::half) return on_gpu ? 0.30 : 0.50;
  return inner == precision::single ? 0.50 : 1.0;
}

/// Returns the time of a whole cycle of multigrid as a multiple of its relaxation on the finest lattice. The number of
/// a GPU was measured at 32^3x64; the number of a CPU is a guess.
double price_of_coarse_lattices(bool on_gpu) { return on_gpu ? 2.7 : 1.6; }

/// Applications of Mhat in double that a set-up of multigrid takes the time of. A trajectory makes one.
constexpr double price_of_hierarchy = 2800.0;
/// The same for the two cycles of a factor with a twist on coarse lattices, made on a CPU in 3% of the set-up's time.
constexpr double price_of_twisted_cycles = 90.0;

/// Returns how often the force of a term is made in a trajectory.
double forces_of(int term, const md_plan& plan) {
  double forces = 0.0;
  for (const md_operation& o : plan.operations) {
    if (o.what == md_operation::kind::drift) continue;
    const std::vector<int>& terms = plan.terms_of_level[static_cast<std::size_t>(o.level)];
    if (std::ranges::find(terms, term) == terms.end()) continue;
    forces += o.what == md_operation::kind::displaced_kick ? 2.0 : 1.0;
  }
  return forces;
}

/// Returns the price of one force of each factor with this solver; infinite if it had to be made again. The first
/// factor bears the set-up of multigrid, and each factor the set-up of its own cycles.
std::vector<double> prices_of(const factor_solver& solver, const hmc_options& options, const dynamics_maker& make) {
  hybrid_action action = options.action;
  std::ranges::fill(action.solvers, solver);
  const auto md = make(action);
  md->refresh(first_trial);
  std::vector<double> prices;
  for (int k = 0; k < action.quarks->factors(); ++k) {
    md->force(first_factor_term(action) + k, 0.0);
    const solve_count count = md->work()[static_cast<std::size_t>(k)].forces;
    const bool on_gpu = options.shared.device == "gpu";
    double price = static_cast<double>(count.applications) * price_of(solver.inner, on_gpu);
    if (solver.method == factor_solver::kind::multigrid) {
      price *= price_of_coarse_lattices(on_gpu);
      const double forces = forces_of(first_factor_term(action) + k, options.plan);
      if (k == 0) price += price_of_hierarchy / forces;
      if (!action.twist_of_cycle(k).is_zero()) price += price_of_twisted_cycles / forces;
    }
    prices.push_back(count.repeated > 0 ? std::numeric_limits<double>::infinity() : price);
  }
  return prices;
}

/// Returns |dH| of a trajectory, NaN if its links leave SU(3). Links are put back.
double size_of_dh(molecular_dynamics& md, const md_plan& plan) {
  double size = std::numeric_limits<double>::quiet_NaN();
  md.refresh(first_trial);
  try {
    integrate(md, plan);
    size = std::abs(md.change_of_energy().total());
  } catch (const error& failed) {
    if (failed.status() == exit_status::interrupted || !have_links_left_su3(md)) throw;
  }
  md.restore();
  return size;
}

}  // namespace

void choose_solvers(app_run& run, hmc_options& options, const dynamics_maker& make) {
  using enum precision;
  using enum factor_solver::kind;
  std::vector<factor_solver> candidates{{cg, double_},       {cg, single},       {cg, half},
                                        {bicgstab, double_}, {bicgstab, single}, {bicgstab, half}};
  // On smaller lattices coarse ones have too few sites to save anything.
  if (run.geometry.global_volume() >= std::int64_t{8} * 8 * 8 * 16)
    candidates.push_back({multigrid, default_cycle_precision(options.shared.device == "gpu")});
  std::vector<double> least(options.action.solvers.size(), std::numeric_limits<double>::infinity());
  std::vector<factor_solver> best = options.action.solvers;
  for (const factor_solver& solver : candidates) {
    if (run.control.should_stop()) return;
    const std::vector<double> prices = prices_of(solver, options, make);
    for (std::size_t k = 0; k < best.size(); ++k)
      if (prices[k] < least[k]) {
        least[k] = prices[k];
        best[k] = solver;
      }
  }
  options.action.solvers = best;
  run.result.parameters["solvers"] = describe(best);
  if (run.is_root()) fmt::print("trial      --solvers {}\n", describe(best));
}

md_plan with_better_steps(const hybrid_action& action, const md_plan& plan, double size) {
  constexpr double target = 0.3;
  std::vector<md_level> levels = plan.levels;
  int& steps = levels.front().steps;
  const double factor = std::isfinite(size) ? std::pow(size / target, 1.0 / order_of(plan)) : 2.0;
  steps = std::max(1, static_cast<int>(std::ceil(steps * std::clamp(factor, 0.5, 2.0))));
  return plan_of(action, levels, plan.tau);
}

bool have_links_left_su3(molecular_dynamics& md) { return !(md.distance_from_su3() < 1e-6); }

void choose_steps(app_run& run, hmc_options& options, molecular_dynamics& md) {
  constexpr double too_much = 0.7, too_little = 0.02;
  constexpr int trials = 6;
  md_plan plan = options.plan;
  int too_few = 0;  // steps that were not enough
  for (int trial = 0; trial < trials && !run.control.should_stop(); ++trial) {
    const int steps = plan.levels.front().steps;
    const double size = size_of_dh(md, plan);
    const bool is_enough = size <= too_much;
    if (is_enough || too_few >= options.plan.levels.front().steps) options.plan = plan;
    if (!is_enough) too_few = std::max(too_few, steps);
    if (is_enough && size >= too_little) break;
    plan = with_better_steps(options.action, plan, size);
    if (is_enough) {
      std::vector<md_level> levels = plan.levels;
      levels.front().steps = std::max(levels.front().steps, too_few + 1);
      plan = plan_of(options.action, levels, plan.tau);
    }
    if (plan.levels.front().steps == steps) break;
  }
  run.result.parameters["integrator"] = describe(options.plan.levels);
  if (run.is_root()) fmt::print("trial      --integrator '{}'\n", describe(options.plan.levels));
}

}  // namespace plaquette
