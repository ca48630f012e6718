// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/multigrid/source_solves.hpp"

#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <utility>

#include "common/algebra/largest.hpp"
#include "common/krylov/work_clock.hpp"
#include "common/lattice/sum_rounding.hpp"
#include "common/solvers/stretch_numbers.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "cpu_ref/fields/cache_size.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/sources/sources.hpp"
#include "miniapps/shared/correlator_report.hpp"
#include "miniapps/shared/drawn_source.hpp"
#include "miniapps/shared/gpu_access.hpp"
#include "miniapps/shared/machine_speed.hpp"
#include "miniapps/shared/operator_case.hpp"
#include "miniapps/shared/spinor_difference.hpp"

namespace plaquette {

namespace {

/// Of the error's solve, relative to the residual: three digits of |e|.
constexpr double tolerance_of_errors = 1e-4;

/// Returns a sum over the bits of this rank's sites.
bit_sum bits_of(const spinor_configuration& x) {
  const extents& local = x.geometry().local();
  bit_sum sum;
  coordinate at{};
  for (at[3] = 0; at[3] < local[3]; ++at[3])
    for (at[2] = 0; at[2] < local[2]; ++at[2])
      for (at[1] = 0; at[1] < local[1]; ++at[1])
        sum.add(std::span(&x(at), static_cast<std::size_t>(local[0])));  // a row in x lies in one piece
  return sum;
}

bit_sum sum_of(const std::vector<bit_sum>& sums) {
  bit_sum all;
  for (const bit_sum& s : sums) all.add(std::span(&s, 1));
  return all;
}

}  // namespace

source_solves::source_solves(app_run& run, const multigrid_options& options, multigrid_solver& solver,
                             const gauge_input& gauge)
    : run_(run),
      options_(options),
      solver_(solver),
      gauge_(gauge),
      source_(options.source),
      next_source_(static_cast<int>(options.shared.seed % 1000)) {}

series source_solves::solve_all(bool by_multigrid, int batch) {
  // Of the solution and the operator that corrects it, then of the work.
  const std::string inner = by_multigrid ? "-" + options_.cycle_precision : options_.reference.substr(6);
  series all{by_multigrid ? "multigrid" : "bicgstab", options_.operator_precision + inner, batch};
  if (by_multigrid) all.schedule = schedule_of(options_.multigrid);
  all.devices = run_.world.size();
  const int rhs = options_.shared.rhs;
  // The first series gives the answer. All others, and each warm-up, have places of their own on the lattice.
  const source_description source = series_ == 0 ? options_.source : drawn_source();
  const bool gives_answer = series_++ == 0;
  if (gives_answer) {
    const bool all_columns = by_multigrid && rhs == spin_colours;
    solutions_.assign(all_columns ? spin_colours : 0, spinor_configuration(run_.geometry));
    judged_.assign(solutions_.size(), {});
  }
  warm_up(by_multigrid, batch);
  if (rhs % batch != 0) warm_up(by_multigrid, rhs % batch);
  source_ = source;
  for (int first = 0; first < rhs; first += batch) {
    if (run_.control.should_stop()) break;
    run_.begin(fmt::format("solve by {} of source {} of {}", all.solver, first + 1, rhs));
    std::vector<int> columns(static_cast<std::size_t>(std::min(batch, rhs - first)));
    std::iota(columns.begin(), columns.end(), first);
    solve_batch(all, columns, gives_answer);
  }
  judge_waiting(all.sources, gives_answer);
  if (gives_answer && (std::ssize(all.sources) != rhs || !all.solved(options_.tolerance()))) solutions_.clear();
  if (!run_.control.stopped()) measure_power(all, batch);
  return all;
}

void source_solves::solve_batch(series& all, const std::vector<int>& columns, bool keep) {
  const bool is_first = all.sources.empty();
  take_sources(columns);
  const energy_reading before = run_.energy.now();
  const multigrid_solve_report solved = solve(all.is_multigrid());
  const json_document used = energy_since(before, run_.energy, run_.world);
  all.host_source = is_first || !all.host_source.empty() ? used.value("source", "") : "";  // of all solves, or of none
  all.host_joule += used.value("energy_joule", 0.0);
  all.host_seconds += used.value("seconds", 0.0);
  tell(all, solved, columns);
  all.flops += solved.flops;
  all.tuning_seconds += solved.tuning_seconds;
  if (is_first) all.history = solved.report.history.front();
  const std::size_t begin = all.sources.size();
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const column_report& c = solved.report.columns[k];
    source_result s;
    s.column = columns[k];
    s.status = c.status;
    s.why = c.why;
    s.iterations = c.iterations;
    s.seconds = solved.seconds / static_cast<double>(columns.size());
    s.iterated = c.residual;
    s.device = solved.report.true_residuals[k];
    all.sources.push_back(s);
    await_judge(all.sources.size() - 1, columns[k], static_cast<int>(k));
    if (std::ssize(waiting_) == judged_at_once) judge_waiting(all.sources, keep);
  }
  find_errors(std::span(all.sources).subspan(begin));
}

