// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/make-configuration/configuration_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/app/parse.hpp"
#include "common/io/gauge_file.hpp"
#include "common/lattice/sum_rounding.hpp"
#include "common/solvers/library.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "miniapps/make-configuration/configuration_checkpoint.hpp"
#include "miniapps/make-configuration/sweep_judge.hpp"
#include "miniapps/shared/distinct_files.hpp"
#include "miniapps/shared/possible_figures.hpp"

namespace plaquette {

namespace {

/// A link was put back into SU(3) when it was last updated. Its remaining distance comes from the roundings of the two
/// normalisations, of the third row, and of the products in U U^+ - 1 and det U.
constexpr double su3_tolerance = 32.0 * 0x1p-53;

/// Bounds how far storing the links moves the average plaquette. An element of a link errs by 0.4 u (standard
/// deviation), u their rounding. A link moves the average by 0.1 u / sites, and all of them by 0.2 u / sqrt(sites).
/// If third rows are computed it is twice that. The bound is five standard deviations. Links that no sweep has updated
/// may all be the same, and err alike: then the bound is the error of one plaquette, 12 u. The plaquette that was kept
/// may be the GPU's, whose sum has another order.
double stored_plaquette_tolerance(const configuration_options& options, const extents& lattice, bool updated) {
  const double u = options.precision_bits == 32 ? 0x1p-24 : options.two_row ? 0x1p-53 : 0.0;
  const double sites = static_cast<double>(volume(lattice));
  return (updated ? (options.two_row ? 2.0 : 1.0) / std::sqrt(sites) : 12.0) * u + sum_rounding(lattice);
}

/// Returns the largest difference between an element of a link in a file and the number to be stored. A third row that
/// is computed has another bound. Collective.
double largest_difference(const gauge_configuration& written, const gauge_configuration& found,
                          const configuration_options& options, const communicator& world) {
  const int rows = options.two_row ? colours - 1 : colours;
  std::array<double, 1> worst{0.0};
  const auto compare = [&](double stored, double read) {
    volatile float rounded = static_cast<float>(stored);  // else g++ 12.2 leaves the rounding out
    const double off = std::abs((options.precision_bits == 32 ? double{rounded} : stored) - read);
    keep_largest(worst[0], off);
  };
  for (std::int64_t site = 0; site < written.geometry().local_volume(); ++site)
    for (std::size_t mu = 0; mu < dimensions; ++mu)
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < colours; ++j) {
          compare(written.at_site(site)[mu](i, j).re, found.at_site(site)[mu](i, j).re);
          compare(written.at_site(site)[mu](i, j).im, found.at_site(site)[mu](i, j).im);
        }
  world.maximum(std::span(worst));
  return worst[0];
}

/// The state that the sweeps share with the checks and the report after them.
struct run_state {
  app_run& app;
  const configuration_options& options;
  configuration_progress done;
  std::vector<double> seconds{};  ///< of each combined sweep of this run
  int checkpoint_at = -1;         ///< combined sweeps done at the last checkpoint

