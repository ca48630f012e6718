// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/make-configuration/configuration_run.hpp"

#include <fmt/core.h>

#include <cmath>
#include <cstdio>
#include <tuple>
#include <utility>
#include <vector>

#include "common/app/memory.hpp"
#include "common/app/parse.hpp"
#include "common/app/progress.hpp"
#include "common/app/run_app.hpp"
#include "common/app/run_control.hpp"
#include "common/io/gauge_file.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "miniapps/make-configuration/configuration_checkpoint.hpp"
#include "miniapps/shared/device_links.hpp"
#include "miniapps/shared/distinct_files.hpp"
#include "miniapps/shared/gauge_input.hpp"
#include "miniapps/shared/gpu_access.hpp"

namespace plaquette {

namespace {

/// A link was put back into SU(3) when it was last updated: what is left are the roundings of the two normalisations,
/// of the third row, and of the products that U U^+ - 1 and det U are computed with.
constexpr double su3_tolerance = 32.0 * 0x1p-53;

/// Rounding the elements of a link to a relative u changes it by sqrt(3) u in the Frobenius norm, three times that
/// where the third row is made from two rounded ones; a plaquette Re tr P / 3 changes by at most 4 * (3 sqrt(3) u) *
/// sqrt(3) / 3.
double stored_plaquette_tolerance(int precision_bits) { return 12.0 * (precision_bits == 32 ? 0x1p-24 : 0x1p-53); }

/// What the steps of a run share.
struct run_state {
  const configuration_options& options;
  const communicator& world;
  const lattice_geometry& geometry;
  run_control control;
  progress_line progress;
  report result;
  configuration_progress done;
  std::vector<double> seconds{};      ///< of each combined sweep of this run
  int checkpoint_at = -1;             ///< combined sweeps done at the last checkpoint
  std::unique_ptr<gpu_access> gpu{};  ///< null on the CPU