/// Says it before the checks of the solutions, which can take longer.
void source_solves::tell(const series& all, const multigrid_solve_report& solved,
                         const std::vector<int>& columns) const {
  if (!run_.is_root()) return;
  run_.progress.clear();
  const std::string sources = columns.size() == 1
                                  ? fmt::format("source {}", columns.front() + 1)
                                  : fmt::format("sources {} to {} at once", columns.front() + 1, columns.back() + 1);
  fmt::print("solved     {} by {}: {:.4g} s each, {} iterations\n", sources, all.solver,
             solved.seconds / static_cast<double>(columns.size()), solved.report.iterations());
  std::fflush(stdout);
}

void source_solves::take_sources(const std::vector<int>& columns) {
  phase_ = scaling::phase_of_stretch(next_source_++);
  solver_.make_sources(source_, columns, phase_);
}

source_description source_solves::drawn_source() {
  return scaling::drawn_source(options_.source, run_.geometry.global(), options_.shared.seed, places_++);
}

/// Every width runs once before it is timed.
void source_solves::warm_up(bool by_multigrid, int width) {
  if (run_.control.should_stop()) return;
  run_.begin(fmt::format("warm-up for {} right-hand side{} at once", width, width == 1 ? "" : "s"));
  std::vector<int> columns(static_cast<std::size_t>(width));
  std::iota(columns.begin(), columns.end(), 0);
  source_ = drawn_source();
  take_sources(columns);
  stopping_rule few = rule_of(options_.tolerance(), std::min(options_.reference_limit, solver_.warm_up_iterations()));
  few.progress = nullptr;
  solve(by_multigrid, few);
}

stopping_rule source_solves::rule_of(double tolerance, int limit) {
  stopping_rule rule;
  rule.tolerance = tolerance;
  rule.limit = limit;
  rule.interrupted = [this] { return run_.control.should_stop(); };
  rule.progress = [this, tolerance](int iteration, double residual) {
    run_.progress.update(std::clamp(std::log10(residual) / std::log10(tolerance), 0.0, 1.0),
                         fmt::format("iteration {}, residual {:.1e}", iteration, residual));
  };
  return rule;
}

multigrid_solve_report source_solves::solve(bool by_multigrid) {
  return solve(by_multigrid,
               rule_of(options_.tolerance(), by_multigrid ? options_.iteration_limit : options_.reference_limit));
}

multigrid_solve_report source_solves::solve(bool by_multigrid, const stopping_rule& rule) {
  run_.device->finish();
  run_.world.barrier();
  const work_clock watch(*run_.device);
  multigrid_solve_report solved =
      by_multigrid ? solver_.solve(rule) : solver_.solve_by_bicgstab(rule, options_.reference_precision());
  norms_ = solver_.solution_norms();
  const stretch_seconds spent = end_together(watch, run_.world);
  solved.seconds = spent.work;
  solved.tuning_seconds = spent.tuning;
  return solved;
}

