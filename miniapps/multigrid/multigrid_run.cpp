// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/multigrid/multigrid_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "common/app/memory.hpp"
#include "common/app/parse.hpp"
#include "common/io/hdf5_file.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "cpu_ref/sources/sources.hpp"
#include "miniapps/multigrid/low_mode_report.hpp"
#include "miniapps/multigrid/multigrid_engine.hpp"
#include "miniapps/multigrid/multigrid_report.hpp"
#include "miniapps/multigrid/setup_file.hpp"
#include "miniapps/multigrid/source_results.hpp"

namespace plaquette {

namespace {

/// Of the error's solve, relative to the residual: three digits of |e|.
constexpr double tolerance_of_errors = 1e-4;

/// All sources by one solver.
class measurement {
 public:
  measurement(app_run& run, const multigrid_options& options, multigrid_engine& engine, const gauge_input& gauge)
      : run_(run), options_(options), engine_(engine), gauge_(gauge) {}

  series solve_all(bool by_multigrid, int batch) {
    series all{by_multigrid ? "multigrid" : "bicgstab",
               by_multigrid ? "double-" + options_.cycle_precision : options_.reference, batch};
    if (by_multigrid) all.schedule = schedule_of(options_.multigrid);
    all.devices = run_.world.size();
    const int rhs = options_.shared.rhs;
    warm_up(by_multigrid, batch);
    if (rhs % batch != 0) warm_up(by_multigrid, rhs % batch);
    for (int first = 0; first < rhs; first += batch) {
      if (run_.control.should_stop()) break;
      run_.begin(fmt::format("solve by {} of source {} of {}", all.solver, first + 1, rhs));
      const std::vector<int> columns = take_sources(first, std::min(batch, rhs - first));
      if (run_.gpu) run_.gpu->monitor().begin();
      const timed_multigrid_solve solved =
          by_multigrid ? engine_.solve_by_multigrid(rule_of(options_.tolerance(), options_.iteration_limit))
                       : engine_.solve_by_bicgstab(rule_of(options_.tolerance(), options_.reference_limit));
      tell(all, solved, columns);
      if (run_.gpu) take_energy(all, run_.gpu->monitor().end(), first == 0);
      all.flops += solved.flops;
      all.tuning_seconds += solved.tuning_seconds;
      if (first == 0) all.history = solved.report.history.front();
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
        s.reference = reference_residual(columns[k], static_cast<int>(k));
        all.sources.push_back(s);
      }
      find_errors(std::span(all.sources).subspan(begin));
    }
    return all;
  }

 private:
  /// What checks of the solutions, which can take longer, come after.
  void tell(const series& all, const timed_multigrid_solve& solved, const std::vector<int>& columns) const {
    if (!run_.talks()) return;
    run_.progress.clear();
    const std::string sources = columns.size() == 1
                                    ? fmt::format("source {}", columns.front() + 1)
                                    : fmt::format("sources {} to {} at once", columns.front() + 1, columns.back() + 1);
    fmt::print("solved     {} by {}: {:.4g} s each, {} iterations\n", sources, all.solver,
               solved.seconds / static_cast<double>(columns.size()), solved.report.iterations());
    std::fflush(stdout);
  }

  std::vector<int> take_sources(int first, int count) {
    std::vector<int> columns(static_cast<std::size_t>(count));
    std::iota(columns.begin(), columns.end(), first);
    engine_.set_sources(columns);
    return columns;
  }

  /// Every width runs once before it is timed.
  void warm_up(bool by_multigrid, int width) {
    if (run_.control.should_stop()) return;
    run_.begin(fmt::format("warm-up for {} right-hand side{} at once", width, width == 1 ? "" : "s"));
    take_sources(0, width);
    engine_.warm_up(by_multigrid, rule_of(options_.tolerance(), options_.reference_limit));
  }

