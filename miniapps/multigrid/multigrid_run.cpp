// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/multigrid/multigrid_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/app/memory.hpp"
#include "common/app/parse.hpp"
#include "common/io/hdf5_file.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "cpu_ref/sources/sources.hpp"
#include "miniapps/multigrid/multigrid_engine.hpp"
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
    const int rhs = options_.shared.rhs;
    warm_up(by_multigrid, batch);
    if (rhs % batch != 0) warm_up(by_multigrid, rhs % batch);
    for (int first = 0; first < rhs; first += batch) {
      if (run_.control.should_stop()) break;
      run_.begin(fmt::format("solve by {} of source {} of {}", all.solver, first + 1, rhs));
      const std::vector<int> columns = take_sources(first, std::min(batch, rhs - first));
      const timed_multigrid_solve solved =
          by_multigrid ? engine_.solve_by_multigrid(rule_of(options_.tolerance(), options_.iteration_limit))
                       : engine_.solve_by_bicgstab(rule_of(options_.tolerance(), options_.reference_limit));
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

void print_speed_up(const series& slow, const series& fast) {
  const spread ratio = spread_of(speed_up(slow, fast));
  fmt::print("speed-up   {:.2f} ({:.2f}) with {} right-hand side{} at once\n", ratio.mean, ratio.deviation, fast.batch,
             fast.batch == 1 ? "" : "s");
}

/// What would help, where a solve is slow or has failed.
std::string advice(const series& s, const multigrid_options& options) {
  const spread it = iterations_of(s);
  if (s.solved(10.0 * options.tolerance()) && it.mean <= 40.0) return "";
  if (options.multigrid.refinements < 5)
    return "the null space is not good enough: more --setup-refinements (say 6) would help";
  if (options.multigrid.steps_after < 8) return "more relaxation (--post 8) would help";
  return "more --vectors would help; or the configuration is exceptional at this mass (stout smearing removes that)";
}

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
             shapes, name(p.cycle), name(p.smoother), p.steps_before, p.steps_after, options_.cycle_precision,
             p.k_steps, p.coarsest_steps);
  fmt::print("solves     {} sources to {:g}, reference {}\n", shared.rhs, options_.tolerance(),
             options_.has_reference() ? "bicgstab " + options_.reference : "none");
}

exit_status multigrid_program::body(app_run& run) {
  const gauge_input& gauge = run.gauge();
  const double tolerance = options_.tolerance();
  const setup_origin origin{options_.shared.action, links_checksum(gauge.links, run.world)};
  const auto engine =
      run.gpu ? make_gpu_multigrid(*run.gpu, gauge.links, origin, options_)
              : make_cpu_multigrid(cpu::context(run.geometry, run.world), gauge.links, origin, options_);
  const setup_summary setup = run.stage("setup", [&] { return engine->set_up(); });
  if (run.talks()) print_setup(setup);
  run.stop_if_asked();
  if (options_.shared.check)
    for (const identity& i : engine->identities()) run.result.checks.add(i.name, i.value, i.tolerance);
  if (!options_.save_setup.empty()) {
    run.begin("writing of the setup");
    engine->save_setup(options_.save_setup, run.replaces(options_.save_setup));
  }

  for (const low_mode& m : run.stage("modes", [&] { return engine->low_modes({}, [&] { return run.control.should_stop(); }); }))
    fmt::print("mode {:.6e} residual {:.1e} gain {:.3g} chirality {:.3f} missed {:.3f}\n", m.value, m.residual, m.gain(), m.chirality, m.missed);
  measurement measure(run, options_, *engine, gauge);
  std::vector<series> all;
  for (const int batch : options_.batches) {
    all.push_back(measure.solve_all(true, batch));
    if (options_.has_reference()) all.push_back(measure.solve_all(false, batch));
    run.stop_if_asked();
  }
  run.begin("profile of a solve");
  engine->set_sources({0});
  stopping_rule rule;
  rule.tolerance = tolerance;
  rule.limit = options_.iteration_limit;
  const json_document levels = levels_of(engine->profile(rule), options_, run.geometry);
  run.progress.clear();

  // Rounding of the reference: its M x has 2^-53 times |M| |x| / |b|, with |x| / |b| at most 1 / the smallest gain.
  bool solved = true;
  double best = 0.0;
  for (const series& s : all) {
    const solve_record record = record_of(s, tolerance);
    run.result.checks.add(fmt::format("residual of the full system, {} {}", s.solver, s.batch),
                          record.reference_residual, tolerance);
    run.result.solves.push_back(record);
    solved = solved && s.solved(tolerance);
    if (s.solver == "multigrid") best = std::max(best, 1.0 / spread_of(s, &source_result::seconds).mean);
  }
  run.result.solves.front().details["levels"] = levels;
  run.result.solves.front().details["setup"] = {{"seconds",
                                                 {{"whole", setup.seconds.whole},
                                                  {"relaxation", setup.seconds.relaxation},
                                                  {"refinement", setup.seconds.refinement},
                                                  {"orthonormalisation", setup.seconds.orthonormalisation},
                                                  {"galerkin", setup.seconds.galerkin}}},
                                                {"replaced", setup.replaced},
                                                {"smallest_gain", setup.smallest_gain},
                                                {"largest_gain", setup.largest_gain},
                                                {"memory_bytes", memory_of(options_, run.geometry).device()}};
  for (std::size_t k = 0; k + 1 < all.size() && options_.has_reference(); k += 2) {
    const spread ratio = spread_of(speed_up(all[k + 1], all[k]));
    run.result.solves[k].details["speed_up"] = {{"mean", ratio.mean}, {"deviation", ratio.deviation}};
  }
  if (run.talks()) {
    print_series(all, tolerance);
    print_levels(levels);
    fmt::print("\n");
    for (std::size_t k = 0; k + 1 < all.size() && options_.has_reference(); k += 2) {
      print_speed_up(all[k + 1], all[k]);
      const double saved =
          spread_of(all[k + 1], &source_result::seconds).mean - spread_of(all[k], &source_result::seconds).mean;
      if (k == 0 && saved > 0.0)
        fmt::print("           the setup is paid for by {:.0f} solves\n", std::ceil(setup.seconds.whole / saved));
    }
    const std::string help = advice(all.front(), options_);
    if (!help.empty()) fmt::print("remark     {}\n", help);
  }
  run.result.fom.value = best;
  if (!solved) {
    const bool claimed = std::ranges::all_of(all, [](const series& s) {
      return std::ranges::all_of(s.sources, [](const source_result& c) { return c.status == solve_status::converged; });
    });
    if (run.talks() && !claimed)
      for (const series& s : all) {
        const auto worst =
            std::ranges::find_if(s.sources, [&](const source_result& c) { return !(c.reference <= tolerance); });
        if (worst != s.sources.end())
          fmt::print(stderr, "no convergence: {} leaves source {} at {:.2e}, above {:g} ({}{}{})\n", s.solver,
                     worst->column, worst->reference, tolerance, name(worst->status), worst->why.empty() ? "" : ": ",
                     worst->why);
      }
    return run.finish(claimed ? exit_status::verification_failed : exit_status::no_convergence);
  }
  return run.finish(exit_status::success);
}

}  // namespace plaquette