/// Copies the solution at a place, and its source, for the judge. The source's phase is taken away. Notes how far |x|
/// is from the norm that was read before the clock stopped.
void source_solves::await_judge(std::size_t source, int column, int place) {
  const auto [spin, colour] = component_of_column(column);
  const std::size_t n = waiting_.size();
  if (n == x_.size()) {
    x_.emplace_back(run_.geometry);
    b_.emplace_back(run_.geometry);
  }
  spinor_configuration& x = x_[n];
  b_[n] = cpu::make_source(source_, spin, colour, gauge_.links, run_.world);
  solver_.get_solution(place, x);
  const double norm = norm_of(x, run_.world), read = norms_.at(static_cast<std::size_t>(place));
  keep_largest(norms_apart_, norm == read ? 0.0 : std::abs(read / norm - 1.0));
  const complex<double> back = conj(phase_);
  cpu::for_each_site(x.geometry(), [&](const coordinate& at) { x(at) = back * x(at); });
  waiting_.push_back({source, column, norm});
}

/// Judges the columns that wait by the textbook operator, which had no part in the solves.
/// \param sources  get residuals and norms
void source_solves::judge_waiting(std::vector<source_result>& sources, bool keep) {
  const std::size_t count = waiting_.size();
  const bool keeps = keep && !solutions_.empty();
  for (std::size_t n = 0; keeps && n < count; ++n)
    judged_[static_cast<std::size_t>(waiting_[n].column)] = bits_of(x_[n]);
  const std::vector<double> residuals = cpu::textbook::relative_residuals(
      std::span(b_).first(count), std::span(x_).first(count), gauge_.links, options_.shared.action, run_.world);
  for (std::size_t n = 0; n < count; ++n) {
    source_result& s = sources[waiting_[n].source];
    s.reference = residuals[n];
    s.norm = waiting_[n].norm;
    if (keeps) std::swap(solutions_[static_cast<std::size_t>(waiting_[n].column)], x_[n]);
  }
  waiting_.clear();
}

/// M e = r for the residuals that are left: |e| / |r|. (Clark et al., table 3: error by a double solve.)
void source_solves::find_errors(std::span<source_result> sources) {
  const std::vector<double> x = solver_.solution_norms(), b = solver_.source_norms();
  solver_.set_residuals_as_sources();
  const std::vector<double> r = solver_.source_norms();
  solver_.solve(rule_of(tolerance_of_errors, options_.iteration_limit));
  const std::vector<double> e = solver_.solution_norms();
  for (std::size_t k = 0; k < sources.size(); ++k) {
    if (!(r[k] > 0.0)) continue;
    sources[k].error_over_residual = e[k] / r[k];
    sources[k].relative_error_over_residual = e[k] / r[k] * b[k] / x[k];
  }
}

/// A driver's counter of energy moves every tenth of a second, which may be longer than a solve: solves are repeated
/// for the power that they take.
void source_solves::measure_power(series& all, int batch) {
  if (!run_.gpu || all.sources.empty()) return;
  constexpr double seconds_of_window = 2.0;
  std::array<double, 1> fails{run_.gpu->monitor().works() ? 0.0 : 1.0};
  run_.world.maximum(std::span(fails));
  if (fails[0] > 0.0) return;
  run_.begin(fmt::format("power of solves by {}", all.solver));
  double seconds = 0.0;
  for (const source_result& s : all.sources) seconds += s.seconds * batch / static_cast<double>(all.sources.size());
  const int times = std::clamp(static_cast<int>(std::ceil(seconds_of_window / seconds)), 2, 1000);
  std::vector<int> columns(static_cast<std::size_t>(batch));
  std::iota(columns.begin(), columns.end(), 0);
  gpu_monitor& monitor = run_.gpu->monitor();
  monitor.begin();
  for (int i = 0; i < times; ++i) {
    take_sources(columns);
    solve(all.is_multigrid());
    monitor.sample();
    if (run_.control.should_stop()) return;
  }
  const gpu_window window = monitor.end();
  std::array<double, 2> sums{window.power_watt().value_or(0.0) / run_.device->facts().ranks_sharing,
                             window.power_watt() ? 1.0 : 0.0};
  run_.world.sum(std::span(sums));
  if (sums[1] == run_.world.size()) all.power_watt = sums[0];
}

solve_profile source_solves::profile() {
  run_.begin("profile of a solve");
  source_ = drawn_source();
  take_sources({0});
  const solve_profile found = solver_.profile(rule_of(options_.tolerance(), options_.iteration_limit));
  norms_ = solver_.solution_norms();
  run_.progress.clear();
  if (run_.control.stopped()) return found;
  std::vector<source_result> one(1);
  await_judge(0, 0, 0);
  judge_waiting(one, false);
  const double residual = one.front().reference;
  run_.result.checks.add("residual of the full system, profiled solve", residual, options_.tolerance());
  return found;
}