  bool has_checkpoint() const { return !options.checkpoint.empty(); }
  /// The links of a stopped run are in its checkpoint, if it has one, and its output is still to come.
  bool writes_output() const { return !options.output.empty() && !(has_checkpoint() && app.control.stopped()); }
  existing_file if_there(const std::string& path) const {
    return app.replaces(path) ? existing_file::replace : existing_file::keep;
  }
};

/// Returns the bytes a rank of the links that are updated, and of the links that a sweep is made again with or that are
/// read again from their file. Before a long sweep they are kept once more. Each has the tables and buffers of the
/// sweeps, faces and files, which are an eighth or so. The piece of a file that is being written comes on top.
double memory_needed(const configuration_options& options, const lattice_geometry& geometry) {
  extents padded = geometry.local();
  for (int& length : padded) length += 2;
  const double field = static_cast<double>(volume(padded)) * sizeof(site_links);
  constexpr double sites_of_a_piece = 4096.0;
  const bool writes = !options.output.empty() || !options.checkpoint.empty();
  const double piece = std::min(sites_of_a_piece, static_cast<double>(geometry.local_volume())) * sizeof(site_links);
  const bool keeps = options.shared.device == "cpu" && keeps_links_of_sweep(geometry);
  return 1.15 * field * (keeps ? 3.0 : 2.0) + (writes ? piece : 0.0);
}

/// Returns the bytes of links without ghosts, and of the runtime.
double gpu_memory_needed(const lattice_geometry& geometry) {
  constexpr double runtime = 0x1p29;
  return 1.05 * static_cast<double>(geometry.local_volume()) * sizeof(site_links) + runtime;
}

void measure(run_state& run, link_field& links) {
  run.done.history.push_back({run.done.sweeps_done, links.measure()});
  if (!run.app.is_root()) return;
  run.app.progress.clear();
  const auto& [sweep, plaquette] = run.done.history.back();
  fmt::print("{:8}  {:.12f}  {:.12f}  {:.12f}\n", sweep, plaquette.average, plaquette.spatial, plaquette.temporal);
}

/// \param is_finished  the files of this run are whole, and none of them is to be replaced
void write_checkpoint(run_state& run, link_field& links, bool is_finished) {
  enter_stage("writing the checkpoint");
  configuration_progress kept = run.done;
  // A run that ends before its last line may leave these files, or an earlier run has left them.
  kept.unfinished_files = is_finished
                              ? std::vector<std::string>{}
                              : absolute_paths({run.options.output, run.options.history, run.options.shared.json});
  write_configuration_checkpoint(run.options.checkpoint, links.on_host(), kept, parameters_of_links(run.options),
                                 run.app.world);
  run.checkpoint_at = run.done.sweeps_done;
}

/// Once for every state that is worth it.
void keep_checkpoint(run_state& run, link_field& links) {
  if (!run.has_checkpoint() || run.checkpoint_at == run.done.sweeps_done) return;
  write_checkpoint(run, links, false);
  enter_stage("the sweeps");
}

void do_one_sweep(run_state& run, link_field& links) {
  const configuration_options& options = run.options;
  run.app.world.barrier();
  const stopwatch watch;
  links.combined_sweep(options.action, options.plan, options.shared.seed,
                       static_cast<std::uint64_t>(run.done.sweeps_done));
  double seconds = watch.seconds();
  run.app.world.maximum({&seconds, 1});
  run.seconds.push_back(seconds);
  ++run.done.sweeps_done;
}

void do_sweeps(run_state& run, link_field& links) {
  const configuration_options& options = run.options;
  sweep_judge judge(run.app, options.action, options.plan, options.end() - run.done.sweeps_done);
  run.app.progress.begin("sweeps");
  if (run.app.is_root()) fmt::print("\n   sweep       plaquette         spatial        temporal\n");
  if (run.done.history.empty()) measure(run, links);
  while (run.done.sweeps_done < options.end() && !run.app.control.should_stop()) {
    const auto number = static_cast<std::uint64_t>(run.done.sweeps_done);
    const bool is_judged = judge.takes_next();
    if (is_judged) judge.keep(links.on_host());
    try {
      do_one_sweep(run, links);
      if (is_judged) judge.judge(links.on_host(), number);
    } catch (const error& stop) {  // the links are those before the sweep, or it is whole and was not judged
      if (stop.status() != exit_status::interrupted) throw;
      break;
    }
    const int done = run.done.sweeps_done - options.first_sweep;
    if (done % options.measure_every == 0 || done == options.sweeps) measure(run, links);
    if (done % options.checkpoint_every == 0) keep_checkpoint(run, links);
    run.app.progress.update(static_cast<double>(done) / options.sweeps, fmt::format("sweep {}", run.done.sweeps_done));
  }
  keep_checkpoint(run, links);  // before a measurement that belongs to the stop and not to the run
  if (run.done.history.back().sweep != run.done.sweeps_done) measure(run, links);
  judge.add_check(run.app.result.checks);
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
  how.creator = "Plaquette " + run.app.result.build.version;
  how.information = how.ensemble_id + "; " + how.ensemble_label + "; sweep " + how.sequence_number;
  (options.ildg ? write_ildg : write_nersc)(options.output, links, run.app.world, how);
}

/// Checks that the file holds the links of the run: read again, it passes its own checks, and has the same links and
/// plaquette.
void check_written(run_state& run, const gauge_configuration& links, bool updated) {
  const loaded_gauge loaded = read_gauge(run.options.output, run.app.geometry, run.app.world);
  const double kept = run.done.history.back().plaquette.average;
  run.app.result.checks.add("plaquette of the file read again",
                            std::abs(cpu::average_plaquette(loaded.links, run.app.world) - kept),
                            stored_plaquette_tolerance(run.options, run.app.geometry.global(), updated));
  run.app.result.checks.add("links of the file read again",
                            largest_difference(links, loaded.links, run.options, run.app.world), 0.0);
  if (!std::isnan(loaded.header.plaquette))
    run.app.result.checks.add("plaquette in the file's header", std::abs(loaded.header.plaquette - kept),
                              loaded.header.plaquette_tolerance);
}

/// Whether any sweep, of this run or the one that it continues, has updated the links.
bool updates_links(const run_state& run) {
  return run.done.sweeps_done > run.options.first_sweep &&
         run.options.plan.heatbath + run.options.plan.overrelaxation > 0;
}

void write_files(run_state& run, const gauge_configuration& links) {
  if (run.writes_output()) {
    enter_stage("writing the configuration");
    write_configuration(run, links);
    if (!run.app.control.stopped()) check_written(run, links, updates_links(run));
  }
  if (!run.options.history.empty() && run.app.is_root()) {
    enter_stage("writing the history");
    write_history(run);
  }
}

void check_links(run_state& run, const gauge_configuration& links, const gauge_input& start) {
  const double off = updates_links(run) ? su3_tolerance : start.su3_tolerance;
  run.app.result.checks.add("links in SU(3)", cpu::distance_from_su3(links, run.app.world), off);
  const double plaquette = run.done.history.back().plaquette.average;
  run.app.result.checks.add("plaquette is finite and at most 1",
                            std::abs(plaquette) <= 1.0 + 4.0 * off + sum_rounding(run.app.geometry.global()));
}

/// The least that an update of a link does: 6 staples of two products of SU(3) matrices and their sum, then a product
/// with the link. It is read and written once.
operator_figure rate_of_sweeps(const run_state& run, double links, const sample_statistics& seconds) {
  constexpr double product = 198.0, sum = 18.0, bytes = 2.0 * sizeof(su3<double>);
  constexpr double flops = 6.0 * 2.0 * product + 5.0 * sum + product;
  operator_figure rate =
      rate_of_flops(1e-9 * flops * links / seconds.median, run.app.world.size(), run.app.result.machine.threads, true);
  rate.seconds = seconds;
  rate.gbytes_per_s = 1e-9 * bytes * links / seconds.median;
  return rate;
}

void note_results(run_state& run, const gauge_input& start, const gauge_configuration& links) {
  const auto& last = run.done.history.back().plaquette;
  run.app.result.gauge = {{"source", "heat bath"},
                          {"start", start.description},
                          {"plaquette", last.average},
                          {"plaquette_spatial", last.spatial},
                          {"plaquette_temporal", last.temporal},
                          {"link_trace", cpu::link_trace(links, run.app.world)},
                          {"sweeps_done", run.done.sweeps_done}};
  json_document sweeps = json_document::array(), plaquettes = json_document::array();
  for (const auto& [sweep, plaquette] : run.done.history) {
    sweeps.push_back(sweep);
    plaquettes.push_back(plaquette.average);
  }
  const sample_statistics seconds = statistics(run.seconds);
  run.app.result.observables = {
      {"sweep", sweeps},
      {"plaquette", plaquettes},
      {"seconds_a_combined_sweep",
       {{"min", seconds.min}, {"median", seconds.median}, {"max", seconds.max}, {"samples", seconds.samples}}}};
  const double links_a_sweep = 1.0 * dimensions * static_cast<double>(run.app.geometry.global_volume()) *
                               (run.options.plan.heatbath + run.options.plan.overrelaxation);
  run.app.result.fom.value = seconds.median > 0.0 ? links_a_sweep / seconds.median : 0.0;
  if (seconds.median > 0.0) run.app.more_rates.push_back(rate_of_sweeps(run, links_a_sweep, seconds));
}

void print_results(const run_state& run) {
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
}

exit_status finish(run_state& run) {
  run.app.control.note_stop(run.app.result.checks);
  run.app.progress.clear();
  if (run.app.is_root()) print_results(run);
  return run.app.finish(run.app.control.stopped() ? exit_status::interrupted : exit_status::success);
}

}  // namespace

