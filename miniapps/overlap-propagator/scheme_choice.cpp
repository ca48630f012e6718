// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/overlap-propagator/scheme_choice.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "miniapps/overlap-propagator/overlap_checks.hpp"
#include "miniapps/overlap-propagator/overlap_estimate.hpp"
#include "miniapps/overlap-propagator/overlap_files.hpp"

namespace plaquette {

namespace {

scheme_trial trial_of_a_column(overlap_stages& stages, const sign_choice& choice, const sign_handle& sign) {
  const overlap_options& options = stages.options;
  overlap_solve_rule rule = rule_of(stages, choice);
  rule.scheme = overlap_scheme::preconditioned;
  rule.tolerance = std::max(options.tolerance(), trial_tolerance);
  rule.corrections = 0;
  rule.limit = std::min(rule.limit, rule.preconditioner.directions);
  const vectors_handle column = stages.solver.columns(stages.solver.sources(options.source), 0, 1);
  const overlap_solve_report solved = stages.solver.solve(sign, {}, column, options.masses, rule).report;
  scheme_trial trial;
  trial.directions = static_cast<int>(solved.work.directions);
  trial.converged = std::ranges::all_of(solved.masses, [&](const overlap_mass_report& mass) {
    return std::ranges::all_of(mass.iterated, [&](double residual) { return residual <= rule.tolerance; });
  });
  trial.expected_directions = trial.directions * std::log(options.tolerance()) / std::log(rule.tolerance) *
                              share_of_directions_in_batch(options.preconditioner);
  trial.clover_applications = solved.work.clover_applications / std::max(1.0, solved.work.clover_solves);
  const kernel_speed in_applications{};
  trial.work_of_preconditioned = time_of_preconditioned(
      options, sign->lowest(), sign->highest(), trial.expected_directions, trial.clover_applications, in_applications);
  const overlap_options other = with_scheme(options, overlap_scheme::relaxed);
  const overlap_times of_other = times_of(other, stages.volume(), sign->lowest(), sign->highest(),
                                          expected_overlap_mode(other, stages.volume()), in_applications);
  trial.work_of_other = of_other.overlap_modes + of_other.propagators;
  return trial;
}

}  // namespace

overlap_solve_rule rule_of(overlap_stages& stages, const sign_choice& choice) {
  const overlap_options& options = stages.options;
  overlap_solve_rule rule;
  rule.tolerance = options.tolerance();
  rule.scheme = options.scheme;
  rule.preconditioner = options.preconditioner;
  rule.fixed_delta = std::clamp(0.01 * rule.tolerance, 1e-13, 1e-10);
  if (choice.is_coarse) rule.coarse_sign_delta = std::clamp(1e-3 * rule.tolerance, 1e-13, 1e-11);
  rule.progress = [&stages, watch = stopwatch(), told = 0.0](int iteration, double worst) mutable {
    if (const double now = watch.seconds(); now > told + 10.0) {
      told = now;
      stages.tell(
          fmt::format("solve      iteration {}, largest residual about {:.1e}, {:.0f} s", iteration, worst, now));
    }
    constexpr double unknown = -1.0;  // other columns may follow
    stages.run.progress.update(unknown, fmt::format("iteration {}, largest residual about {:.1e}", iteration, worst));
  };
  return rule;
}

scheme_trial try_preconditioned(overlap_stages& stages, const sign_choice& choice, const sign_handle& sign) {
  const kept_stage<scheme_trial> kept{
      stages.file(stages.options.scheme_file(), problem_of_scheme(stages.options, stages.run.geometry)),
      {[](const scheme_trial& trial) { return kept_value{to_json(trial)}; },
       [](const kept_content& file) {
         scheme_trial trial;
         constexpr double most = 1e15;
         trial.converged = file.flag("converged");
         trial.directions = file.integer("directions", 0, 1000000);
         trial.expected_directions = file.real("expected_directions", 0.0, most);
         trial.clover_applications = file.real("clover_applications", 0.0, most);
         trial.work_of_preconditioned = file.real("work_of_preconditioned", 0.0, most);
         trial.work_of_other = file.real("work_of_other", 0.0, most);
         return trial;
       }}};
  overlap_options one_column = with_scheme(stages.options, overlap_scheme::preconditioned);
  const double predicted =
      share_of_trial(one_column.tolerance()) *
      times_of(one_column, stages.volume(), sign->lowest(), sign->highest(), 0.0, stages.speed()).propagators;
  return stages.resumable<scheme_trial>(
      "trial of a column", predicted, kept, [&] { return trial_of_a_column(stages, choice, sign); },
      [](const scheme_trial&) { return true; });
}

json_document to_json(const scheme_trial& trial) {
  return {{"chosen", name(trial.best())},
          {"converged", trial.converged},
          {"directions", trial.directions},
          {"expected_directions", trial.expected_directions},
          {"clover_applications", trial.clover_applications},
          {"work_of_preconditioned", trial.work_of_preconditioned},
          {"work_of_other", trial.work_of_other}};
}

void print(const scheme_trial& trial) {
  const bool pays = trial.best() == overlap_scheme::preconditioned;
  if (!trial.converged) {
    fmt::print("scheme     relaxed: preconditioned, a column did not converge in {} directions\n", trial.directions);
    return;
  }
  fmt::print(
      "scheme     {}: {:.3g} applications of H for twelve columns ({} directions in the trial), {:.3g} with modes of D "
      "and relaxed solves\n",
      pays ? "preconditioned" : "relaxed, since it takes less than preconditioned", trial.work_of_preconditioned,
      trial.directions, trial.work_of_other);
}

}  // namespace plaquette
