// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/hmc/companion_checks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/app/draw.hpp"
#include "common/hmc/trajectory.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/gauge_force.hpp"
#include "cpu_ref/gauge/link_arithmetic.hpp"
#include "cpu_ref/hmc/hmc_textbook.hpp"

namespace plaquette {

namespace {

namespace textbook = cpu::textbook;

/// The companion's links, and a direction along which they move.
struct companion {
  communicator alone{};
  lattice_geometry geometry{{4, 4, 4, 8}};
  gauge_configuration links, direction;

  companion(std::uint64_t seed)
      : links(cpu::random_configuration(geometry, seed, alone)),
        direction(textbook::momenta(geometry, seed, 0, alone)) {}

  gauge_configuration displaced(double step) const {
    gauge_configuration moved = links;
    cpu::move_links(moved, direction, step, alone);
    return moved;
  }
  /// Returns dS/de along the direction, as a force has it.
  double slope_of(const gauge_configuration& force) const {
    double sum = 0.0;
    for (std::int64_t n = 0; n < geometry.local_volume(); ++n)
      for (std::size_t mu = 0; mu < dimensions; ++mu)
        sum += 2.0 * trace(direction.at_site(n)[mu] * force.at_site(n)[mu]).re;
    return sum;
  }
};

/// Returns the action of a term at moved links less that at the links, by the textbook.
/// \param residual  takes the residuals of the solutions that it is made of
double change_of_term(molecular_dynamics& state, const companion& where, int term, double step,
                      worst_of_several& residual) {
  const hybrid_action& action = state.action();
  const gauge_configuration moved = where.displaced(step);
  if (term == 0) return textbook::gauge_action_change(moved, where.links, action.gauge, where.alone);
  const quark_pairs& quarks = *action.quarks;
  const int k = term - first_factor_term(action);
  if (k < 0) return -2.0 * quarks.pairs * textbook::log_determinant_change(moved, where.links, quarks, where.alone);
  state.set_links(moved);
  state.solve_for_actions();
  double change = 0.0;
  for (int pair = 0; pair < quarks.pairs; ++pair) {
    spinor_configuration phi(where.geometry), z(where.geometry), none(where.geometry);
    state.get(k, factor_vectors::pseudofermion, pair, phi);
    state.get(k, factor_vectors::end, pair, z);
    residual.add(textbook::even_system_residual(z, textbook::source_of_action(phi, quarks, k), moved,
                                                textbook::operator_of(quarks, k), false, where.alone),
                 10.0 * action.action_tolerance);
    change += textbook::factor_action_change(z, none, phi, quarks.is_last(k), where.alone);
  }
  return change;
}

/// Compares every force with differences of fourth order: what they leave out is below 1e-8 of it at this step.
void check_forces(app_run& run, molecular_dynamics& state, const companion& where) {
  constexpr double e = 1e-3, tolerance = 1e-6;
  const std::vector<std::string> names = term_names(state.action());
  worst_of_several residual;
  state.refresh(0);
  for (int term = 0; term < std::ssize(names); ++term) {
    state.set_links(where.links);
    const double expected = where.slope_of(state.force(term, state.action().action_tolerance));
    const auto at = [&](double step) { return change_of_term(state, where, term, step, residual); };
    const double found = (8.0 * (at(e) - at(-e)) - (at(2 * e) - at(-2 * e))) / (12.0 * e);
    double off = std::abs(found - expected) / std::max(std::abs(expected), 1.0);
    run.world.maximum({&off, 1});
    run.result.checks.add("companion: force " + names[static_cast<std::size_t>(term)] + " against its action", off,
                          tolerance);
  }
  if (!residual.any) return;
  run.world.maximum({&residual.value, 1});
  run.result.checks.add("companion: systems, by the textbook", residual.value, residual.tolerance);
}

/// Returns the run's plan with a few steps of its outermost level: shorter ones, as hot links have large forces.
md_plan short_plan(const hybrid_action& action, const md_plan& plan, int steps, double tau) {
  std::vector<md_level> levels = plan.levels;
  levels.front().steps = steps;
  return plan_of(action, levels, tau);
}
double short_tau(const md_plan& plan) { return std::min(0.5 * plan.tau / plan.levels.front().steps, 0.1); }

/// Halves the steps of the outermost level twice: the ends of trajectories come nearer by 4 or 16.
void check_order(app_run& run, molecular_dynamics& state, const companion& where, const md_plan& plan) {
  const auto end = [&](int steps) {
    state.set_links(where.links);
    state.refresh(1);
    integrate(state, short_plan(state.action(), plan, steps, short_tau(plan)));
    return state.links();
  };
  const gauge_configuration once = end(1), twice = end(2), four_times = end(4);
  const double expected = order_of(plan) == 2 ? 4.0 : 16.0;
  constexpr double rounding = 1e-13;  // without any force steps of any length are exact
  const double far = cpu::rms_distance(once, twice, where.alone),
               near = cpu::rms_distance(twice, four_times, where.alone);
  double off = far < rounding && near < rounding ? 0.0 : std::abs(std::log2(far / near / expected));
  run.world.maximum({&off, 1});
  run.result.checks.add(fmt::format("companion: half the step, {:g} times nearer (log2)", expected), off, 1.0);
}

/// A step that was not made, or was shorter than said, is seen here. Then the way back.
void check_operations(app_run& run, molecular_dynamics& state, const companion& where, const md_plan& plan) {
  const md_plan few = short_plan(state.action(), plan, 2, 2.0 * short_tau(plan));
  state.set_links(where.links);
  state.refresh(2);
  double off = 0.0;
  for (const md_operation& operation : few.operations)
    keep_largest(off, error_of_operation(state, few, operation, where.alone));
  run.world.maximum({&off, 1});
  run.result.checks.add("companion: every operation of a trajectory", off, 1e-10);
  state.reverse();
  integrate(state, few);
  off = cpu::rms_distance(state.links(), where.links, where.alone);
  run.world.maximum({&off, 1});
  run.result.checks.add("companion: links after the way back", off, 1e-10);
}

}  // namespace

double error_of_operation(molecular_dynamics& state, const md_plan& plan, const md_operation& operation,
                          const communicator& comm) {
  using enum md_operation::kind;
  const std::vector<int>& terms = plan.terms_of_level[static_cast<std::size_t>(operation.level)];
  gauge_configuration links = state.links(), momenta = state.momenta();
  const auto add_force = [&](gauge_configuration& to, double step) {
    for (const int term : terms) cpu::combine(to, 1.0, state.force(term, 0.0), step);
  };
  const gauge_configuration before = links;
  if (operation.what == drift) cpu::move_links(links, momenta, operation.step, comm);
  if (operation.what == displaced_kick) {
    gauge_configuration displacement(links.geometry()), displaced = links;
    add_force(displacement, operation.displacement);
    cpu::move_links(displaced, displacement, 1.0, comm);
    state.set_links(displaced);
  }
  if (operation.what != drift) add_force(momenta, operation.step);
  if (operation.what == displaced_kick) state.set_links(before);
  operate(state, plan, operation);
  double off = cpu::rms_distance(state.links(), links, comm);
  keep_largest(off, cpu::rms_distance(state.momenta(), momenta, comm));
  return off;
}

void check_companion(app_run& run, const hmc_options& options, const companion_maker& make) {
  run.begin("companion lattice");
  const std::uint64_t seed = drawn_number(run.world);
  run.note_draw("companion's links and direction", seed);
  const companion where(seed);
  hybrid_action action = options.action;
  action.seed = seed;
  action.exact_sums = false;
  action.action_tolerance = 1e-13;
  action.force_tolerance = action.cg_force_tolerance = 1e-11;
  for (factor_solver& solver : action.solvers) solver.inner = precision::double_;
  const auto state = make(where.geometry, where.links, action);
  check_forces(run, *state, where);
  check_operations(run, *state, where, options.plan);
  check_order(run, *state, where, options.plan);
  run.progress.clear();
}

}  // namespace plaquette
