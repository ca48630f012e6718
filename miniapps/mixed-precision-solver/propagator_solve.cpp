// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/mixed-precision-solver/propagator_solve.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "common/app/run_app.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "cpu_ref/gauge/site_sum.hpp"

namespace plaquette {

namespace {

double norm(const spinor_configuration& psi, const communicator& comm) {
  const auto sum = cpu::sum_over_sites<1>(
      psi.geometry(), comm, [&](const coordinate& x) -> std::array<double, 1> { return {norm2(psi(x))}; });
  return std::sqrt(sum[0]);
}

/// One residual an iteration: the largest of the columns that were still iterated then.
std::vector<double> worst_history(const std::vector<std::vector<double>>& columns) {
  std::vector<double> worst;
  for (const auto& column : columns) {
    worst.resize(std::max(worst.size(), column.size()), 0.0);
    for (std::size_t i = 0; i < column.size(); ++i)
      if (!(column[i] <= worst[i])) worst[i] = column[i];
  }
  return worst;
}

stopping_rule rule_of(const solver_options& options, run_control& control, progress_line& progress) {
  stopping_rule rule;
  rule.tolerance = options.tolerance();
  rule.limit = options.iteration_limit;
  rule.look_every = 1;  // the CPU answers at once
  rule.interrupted = [&control] { return control.should_stop(); };
  const double decades = -std::log10(rule.tolerance);
  rule.progress = [&progress, decades](int iteration, double residual) {
    progress.update(std::clamp(-std::log10(residual) / decades, 0.0, 1.0),
                    fmt::format("iteration {}, residual {:.1e}", iteration, residual));
  };
  return rule;
}

/// Single fields cannot hold a solution whose true residual meets the tolerance of the iterated one. How far it may
/// stay above is known with the solution's norm; until then this bound stands, the largest floor that was measured.
schur_parameters first_parameters(const solver_options& options) {
  return options.is_single() ? schur_parameters{.true_tolerance = std::max(options.tolerance(), 1e-5)}
                             : schur_parameters{};
}

void set_sources(solve_engine& engine, const solver_options& options, const gauge_configuration& links,
                 const communicator& world) {
  for (int column = 0; column < options.shared.rhs; ++column) {
    const auto [spin, colour] = cpu::component_of_column(column);
    engine.set_source(column, cpu::make_source(options.source, spin, colour, links, world));
  }
}

void take_solutions(propagator_result& result, const solve_engine& engine, const schur_report& report,
                    const gauge_configuration& links) {
  for (std::size_t n = 0; n < report.columns.size(); ++n) {
    result.columns.emplace_back(links.geometry());
    engine.get_solution(static_cast<int>(n), result.columns.back());
    const column_report& c = report.columns[n];
    result.results.push_back({.status = c.status,
                              .why = c.why,
                              .iterations = c.iterations,
                              .iterated = c.residual,
                              .device = report.true_residuals[n]});
  }
}

bool same_outcome(const schur_report& report, const std::vector<column_result>& first) {
  for (std::size_t n = 0; n < first.size(); ++n)
    if (report.columns[n].iterations != first[n].iterations || report.true_residuals[n] != first[n].device)
      return false;
  return true;
}

}  // namespace

bool propagator_result::solved() const {
  return !results.empty() && std::ranges::all_of(results, &column_result::solved);
}

void judge_columns(std::vector<column_result>& results, cpu::propagator& columns, const cpu::source_description& source,
                   const fermion_action& action, double tolerance, double roundoff, const gauge_configuration& links,
                   const communicator& world) {
  for (std::size_t n = 0; n < columns.size(); ++n) {
    const auto [spin, colour] = cpu::component_of_column(static_cast<int>(n));
    const spinor_configuration b = cpu::make_source(source, spin, colour, links, world);
    results[n].reference = cpu::textbook::relative_residual(b, columns[n], links, action, world);
    results[n].rounding = residual_rounding(action, roundoff, norm(columns[n], world), norm(b, world));
    results[n].tolerance = tolerance + residual_floor(results[n].rounding, results[n].iterations);
  }
}

namespace {

/// One solve, and what the reference says of it.
propagator_result solve_and_judge(solve_engine& engine, const solver_options& options, const stopping_rule& rule,
                                  const schur_parameters& parameters, const gauge_configuration& links,
                                  const communicator& world, progress_line& progress) {
  now_doing("the solve");
  progress.begin("solve");
  const timed_solve solve = engine.solve(rule, parameters);
  propagator_result result;
  result.solver = solve.report.solver;
  result.history = worst_history(solve.report.history);
  result.flops = solve.flops;
  result.first_seconds = solve.seconds;
  take_solutions(result, engine, solve.report, links);

  now_doing("the check of the solutions");
  progress.begin("check of the solutions");
  progress.update(-1.0);
  const stopwatch watch;
  judge_columns(result.results, result.columns, options.source, options.shared.action, options.tolerance(),
                unit_roundoff(options.shared.precision), links, world);
  result.reference_seconds = watch.seconds();
  return result;
}

/// True where the recurrence met the tolerance in every column and the true residual stayed above it in some: rounding
/// errors have added up, and a solve for the correction takes them away.
bool needs_corrections(const propagator_result& result, const solver_options& options) {
  return !result.solved() && std::ranges::all_of(result.results, [&](const column_result& c) {
    return c.solved() || (c.iterated <= options.tolerance() && c.status == solve_status::converged);
  });
}

}  // namespace

propagator_result solve_propagator(solve_engine& engine, const solver_options& options,
                                   const gauge_configuration& links, const communicator& world, run_control& control,
                                   progress_line& progress) {
  set_sources(engine, options, links, world);
  const stopping_rule rule = rule_of(options, control, progress);
  schur_parameters parameters = first_parameters(options);
  propagator_result result = solve_and_judge(engine, options, rule, parameters, links, world, progress);
  if (needs_corrections(result, options)) {
    parameters.true_tolerance = std::ranges::min(result.results, {}, &column_result::tolerance).tolerance;
    result = solve_and_judge(engine, options, rule, parameters, links, world, progress);
  }

  now_doing("the timed solves");
  if (result.solved())
    for (int i = 0; i < options.repeat && !control.should_stop(); ++i) {
      progress.begin(fmt::format("timed solve {} of {}", i + 1, options.repeat));
      const timed_solve again = engine.solve(rule, parameters);
      if (control.stopped()) break;  // it did not run to its end
      result.repeats_agree = result.repeats_agree && same_outcome(again.report, result.results);
      result.seconds.push_back(again.seconds);
    }
  result.warmed_up = !result.seconds.empty();
  if (!result.warmed_up) result.seconds.push_back(result.first_seconds);
  return result;
}

solve_record record_of(const propagator_result& result, const solver_options& options) {
  const sample_statistics seconds = statistics(result.seconds);
  const auto largest = [&](auto member) {
    auto most = result.results.front().*member;
    for (const column_result& c : result.results)
      if (!(c.*member <= most)) most = c.*member;  // a NaN is the largest
    return most;
  };
  solve_record record;
  record.solver = result.solver;
  record.precision = options.shared.precision;
  record.iterations = largest(&column_result::iterations);
  record.seconds = seconds.median;
  record.iterated_residual = largest(&column_result::iterated);
  record.device_residual = largest(&column_result::device);
  record.reference_residual = largest(&column_result::reference);
  record.history = result.history;
  json_document columns = json_document::array();
  for (const column_result& c : result.results)
    columns.push_back({{"status", name(c.status)},
                       {"why", c.why},
                       {"iterations", c.iterations},
                       {"solved", c.solved()},
                       {"residual", {{"iterated", c.iterated}, {"device", c.device}, {"reference", c.reference}}},
                       {"tolerance", c.tolerance}});
  record.details = {{"preconditioning", name(options.preconditioning)},
                    {"converged", result.solved()},
                    {"rhs", result.results.size()},
                    {"timing",
                     {{"min", seconds.min},
                      {"median", seconds.median},
                      {"max", seconds.max},
                      {"samples", seconds.samples},
                      {"after_warm_up", result.warmed_up}}},
                    {"gflops", seconds.median > 0.0 ? 1e-9 * result.flops / seconds.median : 0.0},
                    {"reference_seconds", result.reference_seconds},
                    {"columns", columns}};
  return record;
}

}  // namespace plaquette