program_text configuration_program::text() const {
  return {"make-configuration", "link updates/s", "heat bath and over-relaxation, at the median combined sweep"};
}

void configuration_program::parse(int argc, const char* const* argv) {
  options_ = parse_configuration_options(argc, argv);
  start_ = options_.shared;
  done_ = {.sweeps_done = options_.first_sweep, .history = {}, .unfinished_files = {}};
  if (!checkpoint_exists(options_.checkpoint)) return;
  // A run that is continued starts from its checkpoint as from any other configuration.
  done_ = read_configuration_progress(options_.checkpoint, options_);
  start_.lattice_given = start_.lattice_given || start_.gauge.from != gauge_choice::origin::file;
  start_.gauge = {.from = gauge_choice::origin::file, .path = options_.checkpoint};
}

lattice_geometry configuration_program::geometry(const communicator& world) { return geometry_of_run(start_, world); }

std::vector<named_file> configuration_program::files() const {
  using enum named_file::use;
  std::vector<named_file> all{{"--output", options_.output, output},
                              {"--history", options_.history, output},
                              {"--checkpoint", options_.checkpoint, checkpoint}};
  const std::string& start = options_.shared.gauge.path;
  const bool is_replaced =
      !start.empty() && !options_.output.empty() && place_of_file(start) == place_of_file(options_.output);
  if (!is_replaced) all.push_back({"--start", start, input});
  return all;
}

