// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/mixed-precision-solver/solver_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/app/standard_streams.hpp"
#include "common/app/timing.hpp"
#include "common/lattice/sum_rounding.hpp"
#include "common/stopwatch.hpp"
#include "cpu_ref/observables/correlators.hpp"
#include "cpu_ref/solvers.hpp"
#include "miniapps/mixed-precision-solver/propagator_checkpoint.hpp"
#include "miniapps/mixed-precision-solver/propagator_solve.hpp"
#include "miniapps/mixed-precision-solver/solver_checks.hpp"
#include "miniapps/mixed-precision-solver/summary.hpp"
#include "miniapps/mixed-precision-solver/timed_solver.hpp"
#include "miniapps/mixed-precision-solver/work_estimate.hpp"
#include "miniapps/shared/correlator_report.hpp"
#include "miniapps/shared/drawn_sample.hpp"
#include "miniapps/shared/machine_speed.hpp"
#include "miniapps/shared/operator_checks.hpp"
#include "miniapps/shared/propagator_file.hpp"

namespace plaquette {

namespace {

/// The flop/s of a solve may exceed its operators' by this factor: both are measured.
constexpr double most_of_operator = 1.15;

/// Returns a handle on links that the run keeps.
std::shared_ptr<const gauge_configuration> kept(const gauge_configuration& links) {
  return {std::shared_ptr<void>(), &links};
}

/// --check: compares the operators of the device with the textbook's, and the operators of a GPU with the CPU's.
void check_solver(app_run& run, const solver_options& options, propagator_solver& solver, const gauge_input& gauge) {
  const auto applied_by = [&run](propagator_solver& by) -> applied_operators {
    return [&](bool inner, bool dagger) {
      return apply_to_random(by, inner, dagger, run.shared.seed, run.geometry, run.world);
    };
  };
  const auto begin_each = [&run] {
    run.stop_if_requested();
    run.progress.begin("comparison of the operators");
    run.progress.update(-1.0);
  };
  enter_stage("the comparison with the textbook operator");
  const auto draw = [&run](const std::string& of) { return drawn_sample(run, false, of); };
  check_operators(run.result.checks, applied_by(solver), options, gauge.links, gauge.distance_from_su3, run.world, draw,
                  begin_each);
  if (!run.gpu) return;
  enter_stage("the comparison with the CPU");
  propagator_settings settings = options.solver_settings();
  if (settings.outer == precision::pairs) settings.outer = precision::double_;
  const auto on_cpu =
      open_library(device_kind::cpu, run.geometry, run.world)->make_propagator_solver(kept(gauge.links), settings);
  check_against_cpu(run.result.checks, applied_by(solver), applied_by(*on_cpu), options, gauge.distance_from_su3,
                    run.world, begin_each);
}

/// Of the columns that were checked, on the CPU.
correlator_pair correlators_of(const propagator& columns, const communicator& world) {
  return {cpu::pion_correlator(columns, world), cpu::rho_correlator(columns, world)};
}

/// The largest relative difference of two correlators.
double difference_of_correlators(const std::vector<double>& found, const std::vector<double>& expected) {
  double worst = found.size() == expected.size() ? 0.0 : std::nan("");
  for (std::size_t t = 0; t < std::min(found.size(), expected.size()); ++t) {
    const double difference = found[t] == expected[t] ? 0.0 : std::abs(found[t] / expected[t] - 1.0);
    keep_largest(worst, difference);
  }
  return worst;
}

/// Adds the correlators to the report, and checks of them: the columns still have the bits that were judged.
void note_correlators(app_run& run, const correlator_pair& c, const propagator& columns, const bit_sum& judged,
                      const source_description& source) {
  run.result.observables = {{"pion", c.pion}, {"rho", c.rho}, {"source_time", source.position[3]}};
  check_correlator(run.result.checks, "pion", c.pion);
  check_rho(run.result.checks, c.rho, c.pion);
  check_correlators_by_definition(run.result.checks, c.pion, c.rho, columns, run.world);
  check_same_bits(run.result.checks, "solutions behind the correlators", judged, sum_of_columns(columns), run.world);
  if (!run.is_root()) return;
  print_correlators(c.pion, c.rho);
  if (const std::string remark = remark_on_exceptional(c.pion, source.position[3]); !remark.empty())
    fmt::print("\nremark     {}\n", remark);
}

void add_correlators(app_run& run, const propagator& columns, const bit_sum& judged, const source_description& source) {
  if (columns.size() != spin_colours) return;
  enter_stage("the correlators");
  note_correlators(run, correlators_of(columns, run.world), columns, judged, source);
}

/// Adds the correlators of the device, if it computes them, and compares them with correlators of the columns that were
/// judged. A time's values are sums of terms, the same ones on both sides, each of which is rounded some tens of times
/// (at most 128 u). They are summed over the sites in two orders. Terms of the rho have both signs, and none is larger
/// than the pion's.
void add_correlators(app_run& run, const solver_options& options, const propagator_result& solved) {
  if (!solved.correlators) return add_correlators(run, solved.columns, solved.judged, options.source);
  enter_stage("the correlators");
  const correlator_pair& c = *solved.correlators;
  const correlator_pair of_cpu = correlators_of(solved.columns, run.world);
  note_correlators(run, c, solved.columns, solved.judged, options.source);
  check_same_bits(run.result.checks, "solutions on the device", solved.judged, solved.of_device.value(), run.world);
  const double rounding = 128.0 * 0x1p-53 + sum_rounding(run.geometry.global());
  run.result.checks.add("pion correlator, GPU against CPU", difference_of_correlators(c.pion, of_cpu.pion), rounding);
  std::vector<double> found = c.pion, expected = c.pion;
  for (std::size_t t = 0; t < found.size(); ++t) {
    found[t] += c.rho[t];
    expected[t] += of_cpu.rho[t];
  }
  run.result.checks.add("rho correlator, GPU against CPU", difference_of_correlators(found, expected), rounding);
}

void relate_to_device(operator_figure& figure, const library& device) {
  const double peak = device.fma_gflops(figure.precision == name(precision::double_));
  relate_to_machine(figure, device.copy_gbytes_per_s(), peak);
}

/// The last timed application of an even-odd operator, against the textbook's.
void check_timed_operator(app_run& run, const solver_options& options, const gauge_input& gauge,
                          const scaling::weighed_sums& sums, const scaling::operator_case& c) {
  const scaling::site_sample sample = drawn_sample(run, run.shared.check, describe(c) + ", timed");
  const scaling::difference found =
      scaling::compare_with_textbook(sums.out, sums.in, gauge.links, run.shared.action,
                                     {c.kind, c.layout, options.preconditioning, false}, sample, run.world);
  run.result.checks.add(describe(c) + ", last timed output", found.norm,
                        scaling::tolerance_of(c, gauge.distance_from_su3).norm);
}

/// Returns the highest speed in an operator's figures, in Gflop/s of their fastest samples; 0 if it has none.
double best_of(const std::vector<operator_figure>& figures, precision numbers, reconstruct links) {
  double best = 0.0;
  for (const operator_figure& f : figures)
    if (f.precision == name(numbers) && f.reconstruct == stored_reals(links) && f.seconds.min > 0.0)
      best = std::max(best, f.gflops * f.seconds.median / f.seconds.min);
  return best;
}

/// Returns Gflop/s of the solve's operators, each as often as the solve applies it; NaN if one has not been measured.
double gflops_of_operators(const std::vector<operator_figure>& figures, const propagator_result& solved,
                           const solver_options& options) {
  const auto inner = static_cast<double>(solved.inner_applications),
             outer = static_cast<double>(solved.outer_applications);
  const double seconds = inner / best_of(figures, options.inner, options.inner_links) +
                         outer / best_of(figures, options.outer, options.links);
  return inner + outer > 0.0 && std::isfinite(seconds) ? (inner + outer) / seconds : std::nan("");
}

/// Returns whether other work on the host slowed most samples of an operator: the median figure is well below the best.
bool is_disturbed(const std::vector<operator_figure>& figures, precision numbers, reconstruct links) {
  constexpr double disturbed = 1.1;
  std::vector<double> medians;
  for (const operator_figure& f : figures)
    if (f.precision == name(numbers) && f.reconstruct == stored_reals(links)) medians.push_back(f.gflops);
  return !medians.empty() && best_of(figures, numbers, links) > disturbed * statistics(medians).median;
}

/// A solve does all that its operators do, and more. Other work on a host slows the measurement of the operators: if a
/// solve seems to be faster, they are measured again, for a while if samples differ. `all` gets every measurement.
void check_rate_of_solves(app_run& run, const solver_options& options, const propagator_result& solved,
                          std::vector<operator_figure> all,
                          const std::function<std::vector<operator_figure>()>& measure_again) {
  if (!solved.warmed_up) return;
  constexpr int fewest_measurements = 4;
  constexpr double most_seconds = 20.0;
  const double rate = statistics(solved.gflops).median;
  double of_operators = gflops_of_operators(all, solved, options);
  const stopwatch watch;
  const auto goes_on = [&](int measurements) {
    if (!(rate > most_of_operator * of_operators) || run.control.should_stop()) return false;
    if (measurements < fewest_measurements) return true;
    const bool disturbed =
        is_disturbed(all, options.inner, options.inner_links) || is_disturbed(all, options.outer, options.links);
    return run.device->on_any_rank(disturbed && watch.seconds() < most_seconds);  // each rank has a clock of its own
  };
  for (int measurements = 1; goes_on(measurements); ++measurements) {
    const std::vector<operator_figure> more = measure_again();
    all.insert(all.end(), more.begin(), more.end());
    of_operators = gflops_of_operators(all, solved, options);
  }
  if (!std::isnan(of_operators))
    run.result.checks.add("flop/s of the timed solves, as a share of 1.15 times their operators'",
                          rate / (most_of_operator * of_operators), 1.0);
}

void measure_operator(app_run& run, const solver_options& options, propagator_solver& solver, const gauge_input& gauge,
                      const propagator_result& solved) {
  enter_stage("the measurement of the operator");
  run.progress.begin("measurement of the operator");
  run.progress.update(-1.0);
  const operator_judge judge = [&](const scaling::weighed_sums& sums, int columns, precision numbers,
                                   reconstruct links) {
    using enum scaling::operator_kind;
    check_timed_operator(run, options, gauge, sums,
                         {run.shared.action.has_clover() ? clover_schur : wilson_schur, scaling::site_layout::even_odd,
                          in_words_of_figures(numbers), links, columns});
  };
  const int threads = run.gpu ? 1 : cpu::context(run.geometry, run.world).threads();
  const auto measure = [&](const operator_judge& judged_by) {
    return time_operators({solver, *run.device, run.gpu.get()}, threads, run.shared.seed, judged_by,
                          [&run] { return run.control.should_stop(); });
  };
  const std::vector<operator_figure> measured = measure(judge);
  for (operator_figure figure : measured) {
    relate_to_device(figure, *run.device);
    run.result.figures.push_back(figure);
  }
  check_rate_of_solves(run, options, solved, measured,
                       [&] { return measure([](const scaling::weighed_sums&, int, precision, reconstruct) {}); });
}

void store_propagator(app_run& run, const solver_options& options, const propagator_result& solved,
                      const gauge_input& gauge) {
  enter_stage("writing the propagator");
  propagator_facts facts{options.shared.action,
                         options.source,
                         options.basis,
                         options.shared.gauge.describe(),
                         gauge.plaquette.average,
                         {},
                         0.0};
  for (const column_result& c : solved.results) {
    facts.residuals.push_back(c.reference);
    facts.tolerance = std::max(facts.tolerance, c.tolerance);
  }
  write_propagator(options.write_propagator, run.replaces(options.write_propagator), solved.columns, facts, run.world);
  enter_stage("the comparison of the propagator's file");
  check_propagator_file(run.result.checks, options.write_propagator, solved.columns, facts, run.world);
  check_same_bits(run.result.checks, "solutions behind the file", solved.judged, sum_of_columns(solved.columns),
                  run.world);
}

/// The worst of the columns of timed solves that were drawn.
void check_timed_solves(verification& checks, const propagator_result& solved, const solver_options& options,
                        const lattice_geometry& geometry) {
  if (!solved.warmed_up) return;
  checks.add("timed solves converge", solved.timed_solves_converge);
  worst_of_several worst;
  for (std::size_t n = 0; n < solved.timed_residuals.size(); ++n)
    worst.add(solved.timed_residuals[n], solved.timed_tolerances[n]);
  if (worst.any) {
    checks.add("timed solves, residual of the full system", worst.value, worst.tolerance);
    // Two sums of the same squares, 24 a site, which make them sqrt(24) times as long as one number a site. Each square
    // is rounded in the precision of the solution.
    checks.add("timed solutions are those that the clock has seen", solved.norms_apart,
               4.0 * unit_roundoff(options.outer) + 5.0 * sum_rounding(geometry.global()));
  }
  if (solved.repeats_agree) checks.add("repeated solves agree", *solved.repeats_agree);
}

exit_status finish(app_run& run, exit_status status) {
  run.progress.clear();
  if (run.is_root()) print_timing(run.result);
  return run.finish(status);
}

/// Returns the links that smear a Gaussian source, if the operator has others; else null.
const gauge_configuration* source_links_of(const source_description& source, const gauge_input& gauge) {
  return source.thin_links && gauge.thin_links ? &*gauge.thin_links : nullptr;
}

/// Solves the system for all columns.
propagator_result solve_columns(app_run& run, const solver_options& options, const gauge_input& gauge,
                                propagator_solver& solver, const gauge_configuration* source_links) {
  propagator_result solved = solve_propagator({solver, *run.device, run.gpu.get(), &run.energy}, options, gauge.links,
                                              run.world, run.control, run.progress, source_links);
  run.progress.clear();
  return solved;
}

/// Checks the residuals of all columns and of timed solves.
void check_solutions(app_run& run, const solver_options& options, const propagator_result& solved) {
  check_columns(run.result.checks, solved.results);
  check_timed_solves(run.result.checks, solved, options, run.geometry);
  run.result.solves.push_back(record_of(solved, options));
}

/// Prints a line a column, and remarks on solves that are slow or off.
void print_solutions(const app_run& run, const solver_options& options, const gauge_input& gauge,
                     const propagator_result& solved) {
  if (!run.is_root()) return;
  print_columns(solved.results);
  for (const std::string& remark :
       {remark_on_rebuilt_links(solved.results, stored_reals(options.links), gauge.distance_from_su3),
        remark_on_multigrid(solved.results)})
    if (!remark.empty()) fmt::print("remark     {}\n", remark);
}

/// Returns the status of a run with columns that stay above their tolerance: verification_failed if the solver claims
/// to have solved all of them.
exit_status status_of_unsolved(const app_run& run, const solver_options& options, const propagator_result& solved) {
  const bool claimed = std::ranges::all_of(solved.results, [&](const column_result& c) {
    return c.solved() || (c.status == solve_status::converged && c.iterated <= options.tolerance());
  });
  if (claimed) return exit_status::verification_failed;
  const bool broke_down = std::ranges::any_of(solved.results, [](const column_result& c) {
    return c.status == solve_status::breakdown || c.status == solve_status::stagnation;
  });
  const auto unsolved = std::ranges::count_if(solved.results, [](const column_result& c) { return !c.solved(); });
  if (run.is_root())
    write_to_stderr(fmt::format(
        "no convergence: {} of {} right-hand sides stay above their tolerance{}\n", unsolved, solved.results.size(),
        options.solver == solver_kind::bicgstab && broke_down ? " (--solver cgnr converges where bicgstab breaks down)"
                                                              : ""));
  return exit_status::no_convergence;
}

/// Writes the propagator if it is requested and whole. A column that was stopped in its solve may meet the tolerance,
/// but by other bits than the whole solve's.
void write_if_whole(app_run& run, const solver_options& options, const propagator_result& solved,
                    const gauge_input& gauge) {
  if (options.write_propagator.empty()) return;
  const bool is_whole = !run.control.stopped() || std::ranges::all_of(solved.kept, std::identity{});
  if (is_whole) store_propagator(run, options, solved, gauge);
  if (run.is_root())
    fmt::print("\npropagator {}{}\n", options.write_propagator,
               is_whole ? "" : ": not written, the run was stopped within a solve");
}

exit_status solve_and_report(app_run& run, const solver_options& options, const gauge_input& gauge,
                             propagator_result& solved) {
  enter_stage("the set-up of the operators");
  const gauge_configuration* const source_links = source_links_of(options.source, gauge);
  propagator_settings settings = options.solver_settings();
  if (source_links) settings.source_links = kept(*source_links);
  const auto solver = run.device->make_propagator_solver(kept(gauge.links), settings);
  if (options.shared.check) check_solver(run, options, *solver, gauge);

  solved = solve_columns(run, options, gauge, *solver, source_links);
  check_solutions(run, options, solved);
  print_solutions(run, options, gauge, solved);
  run.control.note_stop(run.result.checks);
  if (!solved.solved())
    return finish(run, run.control.stopped() ? exit_status::interrupted : status_of_unsolved(run, options, solved));

  run.result.fom.value = static_cast<double>(solved.results.size()) / statistics(solved.seconds).median;
  add_correlators(run, options, solved);
  if (!run.control.stopped()) measure_operator(run, options, *solver, gauge, solved);
  write_if_whole(run, options, solved, gauge);
  return finish(run, run.control.stopped() ? exit_status::interrupted : exit_status::success);
}

exit_status run_solve(app_run& run, const solver_options& options, const gauge_input& gauge) {
  propagator_result solved;
  const exit_status status = solve_and_report(run, options, gauge, solved);
  if (options.checkpoint.empty()) return status;
  // The run may have been stopped after its last column was kept, or have written files that earlier runs left
  // unfinished.
  const auto left = run.control.stopped() ? files_of_run(options) : std::vector<std::string>{};
  if (left != solved.unfinished_files) {
    enter_stage("writing the checkpoint");
    solved.unfinished_files = left;
    propagator_checkpoint(options, run.geometry, gauge.plaquette.average, run.world).store(solved);
  }
  return status;
}

/// A GPU that has no memory for all right-hand sides at once solves them in batches, of one size on all ranks, unless
/// --batch sets one.
void fit_batch(app_run& run, solver_options& options) {
  if (!run.gpu || options.batch > 0 || !options.read_propagator.empty()) return;
  const double free_bytes = run.device->free_bytes() / run.device->facts().ranks_sharing;
  std::array<double, 1> most_negative{-1.0 * batch_that_fits(options, run.geometry, free_bytes)};
  run.world.maximum(std::span(most_negative));
  const int batch = static_cast<int>(-most_negative[0]);
  if (batch == options.shared.rhs) return;
  options.batch = batch;
}

/// A stored propagator is checked as a fresh one is.
exit_status run_read(app_run& run, const solver_options& options, const gauge_input& gauge) {
  enter_stage("reading the propagator");
  const stopwatch watch;
  loaded_propagator loaded = read_propagator(options.read_propagator, run.geometry, run.world);
  const double seconds = watch.seconds();
  const auto is_stopped = [&run] {
    const bool stops = run.control.should_stop();
    run.control.note_stop(run.result.checks);
    return stops;
  };
  if (is_stopped()) return finish(run, exit_status::interrupted);
  // The file holds the plaquette to the last bit; another process grid sums it in another order.
  run.result.checks.add("plaquette is that of the propagator's configuration",
                        std::abs(gauge.plaquette.average - loaded.facts.plaquette),
                        sum_rounding(run.geometry.global()));
  require_source_on(loaded.facts.source, run.geometry.global());
  solver_options stored = options;  // the file says which problem was solved
  stored.shared.action = loaded.facts.action;
  stored.source = loaded.facts.source;
  stored.shared.tolerance = loaded.facts.tolerance;
  run.result.parameters = parameters_of(stored, run.geometry);
  if (run.is_root()) print_problem(stored, run.geometry);

  enter_stage("the check of the propagator");
  run.progress.begin("check of the propagator");
  run.progress.update(-1.0);
  std::vector<column_result> results(loaded.columns.size());
  const bit_sum judged = sum_of_columns(loaded.columns);
  judge_columns(results, loaded.columns, loaded.facts.source, loaded.facts.action, loaded.facts.tolerance, 0.0,
                gauge.links, run.world, source_links_of(loaded.facts.source, gauge),
                [&run] { return run.control.should_stop(); });
  if (is_stopped()) return finish(run, exit_status::interrupted);
  for (std::size_t n = 0; n < results.size(); ++n) {
    results[n].status = solve_status::converged;
    results[n].device = results[n].iterated = loaded.facts.residuals[n];
  }
  const auto worst = std::ranges::max_element(
      results, {}, [](const column_result& c) { return std::isnan(c.reference) ? 1e300 : c.reference; });
  run.result.checks.add("residual of the full system", worst->reference, worst->tolerance);
  run.result.fom = {propagator_file_bytes(run.geometry.global()) * 1e-9 / seconds, "GB/s",
                    "propagator read from its file"};
  run.progress.clear();
  if (run.is_root()) print_columns(results);
  add_correlators(run, loaded.columns, judged, loaded.facts.source);
  return finish(run, exit_status::success);
}

}  // namespace

program_text solver_program::text() const {
  return {"mixed-precision-solver", "solves/s", "right-hand sides solved and verified per second"};
}

void solver_program::parse(int argc, const char* const* argv) { options_ = parse_solver_options(argc, argv); }

lattice_geometry solver_program::geometry(const communicator& world) {
  const lattice_geometry geometry = geometry_of_run(options_.shared, world);
  require_source_on(options_.source, geometry.global());
  return geometry;
}

std::vector<named_file> solver_program::files() const {
  using enum named_file::use;
  const std::string &written = options_.write_propagator, &read = options_.read_propagator;
  if (!has_hdf5() && ((!written.empty() && !written.ends_with(".lime")) || (!read.empty() && !is_lime_file(read)) ||
                      !options_.checkpoint.empty()))
    throw input_error(
        "--propagator, --read-propagator, --checkpoint: this program was built without HDF5; FILE.lime works without");
  return {{"--gauge", options_.shared.gauge.path, input},
          {"--read-propagator", options_.read_propagator, input},
          {"--propagator", options_.write_propagator, output},
          {"--checkpoint", options_.checkpoint, checkpoint}};
}

std::vector<std::string> solver_program::files_of_stopped_run() const {
  return plaquette::files_of_stopped_run(options_.checkpoint);
}

run_estimate solver_program::estimate(app_run& run) {
  const int requested = options_.batch;
  fit_batch(run, options_);
  const work_estimate work = estimate_work(options_, run.geometry, run.world);
  run_estimate needs{work.memory() - work.program_bytes, work.gpu_bytes};
  if (!options_.read_propagator.empty()) return needs;
  needs.lines = lines_of(options_, work);
  if (const auto machine = run.shared.dry_run ? planned_machine(run.shared) : std::nullopt) {
    const solve_times times = times_of_solve(options_, run.geometry, *machine);
    needs.lines.emplace_back("messages", text_of_messages(times.application) + ", of an application of the operator");
    needs.lines.emplace_back("seconds", text_of_seconds(options_, times));
    if (times.solves > 0.0) needs.fom = run.shared.rhs / times.solves;
  }
  if (options_.batch != requested)
    needs.lines.emplace_back("batches", fmt::format("{} right-hand sides at a time: the GPU has no memory for all {}",
                                                    options_.batch, options_.shared.rhs));
  return needs;
}

json_document solver_program::parameters(const app_run& run) const { return parameters_of(options_, run.geometry); }

void solver_program::print_problem(const app_run& run) const {
  if (options_.read_propagator.empty()) plaquette::print_problem(options_, run.geometry);
}

exit_status solver_program::body(app_run& run) {
  const gauge_input& gauge = run.gauge();
  return options_.read_propagator.empty() ? run_solve(run, options_, gauge) : run_read(run, options_, gauge);
}

}  // namespace plaquette
