// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/run_checks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "common/algebra/largest.hpp"
#include "common/app/draw.hpp"
#include "common/dg/exact_solutions.hpp"
#include "common/dg/lserk4.hpp"
#include "cpu_ref/dg/textbook.hpp"
#include "miniapps/nodal-dg/speed_trial.hpp"
#include "miniapps/nodal-dg/wave_checks.hpp"

namespace plaquette::nodal_dg {

namespace {

constexpr const char* of_speed = "seconds of a stage from drawn numbers, as a share of 1.5 times the figure's";

/// A number that the work before it could not know; the report has it. Collective.
std::uint64_t drawn_of(const wave_run& run, const std::string& what) {
  const std::uint64_t number = drawn_number(run.app.world);
  run.app.note_draw(what, number);
  return number;
}

/// Makes the first step of the whole run again. Leaves the solver with its end.
widest_step first_step(const wave_run& run) {
  widest_step step;
  step.begin = all_states(run, sample(run.domain, run.waves.initial, 0.0));
  step.dt = run.dt;
  run.solver->set_state(step.begin, 0.0);
  run.solver->advance(1, run.dt);
  step.end = run.states();
  return step;
}

/// Whether steps that were made again ended in the same states, on all ranks. Collective.
void add_repeats(const wave_run& run, const steps_made& made, verification& checks) {
  double differs = made.seen.same_between ? 0.0 : 1.0;
  run.domain.comm.maximum({&differs, 1});
  checks.add("steps made again end in the same states", differs == 0.0);
}

/// Adds checks of judged steps: the power of the right-hand side is the power through sides and faces and from sources,
/// and steps are made of right-hand sides. Each is known to roundings. Without sides and sources that give, the scheme
/// loses energy (upwind) or keeps it (central), and LSERK4 loses some: |R(iy)|^2 = 1 - y^6 / 257 + ...
void add_energies(const wave_run& run, const steps_made& made, verification& checks) {
  const double u = unit_roundoff(run.options);
  // As in check_last_steps, of one step. |dt F| is |q| at most, or both are in the unit, so that dt q.M.F has it too.
  const double of_step =
      2.0 * std::sqrt(double{lserk4::stages}) * (run.domain.reference.order + 2.0) * (u + run.mismatch);
  if (made.seen.compared.steps > 0) checks.add("drawn steps, against the textbook", made.seen.compared.worst, of_step);
  if (made.seen.balanced > 0) {
    checks.add("energy, against what sides and faces take", made.seen.balance.power, of_step);
    checks.add("steps, against right-hand sides", made.seen.balance.states, of_step);
  }
  checks.add("energies, against those of the states", made.seen.energy_difference, rounding_of_energy(run.domain));
  if (!run.waves.closed) {
    checks.add("energy is finite", std::isfinite(made.done.energy.back()[1].get<double>()));
    return;
  }
  // Roundings of q change the energy by 2 u a stage; independent ones add up as the root of their number.
  const double stages = static_cast<double>(lserk4::stages * std::max<std::int64_t>(run.steps, 1));
  checks.add("energy does not grow", growth_of(made.done.energy, made.seen.growth),
             rounding_of_energy(run.domain) + 8.0 * u * std::sqrt(stages) + run.mismatch * stages);
}

}  // namespace

void check_steps(const wave_run& run, const std::vector<double>& beginning) {
  run.app.begin("comparison of two steps with the textbook");
  const auto oracle = cpu::make_textbook_dg_solver(run.domain, run.options.states);
  oracle->set_state(beginning, 0.0);
  run.solver->set_state(beginning, 0.0);
  for (int step = 0; step < 2; ++step) {
    oracle->advance(1, run.dt);
    run.app.control.stop_if_requested("the comparison of two steps");
  }
  run.solver->advance(2, run.dt);
  std::vector<double> expected(beginning.size());
  oracle->get_state(expected);
  const auto found = run.states();
  double worst = 0.0, largest = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    worst = larger_or_nan(worst, std::abs(found[i] - expected[i]));
    largest = std::max(largest, std::abs(expected[i]));
  }
  std::array<double, 2> of_all{worst, largest};
  run.domain.comm.maximum(of_all);
  // Ten stages round q once each, and dt f, of the same size at most, N + 1 times.
  run.app.result.checks.add("two steps, against the textbook", of_all[0] / std::max(of_all[1], 1e-30),
                            10.0 * (run.domain.reference.order + 2.0) * unit_roundoff(run.options));
  run.app.progress.clear();
}

