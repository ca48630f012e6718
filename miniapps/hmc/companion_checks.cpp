// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/hmc/companion_checks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/app/draw.hpp"
#include "common/gauge/force.hpp"
#include "common/hmc/trajectory.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/hmc/hmc_textbook.hpp"
#include "miniapps/hmc/drawn_sites.hpp"

namespace plaquette {

namespace {

namespace textbook = cpu::textbook;

/// Links, and a direction along which they move.
struct test_links {
  app_run& run;
  std::string name;  ///< precedes the names of checks
  const communicator& comm;
  gauge_configuration links, direction;

  gauge_configuration displaced(double step) const {
    gauge_configuration moved = links;
    for (std::int64_t n = 0; n < links.geometry().local_volume(); ++n)
      for (std::size_t mu = 0; mu < dimensions; ++mu)
        moved.at_site(n)[mu] = moved_link(links.at_site(n)[mu], direction.at_site(n)[mu], step);
    exchange_ghosts(moved, comm);
    return moved;
  }
  /// Returns dS/de along the direction, as a force has it.
  double slope_of(const gauge_configuration& force) const {
    double sum = 0.0;
    for (std::int64_t n = 0; n < links.geometry().local_volume(); ++n)
      for (std::size_t mu = 0; mu < dimensions; ++mu)
        sum += 2.0 * trace(direction.at_site(n)[mu] * force.at_site(n)[mu]).re;
    comm.sum(std::span<double>(&sum, 1));
    return sum;
  }
  /// Adds a check of the largest value of any rank.
  void check(const std::string& what, double value, double tolerance) const {
    run.world.maximum({&value, 1});
    run.result.checks.add(name + what, value, tolerance);
  }
};

/// Returns the action of each term at moved links less that at the links, by the textbook.
/// \param residual  takes the residuals of the solutions that they are made of
std::vector<double> changes_of_terms(molecular_dynamics& state, const test_links& where, double step,
                                     worst_of_several& residual) {
  const hybrid_action& action = state.action();
  const gauge_configuration moved = where.displaced(step);
  std::vector<double> changes{textbook::gauge_action_change(moved, where.links, action.gauge, where.comm)};
  if (!action.quarks) return changes;
  const quark_pairs& quarks = *action.quarks;
  if (action.has_determinant())
    changes.push_back(-2.0 * quarks.pairs * textbook::log_determinant_change(moved, where.links, quarks, where.comm));
  state.set_links(moved);
  state.solve_for_actions();
  for (int k = 0; k < quarks.factors(); ++k) {
    changes.push_back(0.0);
    for (int pair = 0; pair < quarks.pairs; ++pair) {
      spinor_configuration phi(moved.geometry()), z(moved.geometry()), none(moved.geometry());
      state.get(k, factor_vectors::pseudofermion, pair, phi);
      state.get(k, factor_vectors::end, pair, z);
      residual.add(textbook::even_system_residual(z, textbook::source_of_action(phi, quarks, k, moved, where.comm),
                                                  moved, textbook::operator_of(quarks, k), false, where.comm),
                   10.0 * action.action_tolerance);
      changes.back() += textbook::factor_action_change(z, none, phi, quarks.is_last(k), where.comm);
    }
  }
  return changes;
}

/// Compares every force with differences of fourth order: their truncation error is below 1e-8 of the force at this
/// step.
void check_forces(molecular_dynamics& state, const test_links& where) {
  constexpr double e = 1e-3, tolerance = 1e-6;
  const std::vector<std::string> names = term_names(state.action());
  worst_of_several residual;
  state.refresh(0);
  std::vector<double> expected;
  for (int term = 0; term < std::ssize(names); ++term)
    expected.push_back(where.slope_of(state.force(term, state.action().action_tolerance)));
  const auto at = [&](double step) { return changes_of_terms(state, where, step, residual); };
  const std::vector<double> near = at(e), back = at(-e), far = at(2 * e), far_back = at(-2 * e);
  for (std::size_t n = 0; n < names.size(); ++n) {
    const double found = (8.0 * (near[n] - back[n]) - (far[n] - far_back[n])) / (12.0 * e);
    where.check("force " + names[n] + " against its action",
                std::abs(found - expected[n]) / std::max(std::abs(expected[n]), 1.0), tolerance);
  }
  if (residual.any) where.check("systems, by the textbook", residual.value, residual.tolerance);
}

/// Returns the run's plan with a few steps of its outermost level: shorter ones, as hot links have large forces.
md_plan short_plan(const hybrid_action& action, const md_plan& plan, int steps, double tau) {
  std::vector<md_level> levels = plan.levels;
  levels.front().steps = steps;
  return plan_of(action, levels, tau);
}
double short_tau(const md_plan& plan) { return std::min(0.5 * plan.tau / plan.levels.front().steps, 0.1); }

/// Halves the steps of the outermost level twice: the ends of trajectories come nearer by 4 or 16.
void check_order(molecular_dynamics& state, const test_links& where, const md_plan& plan) {
  const auto end = [&](int steps) {
    state.set_links(where.links);
    state.refresh(1);
    integrate(state, short_plan(state.action(), plan, steps, short_tau(plan)));
    return state.links();
  };
  const gauge_configuration once = end(1), twice = end(2), four_times = end(4);
  const double expected = order_of(plan) == 2 ? 4.0 : 16.0;
  constexpr double rounding = 1e-13;  // without any force steps of any length are exact
  const double far = cpu::rms_distance(once, twice, where.comm),
               near = cpu::rms_distance(twice, four_times, where.comm);
  where.check(fmt::format("half the step, {:g} times nearer (log2)", expected),
              far < rounding && near < rounding ? 0.0 : std::abs(std::log2(far / near / expected)), 1.0);
}

/// A step that was not made, or was shorter than said, is seen here. Then the way back.
void check_operations(molecular_dynamics& state, const test_links& where, const md_plan& plan) {
  const md_plan few = short_plan(state.action(), plan, 2, 2.0 * short_tau(plan));
  state.set_links(where.links);
  state.refresh(2);
  double off = 0.0;
  const std::vector<coordinate> all = drawn_sites(where.links.geometry(), 0);
  for (const md_operation& operation : few.operations)
    keep_largest(off, error_of_operation(state, few, operation, all, where.comm));
  where.check("every operation of a trajectory", off, 1e-10);
  state.reverse();
  integrate(state, few);
  where.check("links after the way back", cpu::rms_distance(state.links(), where.links, where.comm), 1e-10);
}

/// Checks that a step there and back ends at its start.
void check_way_back(molecular_dynamics& state, const test_links& where, const md_plan& plan) {
  const md_plan step = short_plan(state.action(), plan, 1, short_tau(plan));
  state.set_links(where.links);
  state.refresh(2);
  integrate(state, step);
  state.reverse();
  integrate(state, step);
  where.check("links after the way back", cpu::rms_distance(state.links(), where.links, where.comm), 1e-10);
}

/// Returns the run's action with solves to the last digits.
/// \param tolerance  of actions
hybrid_action exact_action(const hmc_options& options, std::uint64_t seed, double tolerance) {
  hybrid_action action = options.action;
  action.seed = seed;
  action.exact_sums = false;
  action.action_tolerance = tolerance;
  action.force_tolerance = action.cg_force_tolerance = 1e-11;
  for (factor_solver& solver : action.solvers) solver.inner = precision::double_;
  return action;
}

}  // namespace

double rms_distance_at_sites(std::span<const site_links> u, std::span<const site_links> v, const communicator& comm) {
  std::array<double, 2> sums{0.0, 1.0 * dimensions * static_cast<double>(u.size())};
  for (std::size_t n = 0; n < u.size(); ++n)
    for (std::size_t mu = 0; mu < dimensions; ++mu)
      for (int i = 0; i < colours; ++i)
        for (int j = 0; j < colours; ++j) sums[0] += norm2(u[n][mu](i, j) - v[n][mu](i, j));
  comm.sum(std::span<double>(sums));
  return std::sqrt(sums[0] / sums[1]);
}

double error_of_operation(molecular_dynamics& state, const md_plan& plan, const md_operation& operation,
                          std::span<const coordinate> at, const communicator& comm) {
  using enum md_operation::kind;
  using values = std::vector<site_links>;
  const std::vector<int>& terms = plan.terms_of_level[static_cast<std::size_t>(operation.level)];
  const auto now = [&](md_matrices which) {
    values all(at.size());
    state.get(which, at, all);
    return all;
  };
  const auto add_force = [&](values& to, double step) {
    for (const int term : terms) {
      state.make_force(term, 0.0);
      const values force = now(md_matrices::force);
#pragma omp parallel for schedule(static)
      for (std::size_t n = 0; n < to.size(); ++n)
        for (std::size_t mu = 0; mu < dimensions; ++mu) to[n][mu] += step * force[n][mu];
    }
  };
  const auto move = [&](values& links, const values& momenta, double step) {
#pragma omp parallel for schedule(static)
    for (std::size_t n = 0; n < links.size(); ++n)
      for (std::size_t mu = 0; mu < dimensions; ++mu) links[n][mu] = moved_link(links[n][mu], momenta[n][mu], step);
  };
  double off = 0.0;
  values links = now(md_matrices::links), momenta = now(md_matrices::momenta);
  if (operation.what == displaced_kick) {
    std::unique_ptr<md_state> here;
    state.keep(here);
    values force(at.size()), displaced = links;
    add_force(force, 1.0);
    state.halt();
    state.kick(terms, 1.0);  // momenta are the force now
    keep_largest(off, rms_distance_at_sites(now(md_matrices::momenta), force, comm));
    state.drift(operation.displacement);
    move(displaced, force, operation.displacement);
    keep_largest(off, rms_distance_at_sites(now(md_matrices::links), displaced, comm));
    add_force(momenta, operation.step);
    state.put_back(*here);
  } else if (operation.what == kick) {
    add_force(momenta, operation.step);
  } else {
    move(links, momenta, operation.step);
  }
  operate(state, plan, operation);
  keep_largest(off, rms_distance_at_sites(now(md_matrices::momenta), momenta, comm));
  const double moved = rms_distance_at_sites(now(md_matrices::links), links, comm);
  keep_largest(off, operation.what == drift || moved == 0.0 ? moved : 1.0);  // kicks leave links as they are
  return off;
}

void check_companion(app_run& run, const hmc_options& options, const dynamics_of_lattice& make) {
  run.begin("companion lattice");
  const std::uint64_t seed = drawn_number(run.world);
  run.note_draw("companion's links and direction", seed);
  const communicator alone;
  const lattice_geometry geometry({4, 4, 4, 8});
  const test_links where{run, "companion: ", alone, cpu::random_configuration(geometry, seed, alone),
                         textbook::momenta(geometry, seed, 0, alone)};
  const auto state = make(alone, where.links, exact_action(options, seed, 1e-13));
  check_forces(*state, where);
  check_operations(*state, where, options.plan);
  check_order(*state, where, options.plan);
  run.progress.clear();
}

void check_own_links(app_run& run, const hmc_options& options, const gauge_configuration& links,
                     const dynamics_of_lattice& make) {
  constexpr std::int64_t largest = 8 * 8 * 8 * 8;
  if (run.geometry.global_volume() > largest) return;
  run.begin("checks on the last links");
  const std::uint64_t seed = drawn_number(run.world);
  run.note_draw("direction at the last links", seed);
  const test_links where{run, "last links: ", run.world, links, textbook::momenta(run.geometry, seed, 0, run.world)};
  // Systems on the run's links may be too badly conditioned for another digit.
  const auto state = make(run.world, links, exact_action(options, seed, 1e-12));
  check_forces(*state, where);
  check_way_back(*state, where, options.plan);
  check_order(*state, where, options.plan);
  run.progress.clear();
}

}  // namespace plaquette