void source_solves::check_clock() {
  // Two sums of the same squares, 24 a site, which make them sqrt(24) times as long as one number a site. Each square
  // is rounded in the precision of the solution, at most that of pairs of floats.
  run_.result.checks.add("solutions are those that the clock has seen", norms_apart_,
                         4.0 * unit_roundoff(precision::pairs) + 5.0 * sum_rounding(run_.geometry.global()));
}

void source_solves::add_correlators() {
  if (solutions_.empty()) return;
  run_.begin("correlators");
  const std::vector<double> pion = cpu::pion_correlator(solutions_, run_.world),
                            rho = cpu::rho_correlator(solutions_, run_.world);
  run_.progress.clear();
  note_correlators(run_, pion, rho, options_.source.position[3]);
  check_correlators_by_definition(run_.result.checks, pion, rho, solutions_, run_.world);
  std::vector<bit_sum> used;
  for (const spinor_configuration& x : solutions_) used.push_back(bits_of(x));
  check_same_bits(run_.result.checks, "solutions", sum_of(judged_), sum_of(used), run_.world);
}

std::vector<operator_figure> figures_of(std::span<const series> all, const solve_profile& profile, const app_run& run,
                                        const multigrid_options& options) {
  using namespace scaling;
  double flops_of_profile = 0.0;
  for (const lattice_work& work : profile.work) flops_of_profile += work.flops;
  const double even_sites = 0.5 * static_cast<double>(run.geometry.global_volume());
  const double peak = run.device->fma_gflops(false), copy = run.device->copy_gbytes_per_s();
  const double cache = run.device->facts().cache_bytes;
  std::vector<operator_figure> figures;
  for (const series& s : all) {
    if (s.sources.empty()) continue;
    // Work of a mean source: by multigrid in proportion to the iterations.
    const auto count = static_cast<double>(s.sources.size());
    double iterations = 0.0;
    std::vector<double> seconds;
    for (const source_result& c : s.sources) {
      iterations += c.iterations / count;
      seconds.push_back(c.seconds * s.batch);
    }
    const double share = profile.iterations > 0 ? iterations / profile.iterations : 0.0;
    operator_case fine{options.shared.action.has_clover() ? operator_kind::clover_schur : operator_kind::wilson_schur,
                       site_layout::even_odd, number_precision::half_precision,
                       run.gpu ? reconstruct::twelve : reconstruct::none, s.batch};
    if (s.precision.ends_with("single")) fine.precision = number_precision::single_precision;
    if (s.precision.find('-') == std::string::npos) fine.precision = number_precision::double_precision;
    const double flops = s.is_multigrid() ? share * flops_of_profile : s.flops / count;
    const double applications = s.is_multigrid() ? (profile.work.empty() ? 0.0 : share * profile.work[0].applications)
                                                 : flops / (flops_per_site(fine.kind) * even_sites);
    const double bytes = bytes_per_site(fine) * even_sites;  // of an application to the batch
    operator_figure figure;
    figure.operator_name = s.is_multigrid() ? "solve by multigrid" : "solve by bicgstab";
    figure.layout = name(fine.layout);
    figure.precision = s.precision;
    figure.reconstruct = stored_reals(fine.links);
    figure.rhs = s.batch;
    figure.lattice = run.geometry.global();
    figure.device = run.gpu ? "gpu" : "cpu";
    figure.ranks = run.world.size();
    figure.threads = omp_get_max_threads();
    figure.seconds = statistics(seconds);
    figure.gflops = 1e-9 * flops * s.batch / figure.seconds.median;
    figure.gbytes_per_s = 1e-9 * applications * bytes / figure.seconds.median;
    relate_to_machine(figure, copy, peak);
    // If one application's numbers stay in a cache, memory is no limit.
    constexpr double beyond_caches = 10.0;
    if (!(bytes / run.world.size() > beyond_caches * cache)) figure.fraction_of_copy = 0.0;
    if (s.is_multigrid()) figure.details["vectors"] = s.schedule;
    figures.push_back(figure);
  }
  return figures;
}

}  // namespace plaquette