void check_states(const wave_run& run, const std::vector<double>& states) {
  if (run.options.states == 1 || !run.options.sources.empty() ||
      std::ranges::find(run.domain.problem.boundaries, boundary_kind::incident) != run.domain.problem.boundaries.end())
    return;
  const double difference = difference_of_columns(run.domain, states, run.options.states);
  run.app.result.checks.add("states side by side agree", difference, 8.0 * unit_roundoff(run.options));
}

void check_energy(const wave_run& run, const steps_made& made, double trial) {
  verification& checks = run.app.result.checks;
  add_energies(run, made, checks);
  if (run.app.control.stopped()) return;
  if (made.seen.balanced == 0) checks.add("steps were judged", false);
  checks.add(of_speed, trial / slowest_trial, 1.0);
}

void check_against_textbook(const wave_run& run, const std::vector<double>& states) {
  enter_stage("the comparison with the textbook");
  const dg_domain& domain = run.domain;
  std::vector<double> rhs(states.size());
  run.solver->right_hand_side(rhs);
  const auto drawn = drawn_elements(domain, states, run.options.shared.check ? domain.elements() : 64,
                                    drawn_of(run, "elements: right-hand side"));
  const double worst = distance_from_textbook(domain, states, run.options.states, rhs, run.solver->time(), drawn);
  const double u = unit_roundoff(run.options);
  // Sums of Np products with D, whose entries are below (N + 1)^2 / 2, and of the four faces': some N + 1 roundings of
  // the largest term are left, as roundings are independent. To these come the roundings of the fluxes.
  run.app.result.checks.add(
      "right-hand side, against the textbook", worst,
      4.0 * (domain.reference.order + 1.0) * (u + run.mismatch) + roundings_of_fluxes(domain) * u);
}

void check_last_steps(const wave_run& run, const steps_made& made, const std::vector<double>& states) {
  enter_stage("the comparison of the last steps with the textbook");
  made_steps steps{made.begin.states, states, made.begin.time, {}, drawn_of(run, "elements: last steps")};
  for (std::int64_t i = made.begin_step; i < run.steps; ++i) steps.dt.push_back(run.dt_of(i));
  step_verdict verdict = judge_steps(run.domain, run.whole, run.options.states, steps);
  // Each stage rounds q once or twice, and dt f, of the same size at most, some N + 1 times.
  const double stages = static_cast<double>(lserk4::stages) * static_cast<double>(steps.dt.size());
  const double tolerance =
      2.0 * std::sqrt(stages) * (run.domain.reference.order + 2.0) * (unit_roundoff(run.options) + run.mismatch);
  run.app.result.checks.add("last steps, against the textbook", verdict.worst, tolerance);
  // If all is gone, the last steps change roundings. An earlier step shows then that steps do something.
  const bool moves = verdict.moved >= 10.0 * tolerance;
  const widest_step* other = nullptr;
  widest_step first;
  if (!moves && made.seen.widest.moved > 10.0 * tolerance * made.seen.largest) {
    other = &made.seen.widest;
  } else if (!moves && run.continues) {  // all was gone before this part of the run
    first = first_step(run);
    other = &first;
  }
  if (other != nullptr) {
    if (run.app.is_root())
      fmt::print("judged     by the step at time {:.6g} too: the last ones change nothing but roundings\n",
                 other->time);
    const step_verdict earlier = judge_steps(run.domain, run.whole, run.options.states,
                                             {other->begin, other->end, other->time, {other->dt}, steps.drawn});
    run.app.result.checks.add("an earlier step, against the textbook", earlier.worst, tolerance);
    verdict.moved = earlier.moved;
  }
  run.app.result.checks.add(
      other ? "rounding, against what an earlier step changes" : "rounding, against what the last steps change",
      verdict.moved > 0.0 ? tolerance / verdict.moved : std::numeric_limits<double>::infinity(), 0.1);
  if (run.options.problem == "pulse" && run.options.sources.empty()) {
    double largest = made.seen.largest;  // before this part of the run: by the energy
    for (const auto& line : made.done.energy) keep_largest(largest, std::sqrt(line[1].get<double>()));
    run.app.result.checks.add("rounding of the pulse, against what of it is on the mesh",
                              largest > 0.0 ? 0x1p-53 / largest : std::numeric_limits<double>::infinity(), 0.1);
  }
  run.app.result.observables["judged"] = {{"steps", steps.dt.size()},
                                          {"repeated_steps", made.seen.repeated},
                                          {"balanced_steps", made.seen.balanced},
                                          {"compared_steps", made.seen.compared.steps},
                                          {"elements", verdict.elements},
                                          {"largest_change", verdict.moved},
                                          {"largest_number", verdict.largest}};
  if (run.app.is_root())
    fmt::print("judged     {} of {} steps again by the textbook, on {} of {} elements; {} again by the same solver\n",
               steps.dt.size(), run.steps, verdict.elements, run.domain.global_elements, made.seen.repeated);
}

