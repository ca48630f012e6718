// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/multigrid/multigrid_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "common/app/checkpoint.hpp"
#include "common/app/memory.hpp"
#include "common/app/parse.hpp"
#include "common/io/hdf5_file.hpp"
#include "common/krylov/work_clock.hpp"
#include "common/solvers/stretch_numbers.hpp"
#include "cpu_ref/solvers.hpp"
#include "miniapps/multigrid/low_mode_report.hpp"
#include "miniapps/multigrid/multigrid_estimate.hpp"
#include "miniapps/multigrid/multigrid_report.hpp"
#include "miniapps/multigrid/setup_file.hpp"
#include "miniapps/multigrid/source_results.hpp"
#include "miniapps/multigrid/source_solves.hpp"
#include "miniapps/shared/gpu_access.hpp"
#include "miniapps/shared/stopped_report.hpp"

namespace plaquette {

namespace {

/// Returns the coarsenings of the file that --load-setup names; a refusal names the option.
std::vector<coarsening> loaded_coarsenings(const std::string& path, const communicator& world) {
  try {
    return coarsenings_of_setup(path, world);
  } catch (const input_error& refusal) {
    throw input_error(std::string("--load-setup ") + refusal.what());
  }
}

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
    options_.multigrid.coarsenings = loaded_coarsenings(options_.load_setup, world);
  if (!options_.load_setup.empty())
    require_coarsenings_fit(options_.load_setup, options_.multigrid.coarsenings, geometry);
  if (const std::size_t lattices = options_.multigrid.coarsenings.size(); options_.multigrid.whole_from > lattices)
    throw input_error(fmt::format("--whole-from {}: expected at most {}, the number of coarse lattices",
                                  options_.multigrid.whole_from, lattices));
  parameters_ = parameters_of(options_, geometry);
  return geometry;
}

/// A stopped run has no checkpoint. Its report says that it was stopped, and holds nothing that is worth keeping. A
/// setup of that name is its own, since it would not have started if there had been one.
std::vector<std::string> multigrid_program::files_of_stopped_run() const {
  if (!is_report_of_stopped_run(options_.shared.json, "multigrid", parameters_)) return {};
  return absolute_paths({options_.shared.json, options_.save_setup});
}

/// Adds the times of a dry run, for each batch.
void multigrid_program::add_times(run_estimate& needs, const app_run& run, const machine_figures& machine) const {
  for (const int batch : options_.batches) {
    const multigrid_times times = times_of_multigrid(options_, run.geometry, batch, machine);
    if (needs.fom == 0.0) {
      kernel_time sent;
      for (const level_time& level : times.levels) sent += level.application * level.applications;
      needs.lines.emplace_back("messages", text_of_messages(sent) + ", of a cycle");
      needs.lines.emplace_back("seconds",
                               fmt::format("{:.3g} of the setup, without the tuning of kernels", times.setup));
    }
    std::string of_levels;
    for (const level_time& level : times.levels)
      of_levels += fmt::format("{}{:.0f}%", of_levels.empty() ? "" : ", ", 95.0 * level.seconds / times.iteration);
    needs.lines.emplace_back(
        "seconds", fmt::format("{:.4g} a right-hand side, {} at a time: {} iterations of {:.4g}, lattices {}{}",
                               times.solve, batch, times.iterations, times.iteration, of_levels,
                               options_.expected_iterations > 0 ? "" : " (iterations: a usual number)"));
    needs.fom = std::max(needs.fom, 1.0 / times.solve);
  }
}

run_estimate multigrid_program::estimate(app_run& run) {
  std::string changed;
  if (!run.shared.dry_run) {
    std::array<double, 1> room{-0.9 * (run.gpu ? run.device->free_bytes() : available_memory() / run.world.size())};
    run.world.maximum(std::span(room));
    changed = fit_into_memory(options_, run.geometry, -room[0]);
  }
  const multigrid_memory memory = memory_of(options_, run.geometry);
  run_estimate needs{memory.canonical, 0.0};
  (run.shared.device == "gpu" ? needs.gpu_bytes : needs.host_bytes) += memory.device();
  std::string levels = to_string(run.geometry.global());
  const auto lattices = lattices_of(options_.multigrid, run.geometry);
  for (std::size_t k = 1; k < lattices.size(); ++k)
    levels +=
        fmt::format(" -> {} with n = {}", to_string(lattices[k]), 2 * options_.multigrid.coarsenings[k - 1].vectors);
  needs.lines = {{"lattices", levels},
                 {"", fmt::format("memory: {} solver, {} coarse lattices, {} setup", format_bytes(memory.solver),
                                  format_bytes(memory.hierarchy), format_bytes(memory.setup))}};
  if (const auto machine = run.shared.dry_run ? planned_machine(run.shared) : std::nullopt)
    add_times(needs, run, *machine);
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

std::unique_ptr<multigrid_solver> multigrid_program::make_solver(app_run& run, const gauge_input& gauge) const {
  const std::shared_ptr<const gauge_configuration> links(std::shared_ptr<void>(), &gauge.links);  // the run keeps them
  multigrid_settings settings = options_.solver_settings();
  settings.distance_from_su3 = gauge.distance_from_su3;
  if (run.device->is_gpu()) settings.on_host = cpu::coarse_hierarchies(run.geometry, run.world, links, settings.action);
  return run.device->make_multigrid_solver(links, settings);
}

exit_status multigrid_program::body(app_run& run) {
  const gauge_input& gauge = run.gauge();
  origin_ = {options_.shared.action, links_checksum(gauge.links, run.world)};
  options_.multigrid.between_parts = [&run, stop = std::make_shared<sparse_stop>(run.control, run.world)] {
    if ((*stop)()) run.stop_if_requested();
  };
  const auto solver = make_solver(run, gauge);
  multigrid_results results;
  source_solves solves(run, options_, *solver, gauge);
  try {
    measure(run, *solver, solves, results);
  } catch (...) {
    add_solves(run.result, results, options_);  // with the results so far
    throw;
  }
  solves.check_clock();
  solves.add_correlators();
  add_to_report(run.result, results, options_, memory_of(options_, run.geometry).device());
  if (run.is_root()) print_results(results, options_);
  return run.finish(status_of(results, options_));
}

/// Makes one iteration of a solve, and reads its result: a setup that was put off is made now.
void multigrid_program::first_iteration(multigrid_solver& solver) const {
  solver.resize(1);
  solver.make_sources(options_.source, {0}, scaling::phase_of_stretch(-1));
  stopping_rule one;
  one.tolerance = options_.tolerance();
  one.limit = 1;
  solver.solve(one);
  solver.solution_norms();
}

setup_results multigrid_program::set_up(app_run& run, multigrid_solver& solver) const {
  null_vector_origin from;
  if (!options_.load_setup.empty())
    from = {[&] { return read_setup(options_.load_setup, origin_, run.geometry, run.world); }, options_.refresh};
  run.device->finish();
  run.world.barrier();
  const work_clock watch(*run.device);
  solver.set_up(options_.multigrid, from);
  const tuning_report tuning = solver.tune(options_.open_choices());
  first_iteration(solver);
  const stretch_seconds spent = end_together(watch, run.world);
  return {solver.setup(), tuning, spent.work, spent.tuning};
}

/// Setups and solves, with each list of numbers of vectors.
void multigrid_program::measure(app_run& run, multigrid_solver& solver, source_solves& solves,
                                multigrid_results& results) {
  const std::size_t count = std::max<std::size_t>(options_.schedules.size(), 1);
  const int coarsest_steps = options_.multigrid.coarsest_steps;  // each setup may take more of its own
  for (std::size_t number = 0; number < count; ++number) {
    if (number > 0) choose_vectors(options_, options_.schedules[number]);
    options_.multigrid.coarsest_steps = coarsest_steps;
    schedule_results schedule{run.stage("setup", [&] { return set_up(run, solver); }), {}, results.all.size()};
    options_.multigrid.set_shape(schedule.setup.tuning.cycle);
    options_.multigrid.coarsest_steps = schedule.setup.tuning.coarsest_steps;
    options_.multigrid.whole_from = schedule.setup.tuning.whole_from;
    options_.multigrid.coarsenings = schedule.setup.setup.coarsenings;
    if (run.is_root()) print_setup(schedule.setup);
    run.stop_if_requested();
    if (number == 0) {
      results.modes = examine(run, solver);
      if (options_.explains) results.explanation = to_json(solver.study_null_space());
    }
    for (const int batch : options_.batches) {
      results.all.push_back(solves.solve_all(true, batch));
      if (number == 0 && options_.has_reference()) results.all.push_back(solves.solve_all(false, batch));
      run.stop_if_requested();
    }
    const solve_profile profile = solves.profile();
    run.stop_if_requested();
    schedule.levels = levels_of(profile, options_, run.geometry);
    run.begin("speed of the machine");
    const auto figures = figures_of(std::span(results.all).subspan(schedule.first), profile, run, options_);
    run.result.figures.insert(run.result.figures.end(), figures.begin(), figures.end());
    run.progress.clear();
    results.schedules.push_back(std::move(schedule));
  }
}

/// Examines a setup before anything is solved: identities, the setup's file, low modes.
std::vector<low_mode> multigrid_program::examine(app_run& run, multigrid_solver& solver) const {
  // A setup from a file is judged at every run, a new one with --check.
  if (options_.shared.check || !options_.load_setup.empty())
    for (const identity_check& i : solver.identities(options_.shared.check))
      run.result.checks.add(i.name, i.value, i.tolerance);
  if (!options_.save_setup.empty()) {
    run.begin("writing of the setup");
    write_setup(options_.save_setup, run.replaces(options_.save_setup), solver.null_vectors(), origin_, run.geometry,
                run.world);
  }
  if (options_.modes == 0) return {};
  mode_probe probe;
  probe.modes = options_.modes;
  const std::vector<low_mode> modes = run.stage(
      "low modes of gamma_5 M", [&] { return solver.low_modes(probe, [&] { return run.control.should_stop(); }); });
  if (run.is_root()) print_modes(modes);
  run.stop_if_requested();
  check_modes(run.result.checks, modes, probe.modes, solver, run.gauge(), run.gpu != nullptr, options_.shared.action,
              run.world);
  const std::string why = why_exceptional(modes);
  if (why.empty()) return modes;
  if (options_.exceptional == "refuse")
    throw input_error(fmt::format(
        "exceptional configuration at mass {:g}: {}; raise the mass or smear (--stout-steps 2), or --exceptional solve",
        options_.shared.action.mass, why));
  if (run.is_root()) fmt::print("remark     exceptional: {}\n", why);
  return modes;
}

}  // namespace plaquette
