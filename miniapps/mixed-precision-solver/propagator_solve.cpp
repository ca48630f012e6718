// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/mixed-precision-solver/propagator_solve.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "common/algebra/largest.hpp"
#include "common/app/run_app.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "miniapps/mixed-precision-solver/propagator_checkpoint.hpp"
#include "miniapps/shared/clock_draw.hpp"
#include "miniapps/shared/drawn_source.hpp"
#include "miniapps/shared/spinor_difference.hpp"

namespace plaquette {

namespace {

stopping_rule rule_of(const solver_options& options, run_control& control, progress_line& progress) {
  stopping_rule rule;
  rule.tolerance = options.tolerance();
  rule.limit = options.iteration_limit;
  rule.interrupted = [&control] { return control.should_stop(); };
  const double decades = -std::log10(rule.tolerance);
  rule.progress = [&progress, decades](int iteration, double residual) {
    progress.update(std::clamp(-std::log10(residual) / decades, 0.0, 1.0),
                    fmt::format("iteration {}, residual {:.1e}", iteration, residual));
  };
  return rule;
}

void take_solutions(propagator_result& result, const propagator_solver& solver, const schur_report& report,
                    const std::vector<int>& columns) {
  for (std::size_t place = 0; place < columns.size(); ++place) {
    const auto n = static_cast<std::size_t>(columns[place]);
    const column_report& c = report.columns[place];
    solver.get_solution(static_cast<int>(place), result.columns[n]);
    result.results[n] = {.status = c.status,
                         .why = c.why,
                         .iterations = c.iterations,
                         .iterated = c.residual,
                         .device = report.true_residuals[place],
                         .at_floor = c.at_floor,
                         .updates = c.updates,
                         .mismatches = c.mismatches,
                         .restarts = c.restarts};
    result.histories[n] = report.history[place];
    result.kept[n] = c.is_of_whole_solve();
  }
  result.inner_applications += report.operator_applications - report.outer_applications;
  result.outer_applications += report.outer_applications;
}

/// A result that nothing has been done for yet.
propagator_result nothing_solved(const solver_options& options, const lattice_geometry& geometry) {
  const auto columns = static_cast<std::size_t>(options.shared.rhs);
  propagator_result result;
  result.columns.assign(columns, spinor_configuration(geometry));
  result.results.assign(columns, {.status = solve_status::interrupted,
                                  .why = "the run was stopped before",
                                  .iterations = 0,
                                  .iterated = 1.0,
                                  .device = 1.0});
  result.histories.resize(columns);
  result.kept.assign(columns, false);
  return result;
}

/// The columns that are still to be solved, a batch in each list.
std::vector<std::vector<int>> batches_to_solve(const std::vector<bool>& kept, int columns_a_batch) {
  std::vector<std::vector<int>> batches;
  const int columns = static_cast<int>(kept.size());
  for (int first = 0; first < columns; first += columns_a_batch) {
    std::vector<int> batch;
    for (int n = first; n < std::min(columns, first + columns_a_batch); ++n)
      if (!kept[static_cast<std::size_t>(n)]) batch.push_back(n);
    if (!batch.empty()) batches.push_back(batch);
  }
  return batches;
}

/// The iterations and the residual of a column. A solve from the same source must give the same again.
struct outcome {
  int iterations;
  double residual;
  bool operator==(const outcome&) const = default;
};

/// Outcomes that are not known yet are taken from the report.
bool same_outcomes(const schur_report& report, const std::vector<int>& columns,
                   std::vector<std::optional<outcome>>& known) {
  bool same = true;
  for (std::size_t place = 0; place < columns.size(); ++place) {
    const outcome found{report.columns[place].iterations, report.true_residuals[place]};
    auto& expected = known[static_cast<std::size_t>(columns[place])];
    if (!expected) expected = found;
    same = same && found == *expected;
  }
  return same;
}

}  // namespace

bool propagator_result::solved() const {
  return !results.empty() && std::ranges::all_of(results, &column_result::solved);
}

std::vector<double> propagator_result::worst_history() const {
  std::vector<double> worst;
  for (const auto& column : histories) {
    worst.resize(std::max(worst.size(), column.size()), 0.0);
    for (std::size_t i = 0; i < column.size(); ++i) keep_largest(worst[i], column[i]);
  }
  return worst;
}

namespace {

/// Computes the reference residuals of columns from `first` on, and the tolerance of each.
void judge_some(std::span<column_result> results, int first, std::span<spinor_configuration> x,
                const source_description& source, const fermion_action& action, double tolerance, double roundoff,
                const gauge_configuration& links, const communicator& world, const gauge_configuration* source_links) {
  std::vector<spinor_configuration> b;
  for (std::size_t n = 0; n < x.size(); ++n) {
    const auto [spin, colour] = component_of_column(first + static_cast<int>(n));
    b.push_back(cpu::make_source(source, spin, colour, source_links ? *source_links : links, world));
  }
  const std::vector<double> residuals = cpu::textbook::relative_residuals(b, x, links, action, world);
  for (std::size_t n = 0; n < x.size(); ++n) {
    column_result& result = results[n];
    result.reference = residuals[n];
    result.norm = norm_of(x[n], world);
    result.rounding = residual_rounding(action, roundoff, result.norm, norm_of(b[n], world));
    result.unit_roundoff = roundoff;
    result.tolerance =
        tolerance +
        residual_floor(result.rounding, roundings_of_solution(result.updates.size(), result.iterations), roundoff);
  }
}

}  // namespace

void judge_columns(std::vector<column_result>& results, propagator& columns, const source_description& source,
                   const fermion_action& action, double tolerance, double roundoff, const gauge_configuration& links,
                   const communicator& world, const gauge_configuration* source_links,
                   const std::function<bool()>& should_stop) {
  constexpr std::size_t at_once = 4;  // columns that share the clover leaves of a site
  bool stops = false;
  for (std::size_t first = 0; first < columns.size(); first += at_once) {
    const std::size_t count = std::min(at_once, columns.size() - first);
    const std::span<column_result> some = std::span(results).subspan(first, count);
    stops = stops || (first > 0 && should_stop && should_stop());
    try {
      if (!stops)
        judge_some(some, static_cast<int>(first), std::span(columns).subspan(first, count), source, action, tolerance,
                   roundoff, links, world, source_links);
    } catch (const error& stop) {
      if (stop.status() != exit_status::interrupted) throw;
      stops = true;
    }
    if (stops)
      for (column_result& result : some) result.reference = std::nan("");
  }
}

namespace {

void add_columns(bit_sum& sum, const propagator& columns) {
  for (const spinor_configuration& column : columns) {
    const lattice_geometry& geometry = column.geometry();
    const int length = geometry.local()[0];
    for (std::int64_t site = 0; site < geometry.local_volume(); site += length)  // a row in x lies in one piece
      sum.add(std::span(&column.at_site(site), static_cast<std::size_t>(length)));
  }
}

}  // namespace

bit_sum sum_of_columns(const propagator& columns) {
  bit_sum sum;
  add_columns(sum, columns);
  return sum;
}

namespace {

/// The solver, the links and the options of a propagator, and the control of the run.
struct solve_setting {
  const timed_solver& on;
  const solver_options& options;
  const gauge_configuration& links;
  const gauge_configuration* source_links;
  const communicator& world;
  run_control& control;
  progress_line& progress;
  const stopping_rule& rule;
  const propagator_checkpoint* checkpoint;  ///< null: none
  std::vector<bool> loaded{};               ///< columns that were solved by a run before, on another process grid maybe
};

double gflops_of(const timed_solve& solve) { return solve.seconds > 0.0 ? 1e-9 * solve.flops / solve.seconds : 0.0; }

/// One solve of every column that `result` does not hold yet: all as one batch, or a few at a time if each few are to
/// be kept.
void solve_columns(propagator_result& result, const solve_setting& run, const schur_parameters& parameters) {
  enter_stage("the solve");
  const int most = run.options.batch_size(),
            columns_a_batch = run.checkpoint ? std::min(most, run.options.checkpoint_every) : most;
  for (const std::vector<int>& batch : batches_to_solve(result.kept, columns_a_batch)) {
    if (run.control.stopped()) return;
    run.progress.begin(batch.size() == result.kept.size()
                           ? std::string("solve")
                           : fmt::format("solve of columns {} to {}", batch.front(), batch.back()));
    std::optional<timed_solve> finished;
    try {
      run.on.solver.make_sources(run.options.source, batch);
      finished = plaquette::solve(run.on, run.rule, parameters);
    } catch (const error& stop) {
      if (stop.status() != exit_status::interrupted) throw;
      return;
    }
    const timed_solve& solve = *finished;
    result.solver = solve.report.solver;
    result.batches.push_back({batch, {gflops_of(solve)}, {solve.seconds}});
    result.first_flops += solve.flops;
    result.first_seconds += solve.seconds;
    result.tuning_seconds += solve.tuning_seconds;
    result.gpu = solve.gpu;
    result.host_energy = solve.host_energy;
    take_solutions(result, run.on.solver, solve.report, batch);
    if (!run.checkpoint) continue;
    enter_stage("writing the checkpoint");
    result.unfinished_files = files_of_run(run.options);  // until the run has ended, however it ends
    run.checkpoint->store(result);
    enter_stage("the solve");
  }
}

/// Computes the reference residuals of the solutions.
void judge_result(propagator_result& result, const solve_setting& run) {
  enter_stage("the check of the solutions");
  run.progress.begin("check of the solutions");
  run.progress.update(-1.0);
  const stopwatch watch;
  // A stopped run reports its results within about a second.
  constexpr double seconds_after_a_stop = 1.0;
  const auto has_no_time = [&] {
    const bool was_stopped = run.control.stopped();
    if (!was_stopped) return run.control.should_stop();
    std::array<double, 1> slowest{watch.seconds()};
    run.world.maximum(std::span(slowest));
    return slowest[0] > seconds_after_a_stop;
  };
  result.judged = sum_of_columns(result.columns);
  judge_columns(result.results, result.columns, run.options.source, run.options.shared.action, run.options.tolerance(),
                unit_roundoff(run.options.outer), run.links, run.world, run.source_links, has_no_time);
  result.reference_seconds = watch.seconds();
}

/// Returns true if the recurrence met the tolerance in every column and the true residual stayed above it in some.
/// Rounding errors have added up, and a solve for the correction takes them away.
bool needs_corrections(const propagator_result& result, const solver_options& options) {
  return !result.solved() && std::ranges::all_of(result.results, [&](const column_result& c) {
    return c.solved() || (c.iterated <= options.tolerance() && c.status == solve_status::converged);
  });
}

/// The solve that was timed last, from a source of its own.
struct timed_source {
  source_description source;
  complex<double> phase;
};

/// Judges a timed solution, whose phase is taken away again, by the reference, and compares its norm with the norm that
/// was read before the clock stopped.
void judge_timed(propagator_result& result, const solve_setting& run, int column, int place, const timed_solve& solve,
                 const timed_source& from) {
  spinor_configuration x(run.links.geometry());
  run.on.solver.get_solution(place, x);
  const double norm = norm_of(x, run.world), read = solve.norms[static_cast<std::size_t>(place)];
  keep_largest(result.norms_apart, norm == read ? 0.0 : std::abs(read / norm - 1.0));
  cpu::for_each_site(x.geometry(), [&](const coordinate& at) { x(at) = conj(from.phase) * x(at); });
  const column_report& report = solve.report.columns[static_cast<std::size_t>(place)];
  column_result judged;
  judged.iterations = report.iterations;
  judged.updates = report.updates;
  judge_some(std::span(&judged, 1), column, std::span(&x, 1), from.source, run.options.shared.action,
             run.options.tolerance(), unit_roundoff(run.options.outer), run.links, run.world, run.source_links);
  result.timed_residuals.push_back(judged.reference);
  result.timed_tolerances.push_back(judged.tolerance);
}

/// Judges a drawn column of every timed solve, and all columns of drawn ones. The draws are made after the solve: solve
/// number n is drawn with a chance of 1/n. So each solve has the same chance to be the last one that is judged whole.
void judge_drawn(propagator_result& result, const solve_setting& run, const std::vector<int>& columns, int index,
                 const timed_solve& solve, const timed_source& from) {
  const bool is_drawn = draw_by_clock(static_cast<std::uint64_t>(index) + 1, run.world) == 0;
  const auto drawn = static_cast<std::size_t>(draw_by_clock(columns.size(), run.world));
  for (std::size_t place = 0; place < columns.size(); ++place)
    if (is_drawn || place == drawn) judge_timed(result, run, columns[place], static_cast<int>(place), solve, from);
}

/// Number `index` of the timed solves, of all batches, from sources at a place of their own; false if the run was
/// stopped before its end.
bool time_a_solve(propagator_result& result, std::vector<solved_batch>& batches, int index, const solve_setting& run,
                  const schur_parameters& parameters) {
  const std::uint64_t seed = run.options.shared.seed;
  const timed_source from{scaling::drawn_source(run.options.source, run.links.geometry().global(), seed, index),
                          scaling::phase_of_stretch(static_cast<int>(seed % 1000) + index)};
  double seconds = 0.0, flops = 0.0;
  long inner_applications = 0, outer_applications = 0;
  for (solved_batch& batch : batches) {
    if (run.control.should_stop()) return false;
    run.on.solver.make_sources(from.source, batch.columns, from.phase);
    const timed_solve again = plaquette::solve(run.on, run.rule, parameters);
    if (run.control.stopped()) return false;
    for (std::size_t place = 0; place < batch.columns.size(); ++place)
      result.timed_solves_converge =
          result.timed_solves_converge && again.report.columns[place].status == solve_status::converged;
    judge_drawn(result, run, batch.columns, index, again, from);
    batch.seconds.push_back(again.seconds);
    batch.gflops.push_back(gflops_of(again));
    result.gpu = again.gpu;
    result.host_energy = again.host_energy;
    result.tuning_seconds += again.tuning_seconds;
    seconds += again.seconds;
    flops += again.flops;
    inner_applications += again.report.operator_applications - again.report.outer_applications;
    outer_applications += again.report.outer_applications;
  }
  result.seconds.push_back(seconds);
  result.gflops.push_back(seconds > 0.0 ? 1e-9 * flops / seconds : 0.0);
  // From here on of the solve that is timed: the first one may have been stopped and continued, or made in other
  // batches.
  result.inner_applications = inner_applications;
  result.outer_applications = outer_applications;
  return true;
}

/// One more solve of the first batch, from the same sources: the same bits.
void check_repeats(propagator_result& result, const std::vector<int>& columns, const solve_setting& run,
                   const schur_parameters& parameters) {
  if (run.control.should_stop()) return;
  std::vector<std::optional<outcome>> outcomes(result.results.size());
  for (const int column : columns) {
    const auto n = static_cast<std::size_t>(column);
    // One that a run before has solved may have been solved on another process grid.
    if (!run.loaded[n]) outcomes[n] = {result.results[n].iterations, result.results[n].device};
  }
  run.on.solver.make_sources(run.options.source, columns);
  const timed_solve again = plaquette::solve(run.on, run.rule, parameters);
  if (!run.control.stopped()) result.repeats_agree = same_outcomes(again.report, columns, outcomes);
}

/// Solves of the same columns again, for their time.
void time_solves(propagator_result& result, const solve_setting& run, const schur_parameters& parameters) {
  enter_stage("the timed solves");
  std::vector<solved_batch> batches;
  for (auto& columns : batches_to_solve(std::vector<bool>(result.kept.size(), false), run.options.batch_size()))
    batches.push_back({std::move(columns), {}, {}});
  if (run.options.shared.check && run.options.repeat > 0 && result.solved())
    check_repeats(result, batches.front().columns, run, parameters);
  for (int i = 0; result.solved() && i < run.options.repeat; ++i) {
    run.progress.begin(fmt::format("timed solve {} of {}", i + 1, run.options.repeat));
    if (!time_a_solve(result, batches, i, run, parameters)) break;
  }
  result.warmed_up = !result.seconds.empty();
  if (result.warmed_up) {
    result.batches = std::move(batches);
  } else {
    result.seconds.push_back(result.first_seconds);
    result.gflops.push_back(result.first_seconds > 0.0 ? 1e-9 * result.first_flops / result.first_seconds : 0.0);
  }
}

/// Computes correlators on the device, and the sums of the solutions that they were made of.
void contract_on_device(propagator_result& result, const propagator_solver& solver) {
  result.correlators = solver.correlators();
  if (!result.correlators) return;
  enter_stage("the comparison of the device's solutions");
  propagator again(1, spinor_configuration(result.columns.front().geometry()));
  result.of_device.emplace();
  for (std::size_t n = 0; n < result.columns.size(); ++n) {
    solver.get_solution(static_cast<int>(n), again.front());
    add_columns(*result.of_device, again);
  }
}

}  // namespace

propagator_result solve_propagator(const timed_solver& on, const solver_options& options,
                                   const gauge_configuration& links, const communicator& world, run_control& control,
                                   progress_line& progress, const gauge_configuration* source_links) {
  const lattice_geometry& geometry = links.geometry();
  std::optional<propagator_checkpoint> checkpoint;
  if (!options.checkpoint.empty()) checkpoint.emplace(options, geometry, cpu::average_plaquette(links, world), world);
  const stopping_rule rule = rule_of(options, control, progress);
  solve_setting run{
      on, options, links, source_links, world, control, progress, rule, checkpoint ? &*checkpoint : nullptr};

  schur_parameters parameters{.operator_norm = operator_norm_estimate(options.shared.action)};
  propagator_result result = nothing_solved(options, geometry);
  if (checkpoint) checkpoint->load(result);
  parameters.true_tolerance = result.true_tolerance;
  run.loaded = result.kept;
  const bool corrected = parameters.true_tolerance > 0.0;
  solve_columns(result, run, parameters);
  judge_result(result, run);
  if (!corrected && !control.stopped() && needs_corrections(result, options)) {
    parameters.true_tolerance = std::ranges::min(result.results, {}, &column_result::tolerance).tolerance;
    auto unfinished_files = std::move(result.unfinished_files);
    result = nothing_solved(options, geometry);
    result.unfinished_files = std::move(unfinished_files);
    result.true_tolerance = parameters.true_tolerance;
    run.loaded = result.kept;
    solve_columns(result, run, parameters);
    judge_result(result, run);
  }
  if (!control.stopped()) contract_on_device(result, on.solver);
  time_solves(result, run, parameters);
  result.halo = halo_facts(on);
  return result;
}

namespace {

/// Triples: iteration, iterated residual, true residual.
json_document to_json(const std::vector<residual_update>& updates) {
  json_document list = json_document::array();
  for (const residual_update& u : updates) list.push_back(json_document::array({u.iteration, u.iterated, u.truth}));
  return list;
}

/// Each batch with the spread of its times: {"columns", "iterations", "seconds", "gflops"}.
json_document to_json(const std::vector<solved_batch>& batches, const std::vector<column_result>& columns) {
  json_document list = json_document::array();
  for (const solved_batch& batch : batches) {
    int iterations = 0;
    for (const int n : batch.columns)
      iterations = std::max(iterations, columns[static_cast<std::size_t>(n)].iterations);
    const sample_statistics s = statistics(batch.seconds);
    list.push_back({{"columns", batch.columns},
                    {"iterations", iterations},
                    {"seconds", {{"min", s.min}, {"median", s.median}, {"max", s.max}, {"samples", s.samples}}},
                    {"gflops", statistics(batch.gflops).median}});
  }
  return list;
}

}  // namespace

solve_record record_of(const propagator_result& result, const solver_options& options) {
  const sample_statistics seconds = statistics(result.seconds);
  const auto largest = [&](auto member) {
    auto most = result.results.front().*member;
    for (const column_result& c : result.results) keep_largest(most, c.*member);
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
  record.history = result.worst_history();
  std::size_t most_updates = 0;
  for (const column_result& c : result.results) most_updates = std::max(most_updates, c.updates.size());
  json_document columns = json_document::array();
  for (const column_result& c : result.results)
    columns.push_back({{"status", name(c.status)},
                       {"why", c.why},
                       {"iterations", c.iterations},
                       {"solved", c.solved()},
                       {"residual", {{"iterated", c.iterated}, {"device", c.device}, {"reference", c.reference}}},
                       {"tolerance", c.tolerance},
                       {"solution_norm", c.norm},
                       {"at_floor", c.at_floor},
                       {"mismatches", c.mismatches},
                       {"restarts", c.restarts},
                       {"updates", to_json(c.updates)}});
  record.details = {{"preconditioning", name(options.preconditioning)},
                    {"scheme", scheme_text(options)},
                    {"delta", options.plain() ? 0.0 : options.updates.delta},
                    {"solution_precision", name(options.outer)},
                    {"inner_precision", name(options.inner)},
                    {"reconstruct", stored_reals(options.links)},
                    {"inner_reconstruct", stored_reals(options.inner_links)},
                    {"updates", most_updates},
                    {"applications", {{"inner", result.inner_applications}, {"outer", result.outer_applications}}},
                    {"converged", result.solved()},
                    {"rhs", result.results.size()},
                    {"batches", to_json(result.batches, result.results)},
                    {"timing",
                     {{"min", seconds.min},
                      {"median", seconds.median},
                      {"max", seconds.max},
                      {"samples", seconds.samples},
                      {"after_warm_up", result.warmed_up}}},
                    {"gflops", statistics(result.gflops).median},
                    {"tuning_seconds", result.tuning_seconds},
                    {"reference_seconds", result.reference_seconds},
                    {"columns", columns}};
  if (!result.gpu.is_null()) record.details["gpu"] = result.gpu;
  if (result.host_energy.contains("energy_joule")) record.details["host_energy"] = result.host_energy;
  if (!result.halo.is_null()) record.details["halo"] = result.halo;
  return record;
}

}  // namespace plaquette