void check_solution(const wave_run& run, const steps_made& made, const std::vector<double>& states) {
  enter_stage("the comparison with the exact solution");
  const dg_domain& domain = run.domain;
  const auto state = run.first_of(states);
  const field_errors errors = errors_of(domain, state, *run.waves.exact, made.done.time);
  auto difference = sample(domain, *run.waves.exact, made.done.time);
  const double size = energy_norm(domain, sample(domain, *run.waves.exact, 0.0));
  for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= state[i];
  const double error = energy_norm(domain, difference);
  const double truncation = truncation_error(
      domain, run.waves,
      drawn_elements(domain, states, affordable_elements(domain) / 2, drawn_of(run, "elements: exact solution")));
  const double w = run.waves.frequency, steps = static_cast<double>(made.done.steps_done);
  const double of_time = std::pow(w * run.dt, 5) / 120.0 * steps * size;
  const double of_rounding = 8.0 * unit_roundoff(run.options) * std::sqrt(lserk4::stages * (steps + 1.0)) * size;
  const double tolerance = (made.done.time * truncation + of_time + of_rounding) / size;
  if (tolerance < 1.0)
    run.app.result.checks.add("solution, against the exact one", error / size, tolerance);
  else
    run.app.result.observables["no_check"] = fmt::format(
        "the exact solution: the scheme may be off by {:.3g} of it at time {:g}", tolerance, made.done.time);
  json_document by_field = json_document::object();
  const auto names = field_names(domain.problem.equations, domain.reference.dimension);
  for (std::size_t f = 0; f < names.size(); ++f)
    by_field[names[f]] = {{"max", errors.max[f]}, {"l2", errors.l2[f]}, {"l2_fine", errors.fine[f]}};
  run.app.result.observables["errors"] = by_field;
  run.app.result.observables["relative_error"] = error / size;
  if (!run.app.is_root()) return;
  if (!(tolerance < 1.0)) fmt::print("no check   {}\n", run.app.result.observables["no_check"].get<std::string>());
  fmt::print("\nfield            max error     L2 error   L2 error (finer nodes)\n");
  for (std::size_t f = 0; f < names.size(); ++f)
    fmt::print("{:<12}  {:12.4e} {:12.4e} {:12.4e}\n", names[f], errors.max[f], errors.l2[f], errors.fine[f]);
}

void check_bits(const wave_run& run, const steps_made& made, const bit_sum& judged, const std::vector<double>& states) {
  add_repeats(run, made, run.app.result.checks);
  check_same_bits(run.app.result.checks, "fields", judged, sum_of(states), run.domain.comm);
}

verification failures_of(const wave_run& run, const steps_made& made) {
  verification so_far = run.app.result.checks, failures = made.done.failures;
  add_energies(run, made, so_far);
  add_repeats(run, made, so_far);
  // Speed is not the states'. If little moves, a later part of the run may move more.
  for (const check& c : so_far.checks())
    if (!c.passed() && c.name != of_speed && !c.name.starts_with("rounding")) failures.keep_worse(c);
  return failures;
}

bit_sum sum_of(const std::vector<double>& states) {
  bit_sum sum;
  sum.add(std::span(states));
  return sum;
}

}  // namespace plaquette::nodal_dg