std::vector<std::string> configuration_program::files_of_stopped_run() const { return done_.unfinished_files; }

run_estimate configuration_program::estimate(app_run& run) {
  return {memory_needed(options_, run.geometry),
          options_.shared.device == "gpu" ? gpu_memory_needed(run.geometry) : 0.0};
}

json_document configuration_program::parameters(const app_run& run) const {
  return parameters_of(options_, run.geometry);
}

void configuration_program::print_problem(const app_run& run) const {
  fmt::print("lattice    {}, grid {}\n", to_string(run.geometry.global()), to_string(run.geometry.grid()));
  fmt::print("action     Wilson, beta {:g}, anisotropy {:g}\n", options_.action.beta, options_.action.anisotropy);
  fmt::print("update     {} sweeps of {} heat bath + {} over-relaxation, from {}, seed {}\n", options_.sweeps,
             options_.plan.heatbath, options_.plan.overrelaxation, printable(options_.start()), options_.shared.seed);
  if (checkpoint_exists(options_.checkpoint))
    fmt::print("continues  {} after sweep {}\n", printable(options_.checkpoint), done_.sweeps_done);
}

exit_status configuration_program::body(app_run& app) {
  gauge_input start = obtain_gauge(start_, app.geometry, app.world, app.control, app.progress, *app.device);
  if (start.open_boundary)
    throw input_error(start_.gauge.path +
                      ": expected links in SU(3) to start from, found open boundaries: those from the " +
                      "last time slice to the first are zero");
  app.progress.clear();
  if (app.is_root()) print_gauge_remarks(start);
  enter_stage("the sweeps");
  const auto links = app.device->import_links(std::move(start.links));
  run_state run{app, options_, done_};
  do_sweeps(run, *links);
  const stop_question none(nullptr);  // checks and files are not interrupted
  check_links(run, links->on_host(), start);
  write_files(run, links->on_host());
  note_results(run, start, links->on_host());
  const exit_status status = finish(run);
  if (run.has_checkpoint() && !app.control.stopped()) write_checkpoint(run, *links, true);
  return status;
}

}  // namespace plaquette