  stopping_rule rule_of(double tolerance, int limit) {
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

  /// Adds the energy of all GPUs in a solve; drops it where one does not tell.
  void take_energy(series& all, const gpu_window& window, bool first) {
    std::array<double, 2> sums{window.energy_joule.value_or(0.0), window.energy_joule ? 1.0 : 0.0};
    run_.world.sum(std::span(sums));
    all.gpu_seconds += window.seconds;
    if (sums[1] < run_.world.size())
      all.energy_joule.reset();
    else if (first || all.energy_joule)
      all.energy_joule = all.energy_joule.value_or(0.0) + sums[0];
  }

  /// By the textbook operator, which had no part in the solve.
  double reference_residual(int column, int place) {
    const auto [spin, colour] = component_of_column(column);
    const auto b = cpu::make_source(options_.source, spin, colour, gauge_.links, run_.world);
    spinor_configuration x(run_.geometry);
    engine_.get_solution(place, x);
    return cpu::textbook::relative_residual(b, x, gauge_.links, options_.shared.action, run_.world);
  }

  /// M e = r for the residuals that are left: |e| / |r|. (Clark et al., table 3: error by a double solve.)
  void find_errors(std::span<source_result> sources) {
    const std::vector<double> x = engine_.solution_norms(), b = engine_.source_norms();
    engine_.set_residuals_as_sources();
    const std::vector<double> r = engine_.source_norms();
    engine_.solve_by_multigrid(rule_of(tolerance_of_errors, options_.iteration_limit));
    const std::vector<double> e = engine_.solution_norms();
    for (std::size_t k = 0; k < sources.size(); ++k) {
      if (!(r[k] > 0.0)) continue;
      sources[k].error_over_residual = e[k] / r[k];
      sources[k].relative_error_over_residual = e[k] / r[k] * b[k] / x[k];
    }
  }

  app_run& run_;
  const multigrid_options& options_;
  multigrid_engine& engine_;
  const gauge_input& gauge_;
};

std::string text_of(const coarsening& c) { return fmt::format("{} ({} vectors)", to_string(c.aggregate), c.vectors); }

}  // namespace

program_text multigrid_program::text() const {
  return {"multigrid", "solves/s", "right-hand sides solved by multigrid and verified per second, best batch"};
}

void multigrid_program::parse(int argc, const char* const* argv) { options_ = parse_multigrid_options(argc, argv); }

std::vector<named_file> multigrid_program::files() const {
  using enum named_file::use;
  if (!has_hdf5() && !(options_.save_setup + options_.load_setup).empty())
    throw input_error("--save-setup, --load-setup: this program was built without HDF5");
  return {{"--gauge", options_.shared.gauge.path, input},
          {"--load-setup", options_.load_setup, input},
          {"--save-setup", options_.save_setup, output}};
}

lattice_geometry multigrid_program::geometry(const communicator& world) {
  const lattice_geometry geometry = geometry_of_run(options_.shared, world);
  require_source_on(options_.source, geometry.global());
  if (options_.load_setup.empty())
    choose_parameters(options_, geometry);
  else
    options_.multigrid.coarsenings = coarsenings_of_setup(options_.load_setup, world);
  return geometry;
}

run_estimate multigrid_program::estimate(app_run& run) {
  std::string changed;
  if (!run.shared.dry_run) {
    std::array<double, 1> room{-0.9 * (run.gpu ? run.gpu->free_bytes() : available_memory() / run.world.size())};
    run.world.maximum(std::span(room));
    changed = fit_into_memory(options_, run.geometry, -room[0]);
  }
  const multigrid_memory memory = memory_of(options_, run.geometry);
  run_estimate needs{memory.canonical, 0.0};
  (run.gpu ? needs.gpu_bytes : needs.host_bytes) += memory.device();
  std::string levels = to_string(run.geometry.global());
  const auto lattices = lattices_of(options_.multigrid, run.geometry);
  for (std::size_t k = 1; k < lattices.size(); ++k)
    levels +=
        fmt::format(" -> {} with n = {}", to_string(lattices[k]), 2 * options_.multigrid.coarsenings[k - 1].vectors);
  needs.lines = {{"lattices", levels},
                 {"", fmt::format("memory: {} solver, {} coarse lattices, {} setup", format_bytes(memory.solver),
                                  format_bytes(memory.hierarchy), format_bytes(memory.setup))}};
  if (!changed.empty()) needs.lines.emplace_back("remark", "to fit into memory: " + changed);
  return needs;
}

json_document multigrid_program::parameters(const app_run& run) const { return parameters_of(options_, run.geometry); }

void multigrid_program::print_problem(const app_run& run) const {
  const shared_options& shared = options_.shared;
  const multigrid_parameters& p = options_.multigrid;
  fmt::print("lattice    {}, grid {}\n", to_string(run.geometry.global()), to_string(run.geometry.grid()));
  fmt::print("gauge      {}\n", printable(shared.gauge.describe()));
  fmt::print("action     mass {:g} (kappa {:.6g}), csw {:g}\n", shared.action.mass, shared.action.kappa(),
             shared.action.clover_temporal);
  std::string shapes;
  for (const coarsening& c : p.coarsenings) shapes += (shapes.empty() ? "" : ", then ") + text_of(c);
  fmt::print("multigrid  aggregates {}; {}-cycle, {} {}+{} in {}, gcr {} on coarse lattices, {} on the coarsest\n",
             shapes, name(p.cycle), name(p.smoother), text_of_steps(p.steps_before), text_of_steps(p.steps_after),
             options_.cycle_precision, p.k_steps, p.coarsest_steps);
  fmt::print("solves     {} sources to {:g}, reference {}\n", shared.rhs, options_.tolerance(),
             options_.has_reference() ? "bicgstab " + options_.reference : "none");
}

exit_status multigrid_program::body(app_run& run) {
  const gauge_input& gauge = run.gauge();
  const double tolerance = options_.tolerance();
  const setup_origin origin{options_.shared.action, links_checksum(gauge.links, run.world)};
  options_.multigrid.between_parts = [&run] { run.stop_if_asked(); };
  const auto engine = run.gpu
                          ? make_gpu_multigrid(*run.gpu, gauge, origin, options_)
                          : make_cpu_multigrid(cpu::context(run.geometry, run.world), gauge.links, origin, options_);
  multigrid_results results;
  measurement measure(run, options_, *engine, gauge);
  const std::size_t count = std::max<std::size_t>(options_.schedules.size(), 1);
  for (std::size_t number = 0; number < count; ++number) {
    if (number > 0) choose_vectors(options_, options_.schedules[number]);
    schedule_results schedule{run.stage("setup", [&] { return engine->set_up(); }), {}, results.all.size()};
    options_.multigrid.set_shape(schedule.setup.cycle);
    options_.multigrid.coarsenings = schedule.setup.coarsenings;
    if (run.talks()) print_setup(schedule.setup);
    run.stop_if_asked();
    if (number == 0) {
      results.modes = examine(run, *engine);
      if (options_.explains) results.explanation = engine->explanation();
    }
    for (const int batch : options_.batches) {
      results.all.push_back(measure.solve_all(true, batch));
      if (number == 0 && options_.has_reference()) results.all.push_back(measure.solve_all(false, batch));
      run.stop_if_asked();
    }
    run.begin("profile of a solve");
    engine->set_sources({0});
    stopping_rule rule;
    rule.tolerance = tolerance;
    rule.limit = options_.iteration_limit;
    schedule.levels = levels_of(engine->profile(rule), options_, run.geometry);
    run.progress.clear();
    results.schedules.push_back(std::move(schedule));
  }
  add_to_report(run.result, results, options_, memory_of(options_, run.geometry).device());
  if (run.talks()) print_results(results, options_);
  return run.finish(status_of(results, options_));
}

/// What is done once a setup is there and before anything is solved: identities, the setup's file, low modes.
std::vector<low_mode> multigrid_program::examine(app_run& run, multigrid_engine& engine) const {
  if (options_.shared.check)
    for (const identity& i : engine.identities()) run.result.checks.add(i.name, i.value, i.tolerance);
  if (!options_.save_setup.empty()) {
    run.begin("writing of the setup");
    engine.save_setup(options_.save_setup, run.replaces(options_.save_setup));
  }
  if (options_.modes == 0) return {};
  mode_probe probe;
  probe.modes = options_.modes;
  const std::vector<low_mode> modes = run.stage(
      "low modes of gamma_5 M", [&] { return engine.low_modes(probe, [&] { return run.control.should_stop(); }); });
  if (run.talks()) print_modes(modes);
  run.stop_if_asked();
  const std::string why = why_exceptional(modes);
  if (why.empty()) return modes;
  if (options_.exceptional == "refuse")
    throw input_error(fmt::format(
        "exceptional configuration at mass {:g}: {}; raise the mass or smear (--stout-steps 2), or --exceptional solve",
        options_.shared.action.mass, why));
  if (run.talks()) fmt::print("remark     exceptional: {}\n", why);
  return modes;
}

}  // namespace plaquette