  bool talks() const { return world.rank() == 0; }
  bool has_checkpoint() const { return !options.checkpoint.empty(); }
  /// A stopped run's links are in its checkpoint, where it has one, and its output is still to come.
  bool writes_output() const { return !options.output.empty() && !(has_checkpoint() && control.stopped()); }
  /// An output of the run that this one continues is replaced, as if both were one.
  existing_file if_there(const std::string& path) const {
    return options.shared.force || was_left_by(done.unfinished_files, path) ? existing_file::replace
                                                                            : existing_file::keep;
  }
};

void require_outputs(const run_state& run) {
  if (!run.talks()) return;
  const configuration_options& options = run.options;
  // --output may take the place of --start.
  require_distinct_files({{"--output", options.output},
                          {"--history", options.history},
                          {"--checkpoint", options.checkpoint},
                          {"--json", options.shared.json}});
  require_distinct_files({{"--start", options.shared.gauge.path},
                          {"--history", options.history},
                          {"--checkpoint", options.checkpoint},
                          {"--json", options.shared.json}});
  for (const std::string& path : {run.options.output, run.options.history, run.options.shared.json})
    if (!path.empty()) require_writable(path, run.if_there(path) == existing_file::replace);
  if (run.has_checkpoint()) require_writable(run.options.checkpoint, true);
}

report new_report(const configuration_options& options, const lattice_geometry& geometry, const communicator& world) {
  report r;
  r.app = "make-configuration";
  r.parameters = parameters_of(options, geometry);
  r.machine = machine_information(world);
  r.build = build_information();
  return r;
}

/// Bytes a rank of the links that are updated, and of the same as read again from their file; each with the tables and
/// buffers of the sweeps, faces and files, which are an eighth or so.
double memory_needed(const configuration_options& options, const lattice_geometry& geometry) {
  extents padded = geometry.local();
  for (int& length : padded) length += 2;
  const double field = static_cast<double>(volume(padded)) * sizeof(site_links);
  return 1.15 * field * (options.output.empty() ? 1.0 : 2.0);
}

/// Links without ghosts, and what the runtime takes.
double gpu_memory_needed(const lattice_geometry& geometry) {
  constexpr double runtime = 0x1p29;
  return 1.05 * static_cast<double>(geometry.local_volume()) * sizeof(site_links) + runtime;
}

void print_problem(const run_state& run) {
  const auto& [options, r] = std::tie(run.options, run.result);
  fmt::print("make-configuration {}, revision {}{}\n", r.build.version, r.build.revision.substr(0, 12),
             r.build.dirty ? " with changes" : "");
  fmt::print("machine    {}, {} rank{} of {} thread{}\n", r.machine.cpu, r.machine.ranks,
             r.machine.ranks == 1 ? "" : "s", r.machine.threads, r.machine.threads == 1 ? "" : "s");
  if (run.gpu) fmt::print("{}", describe(*run.gpu));
  fmt::print("lattice    {}, grid {}\n", to_string(run.geometry.global()), to_string(run.geometry.grid()));
  fmt::print("action     Wilson, beta {:g}, anisotropy {:g}\n", options.action.beta, options.action.anisotropy);
  fmt::print("update     {} sweeps of {} heat bath + {} over-relaxation, from {}, seed {}\n", options.sweeps,
             options.plan.heatbath, options.plan.overrelaxation, r.parameters["start"].get<std::string>(),
             options.shared.seed);
  if (checkpoint_exists(options.checkpoint))
    fmt::print("continues  {} after sweep {}\n", printable(options.checkpoint), run.done.sweeps_done);
  fmt::print("memory     {} a rank\n", format_bytes(peak_memory() + memory_needed(options, run.geometry)));
  if (options.shared.device == "gpu") fmt::print("gpu memory {}\n", format_bytes(gpu_memory_needed(run.geometry)));
}

void measure(run_state& run, device_links& links) {
  run.done.history.push_back({run.done.sweeps_done, links.measure()});
  if (!run.talks()) return;
  run.progress.clear();
  const auto& [sweep, plaquette] = run.done.history.back();
  fmt::print("{:8}  {:.12f}  {:.12f}  {:.12f}\n", sweep, plaquette.average, plaquette.spatial, plaquette.temporal);
}

/// Once for every state that is worth it.
void keep_checkpoint(run_state& run, device_links& links) {
  if (!run.has_checkpoint() || run.checkpoint_at == run.done.sweeps_done) return;
  now_doing("writing the checkpoint");
  configuration_progress kept = run.done;
  // What a run that ends before its last sweep may leave, or one before it has left.
  const bool is_finished = run.done.sweeps_done >= run.options.end() && !run.control.stopped();
  kept.unfinished_files =
      is_finished ? std::vector<std::string>{} : absolute_paths({run.options.history, run.options.shared.json});
  write_configuration_checkpoint(run.options.checkpoint, links.on_host(), kept, parameters_of_links(run.options),
                                 run.world);
  run.checkpoint_at = run.done.sweeps_done;
  now_doing("the sweeps");
}

void do_one_sweep(run_state& run, device_links& links) {
  const configuration_options& options = run.options;
  run.world.barrier();
  const stopwatch watch;
  links.combined_sweep(options.action, options.plan, options.shared.seed,
                       static_cast<std::uint64_t>(run.done.sweeps_done));
  double seconds = watch.seconds();
  run.world.maximum({&seconds, 1});
  run.seconds.push_back(seconds);
  ++run.done.sweeps_done;
}

void do_sweeps(run_state& run, device_links& links) {
  const configuration_options& options = run.options;
  run.progress.begin("sweeps");
  if (run.talks()) fmt::print("\n   sweep       plaquette         spatial        temporal\n");
  if (run.done.history.empty()) measure(run, links);
  while (run.done.sweeps_done < options.end() && !run.control.should_stop()) {
    do_one_sweep(run, links);
    const int done = run.done.sweeps_done - options.first_sweep;
    if (done % options.measure_every == 0 || done == options.sweeps) measure(run, links);
    if (done % options.checkpoint_every == 0) keep_checkpoint(run, links);
    run.progress.update(static_cast<double>(done) / options.sweeps, fmt::format("sweep {}", run.done.sweeps_done));
  }
  keep_checkpoint(run, links);  // before a measurement that belongs to the stop and not to the run
  if (run.done.history.back().sweep != run.done.sweeps_done) measure(run, links);
}

void write_history(const run_state& run) {
  const bool csv = run.options.history.ends_with(".csv");
  std::string text = csv ? "sweep,plaquette,spatial,temporal\n" : "# sweep  plaquette  spatial  temporal\n";
  const char gap = csv ? ',' : ' ';
  for (const auto& [sweep, plaquette] : run.done.history)
    text += fmt::format("{}{}{:.17g}{}{:.17g}{}{:.17g}\n", sweep, gap, plaquette.average, gap, plaquette.spatial, gap,
                        plaquette.temporal);
  write_file_atomically(run.options.history, text, run.if_there(run.options.history));
}

void write_configuration(const run_state& run, const gauge_configuration& links) {
  const configuration_options& options = run.options;
  gauge_write_options how;
  how.precision_bits = options.precision_bits;
  how.two_row = options.two_row;
  how.existing = run.if_there(options.output);
  how.plaquette = run.done.history.back().plaquette.average;
  how.ensemble_id =
      fmt::format("Wilson action, beta {:g}, anisotropy {:g}", options.action.beta, options.action.anisotropy);
  how.ensemble_label = fmt::format("heat bath {} + over-relaxation {}, seed {}", options.plan.heatbath,
                                   options.plan.overrelaxation, options.shared.seed);
  how.sequence_number = std::to_string(run.done.sweeps_done);
  how.creator = "Plaquette " + run.result.build.version;
  how.information = how.ensemble_id + "; " + how.ensemble_label + "; sweep " + how.sequence_number;
  (options.ildg ? write_ildg : write_nersc)(options.output, links, run.world, how);
}

/// The file must hold what was to be written: read again, it passes its own checks and has the same plaquette.
void check_written(run_state& run) {
  const loaded_gauge loaded = read_gauge(run.options.output, run.geometry, run.world);
  const double kept = run.done.history.back().plaquette.average;
  run.result.checks.add("plaquette of the file read again",
                        std::abs(cpu::average_plaquette(loaded.links, run.world) - kept),
                        stored_plaquette_tolerance(run.options.precision_bits));
  if (!std::isnan(loaded.header.plaquette))
    run.result.checks.add("plaquette in the file's header", std::abs(loaded.header.plaquette - kept),
                          loaded.header.plaquette_tolerance);
}

void write_files(run_state& run, const gauge_configuration& links) {
  if (run.writes_output()) {
    now_doing("writing the configuration");
    write_configuration(run, links);
    check_written(run);
  }
  if (!run.options.history.empty() && run.talks()) {
    now_doing("writing the history");
    write_history(run);
  }
}

void check_links(run_state& run, const gauge_configuration& links, const gauge_input& start) {
  const bool updated =
      run.done.sweeps_done > run.options.first_sweep && run.options.plan.heatbath + run.options.plan.overrelaxation > 0;
  run.result.checks.add("links in SU(3)", cpu::distance_from_su3(links, run.world),
                        updated ? su3_tolerance : start.su3_tolerance);
  const double plaquette = run.done.history.back().plaquette.average;
  run.result.checks.add("plaquette is finite and at most 1", std::abs(plaquette) <= 1.0 + 1e-12);
}

void note_results(run_state& run, const gauge_input& start, const gauge_configuration& links) {
  const auto& last = run.done.history.back().plaquette;
  run.result.gauge = {{"source", "heat bath"},
                      {"start", start.description},
                      {"plaquette", last.average},
                      {"plaquette_spatial", last.spatial},
                      {"plaquette_temporal", last.temporal},
                      {"link_trace", cpu::link_trace(links, run.world)},
                      {"sweeps_done", run.done.sweeps_done}};
  json_document sweeps = json_document::array(), plaquettes = json_document::array();
  for (const auto& [sweep, plaquette] : run.done.history) {
    sweeps.push_back(sweep);
    plaquettes.push_back(plaquette.average);
  }
  const sample_statistics seconds = statistics(run.seconds);
  run.result.observables = {
      {"sweep", sweeps},
      {"plaquette", plaquettes},
      {"seconds_a_combined_sweep",
       {{"min", seconds.min}, {"median", seconds.median}, {"max", seconds.max}, {"samples", seconds.samples}}}};
  const double links_a_sweep = 1.0 * dimensions * static_cast<double>(run.geometry.global_volume()) *
                               (run.options.plan.heatbath + run.options.plan.overrelaxation);
  run.result.fom = {seconds.median > 0.0 ? links_a_sweep / seconds.median : 0.0, "link updates/s",
                    "heat bath and over-relaxation, at the median combined sweep"};
}

void print_verdict(const run_state& run) {
  const sample_statistics seconds = statistics(run.seconds);
  fmt::print("\ncombined sweep: {:.3e} s minimum, {:.3e} s median, {:.3e} s maximum of {}\n", seconds.min,
             seconds.median, seconds.max, seconds.samples);
  if (run.writes_output())
    fmt::print("configuration  {}\n  continue with --start {} --first-sweep {} --seed {}\n", run.options.output,
               run.options.output, run.done.sweeps_done, run.options.shared.seed);
  if (run.has_checkpoint())
    fmt::print("checkpoint     {}: the same command goes on after sweep {}\n", printable(run.options.checkpoint),
               run.done.sweeps_done);
  if (!run.options.history.empty()) fmt::print("history        {}\n", run.options.history);
  if (!run.options.shared.json.empty()) fmt::print("report         {}\n", run.options.shared.json);
  fmt::print("\ncheck                                                 value   tolerance\n");
  for (const check& c : run.result.checks.checks())
    fmt::print("{:<48}  {:9.3e}   {:9.3e}  {}\n", c.name, c.value, c.tolerance, c.passed() ? "passed" : "FAILED");
  fmt::print("\n{}\n{}\n", fom_line(run.result.fom), run.result.checks.line());
}

exit_status finish(run_state& run) {
  run.control.note_stop(run.result.checks);
  run.progress.clear();
  if (run.talks()) {
    if (const std::string& json = run.options.shared.json; !json.empty())
      write_report(run.result, json, run.if_there(json) == existing_file::replace);
    print_verdict(run);
  }
  if (run.control.stopped()) return exit_status::interrupted;
  return run.result.checks.passed() ? exit_status::success : exit_status::verification_failed;
}

}  // namespace

exit_status run_configuration(const configuration_options& options, const communicator& world) {
  // A run that is continued starts from its checkpoint as from any other configuration.
  shared_options shared = options.shared;
  configuration_progress done{.sweeps_done = options.first_sweep, .history = {}, .unfinished_files = {}};
  if (checkpoint_exists(options.checkpoint)) {
    done = read_configuration_progress(options.checkpoint, options);
    shared.lattice_given = shared.lattice_given || shared.gauge.from != gauge_choice::origin::file;
    shared.gauge = {.from = gauge_choice::origin::file, .path = options.checkpoint};
  }
  const lattice_geometry geometry = geometry_of_run(shared, world);
  run_state run{options,
                world,
                geometry,
                run_control(world, options.shared.time_limit),
                progress_line(world.rank() == 0),
                new_report(options, geometry, world),
                std::move(done)};
  require_outputs(run);
  if (!options.shared.dry_run) run.gpu = open_gpu(options.shared, geometry, world);
  if (run.gpu) note_gpu(run.result.machine, *run.gpu);
  if (run.talks()) print_problem(run);
  if (options.shared.dry_run) return exit_status::success;
  require_memory(world, memory_needed(options, geometry), "the gauge configuration");
  if (run.gpu) require_gpu_memory(*run.gpu, gpu_memory_needed(geometry), "the gauge configuration");

  gauge_input start = obtain_gauge(shared, geometry, world, run.control, run.progress, run.gpu.get());
  if (start.open_boundary)
    throw input_error(shared.gauge.path +
                      ": expected links in SU(3) to start from, found open boundaries: those from the " +
                      "last time slice to the first are zero");
  now_doing("the sweeps");
  const auto links = run.gpu ? links_on_gpu(*run.gpu, start.links) : links_on_cpu(std::move(start.links), world);
  do_sweeps(run, *links);
  check_links(run, links->on_host(), start);
  write_files(run, links->on_host());
  note_results(run, start, links->on_host());
  return finish(run);
}

}  // namespace plaquette
