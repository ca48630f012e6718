// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/hmc/hmc_run.hpp"

#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "common/app/checkpoint.hpp"
#include "common/app/parse.hpp"
#include "common/hmc/trajectory.hpp"
#include "common/io/atomic_file.hpp"
#include "common/io/gauge_file.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "miniapps/hmc/chain_measurement.hpp"
#include "miniapps/hmc/companion_checks.hpp"
#include "miniapps/hmc/drawn_sites.hpp"
#include "miniapps/hmc/history_checks.hpp"
#include "miniapps/hmc/hmc_report.hpp"
#include "miniapps/hmc/hmc_trials.hpp"
#include "miniapps/hmc/trajectory_estimate.hpp"
#include "miniapps/hmc/trajectory_judge.hpp"
#include "miniapps/hmc/warm_up.hpp"
#include "miniapps/shared/clock_draw.hpp"
#include "miniapps/shared/distinct_files.hpp"

namespace plaquette {

namespace {

/// The state that the trajectories share with the checks and the report after them.
struct chain_run {
  app_run& app;
  const hmc_options& options;
  chain_state state;
  std::unique_ptr<molecular_dynamics> md;
  int first;                                 ///< trajectory of this run
  int stored_at = -1;                        ///< trajectories done in the last state that was kept
  std::optional<stopwatch> since_history{};  ///< from the last writing of the history in this run

  existing_file if_there(const std::string& path) const {
    return app.replaces(path) ? existing_file::replace : existing_file::keep;
  }
};

/// Returns the seconds of the trajectories from the first of this run.
double seconds_of(const chain_state& state, int first) {
  double seconds = 0.0;
  for (int n = first; n < state.trajectories_done(); ++n) seconds += state.history[static_cast<std::size_t>(n)].seconds;
  return seconds;
}

bool is_stored(const chain_run& run) {
  return run.options.store.empty() || run.stored_at == run.state.trajectories_done();
}

void store(chain_run& run, const gauge_configuration& links, bool is_finished) {
  enter_stage("writing the state of the chain");
  chain_state kept = run.state;
  kept.unfinished_files =
      is_finished ? std::vector<std::string>{} : absolute_paths({run.options.history, run.options.shared.json});
  write_chain(run.options.store, links, kept, parameters_of_chain(run.options), run.app.world);
  run.stored_at = run.state.trajectories_done();
  enter_stage("the trajectories");
}

std::string path_of(const hmc_options& options, int trajectory) {
  return fmt::format("{}.{:06}", options.output, trajectory);
}

void save_configuration(chain_run& run) {
  const int done = run.state.trajectories_done();
  if (run.options.output.empty() || done % run.options.save_every != 0) return;
  enter_stage("writing a configuration");
  gauge_write_options how;
  const std::string path = path_of(run.options, done);
  how.existing = run.if_there(path);
  how.plaquette = run.state.history.back().plaquette;
  how.ensemble_id = "hybrid Monte Carlo, " + describe(run.options.plan.levels);
  how.ensemble_label =
      fmt::format("beta {:g}, {} flavours, seed {}", run.options.action.gauge.beta,
                  run.options.action.quarks ? 2 * run.options.action.quarks->pairs : 0, run.options.action.seed);
  how.sequence_number = std::to_string(done);
  how.creator = "Plaquette " + run.app.result.build.version;
  how.information = how.ensemble_id + "; " + how.ensemble_label + "; trajectory " + how.sequence_number;
  const gauge_configuration links = run.md->links();
  (run.options.ildg ? write_ildg : write_nersc)(path, links, run.app.world, how);
  enter_stage("the trajectories");
}

constexpr double largest_dh = 50.0;  ///< of a first trajectory: none beyond it is of any use

[[noreturn]] void refuse_steps(const chain_run& run, double dh) {
  const md_plan better = with_better_steps(run.options.action, run.options.plan, std::abs(dh));
  const std::string found = std::isnan(dh) ? "no number" : fmt::format("{:.4g}", dh);
  throw input_error(
      fmt::format("--integrator: its steps are too long, |dH| is {} after the first trajectory; take '{}'", found,
                  describe(better.levels)));
}

/// Makes a trajectory; none if the run is stopped in it: the links are then the ones at its start.
std::optional<trajectory_result> try_trajectory(chain_run& run, trajectory_judge& judge, int number) {
  judge.begin_trajectory();
  try {
    return make_trajectory(*run.md, run.options.plan, static_cast<std::uint64_t>(number), [&] {
      judge.note_operation(*run.md);
      return run.app.control.should_stop();
    });
  } catch (const error& stop) {
    if (stop.status() != exit_status::interrupted) {
      if (!have_links_left_su3(*run.md)) throw;
      if (number == 0) refuse_steps(run, std::numeric_limits<double>::quiet_NaN());
      throw error(
          exit_status::no_convergence,
          fmt::format("trajectory {}: its links have left SU(3), so that its steps are too long; the chain before "
                      "it is whole",
                      number + 1));
    }
    run.md->restore();
    return std::nullopt;
  }
}

/// Writes the history so far.
void write_history(chain_run& run, std::string_view table) {
  const std::string& path = run.options.history;
  if (path.empty() || !run.app.is_root()) return;
  write_file_atomically(path, table, run.since_history ? existing_file::replace : run.if_there(path));
  run.since_history.emplace();
}

/// Writes the history if a second passed since it was written, so that the file can be followed. A chain with a store
/// first keeps a state: it names the file as one that the same command may replace if this run is killed.
void let_history_be_followed(chain_run& run) {
  if (!run.app.is_root() || (!run.options.store.empty() && run.stored_at < 0)) return;
  if (!run.since_history || run.since_history->seconds() > 1.0)
    write_history(run, history_table(run.state, run.options));
}

/// Measures the links of the last trajectory, outside its clock. Throws error of a stopped run.
void measure(chain_run& run) {
  const hmc_options& options = run.options;
  if (options.measure_every == 0 || run.state.trajectories_done() % options.measure_every != 0) return;
  enter_stage("measuring");
  const double flow_time = options.flow_time > 0.0 ? options.flow_time : flow_time_of(run.app.geometry.global());
  run.state.history.back().measured = measure_chain(run.md->links(), flow_time, *run.app.device);
  enter_stage("the trajectories");
}

/// The clock stops when the plaquette of the new links was read.
bool do_one_trajectory(chain_run& run, trajectory_judge& judge) {
  const int number = run.state.trajectories_done();
  run.app.world.barrier();
  const stopwatch watch;
  const auto result = try_trajectory(run, judge, number);
  if (!result) return false;
  trajectory_record record;
  record.dh = result->change.total();
  if (number == 0 && !(std::abs(record.dh) <= largest_dh)) refuse_steps(run, record.dh);
  record.accepted = result->accepted;
  record.plaquette = run.md->measure_plaquettes().average;
  record.seconds = watch.seconds();
  run.app.world.maximum({&record.seconds, 1});
  record.forces = run.md->sizes_of_forces();
  for (const factor_work& work : run.md->work()) {
    record.iterations.push_back(work.forces.iterations + work.actions.iterations);
    record.parts.push_back(work.forces.seconds + work.actions.seconds);
  }
  record.hierarchy = run.md->work_of_hierarchy();
  run.state.history.push_back(record);
  try {
    measure(run);
  } catch (const error& stop) {  // the chain is then that before this trajectory
    if (stop.status() != exit_status::interrupted) throw;
    run.state.history.pop_back();
    run.md->restore();
    return false;
  }
  judge.offer(*run.md, static_cast<std::uint64_t>(number), record);
  run.app.progress.clear();
  if (run.app.is_root()) print_trajectory(number + 1, record);
  return true;
}

void do_trajectories(chain_run& run, trajectory_judge& judge) {
  run.app.progress.begin("trajectories");
  enter_stage("the trajectories");
  if (run.app.is_root()) print_history_head();
  while (run.state.trajectories_done() < run.options.trajectories && !run.app.control.should_stop()) {
    if (!do_one_trajectory(run, judge)) break;
    save_configuration(run);
    if (run.state.trajectories_done() % run.options.store_every == 0 && !is_stored(run))
      store(run, run.md->links(), false);
    let_history_be_followed(run);
    run.app.progress.update(static_cast<double>(run.state.trajectories_done()) / run.options.trajectories,
                            fmt::format("trajectory {}", run.state.trajectories_done()));
  }
  if (!is_stored(run)) store(run, run.md->links(), false);
}

/// Checks that the links from which a chain goes on are the links after its last trajectory. Throws input_error if they
/// are others.
void check_start(chain_run& run, const gauge_input& start) {
  const double found = run.md->measure_plaquettes().average;
  if (run.state.history.empty()) {
    run.state.start_plaquette = found;
    return;
  }
  const std::uint64_t sum = sum_of_links(start.links, run.app.world);
  if (sum != run.state.links_sum && !run.options.shared.reunitarise)
    throw input_error(
        fmt::format("{}: expected the links that the chain left, of sum {:016x}, found others, of {:016x}",
                    printable(run.options.store), run.state.links_sum, sum));
  run.app.result.checks.add("plaquette of the links that the chain goes on from",
                            std::abs(found - run.state.history.back().plaquette), 1e-13);
}

/// Reads configurations of the output again, one of this run and one of an earlier run, both drawn: their plaquettes
/// stand in the history. Configurations of this run must be there.
void check_configurations(chain_run& run) {
  const hmc_options& options = run.options;
  if (options.output.empty()) return;
  std::vector<int> of_this_run, earlier;
  for (int n = options.save_every; n <= run.state.trajectories_done(); n += options.save_every) {
    if (n > run.first)
      of_this_run.push_back(n);
    else if (checkpoint_exists(path_of(options, n)))
      earlier.push_back(n);
  }
  for (const bool is_earlier : {false, true}) {
    const std::vector<int>& all = is_earlier ? earlier : of_this_run;
    std::uint64_t there = all.size();  // as the first rank sees files
    run.app.world.broadcast(std::as_writable_bytes(std::span(&there, 1)), 0);
    if (there == 0) continue;
    int number = all.empty() ? 0 : all[draw_by_clock(there, run.app.world) % all.size()];
    run.app.world.broadcast(std::as_writable_bytes(std::span(&number, 1)), 0);
    const loaded_gauge found = read_gauge(path_of(options, number), run.app.geometry, run.app.world, {.drifted = true});
    const double expected = run.state.history[static_cast<std::size_t>(number - 1)].plaquette;
    run.app.note_draw("configuration", static_cast<std::uint64_t>(number));
    run.app.result.checks.add(
        fmt::format("plaquette of a written configuration{}", is_earlier ? " of an earlier run" : ""),
        std::abs(cpu::measure_plaquettes(found.links, run.app.world).average - expected), 1e-12);
  }
}

/// Checks that the store holds the links and the history of the run.
void check_store(chain_run& run, const gauge_configuration& links) {
  const std::string& path = run.options.store;
  const loaded_gauge found = read_gauge(path, run.app.geometry, run.app.world, {.drifted = true});
  verification& checks = run.app.result.checks;
  checks.add("links of the store, read again", cpu::rms_distance(found.links, links, run.app.world), 0.0);
  const chain_state kept = read_chain(path, run.options);
  checks.add("history of the store, read again",
             sums_of_history(kept) == sums_of_history(run.state) && kept.start_plaquette == run.state.start_plaquette);
}

void judge_run(chain_run& run, trajectory_judge& judge, const gauge_configuration& links) {
  verification& checks = run.app.result.checks;
  checks.add("links in SU(3)", run.md->distance_from_su3(), 1e-10);
  judge.check_offered(run.state, run.first);
  if (!run.state.history.empty())
    checks.add("plaquette of the last links, by the CPU library",
               std::abs(cpu::measure_plaquettes(links, run.app.world).average - run.state.history.back().plaquette),
               1e-12);
  const std::string remark = check_history(checks, run.state, run.options, run.app.geometry.global());
  if (run.app.is_root() && !remark.empty()) fmt::print("remark     {}\n", remark);
  if (run.app.control.stopped()) return;
  check_configurations(run);
  const auto make = [&run](const communicator& comm, const gauge_configuration& of, const hybrid_action& action) {
    return run.app.device->make_molecular_dynamics(of.geometry(), comm, of, action);
  };
  judge.judge(*run.md,
              [&] { judge.parts()("companion lattice", [&] { check_companion(run.app, run.options, make); }); });
  judge.parts()("last links", [&] { check_own_links(run.app, run.options, links, make); });
  if (!run.app.is_root()) return;
  if (run.state.trajectories_done() > run.first) fmt::print("judged     {}\n", judge.describe_judged(run.first));
  fmt::print("verdict    {:.3g} s: {}\n", judge.parts().total(), judge.parts().describe());
}

/// Prints a remark if kappa is beyond the critical one of the links of the start, or of any: 1/8 on free links, 1/4 at
/// beta 0.
void print_remark_on_kappa(const hmc_options& options) {
  if (!options.action.quarks) return;
  const fermion_action& quark = options.action.quarks->action;
  if (quark.anisotropy == 1.0 && quark.kappa() > 0.25)
    fmt::print("remark     kappa {:g} is beyond the critical one at any beta, which is at most 1/4\n", quark.kappa());
  else if (options.shared.gauge.from == gauge_choice::origin::unit && quark.mass < 0.0)
    fmt::print(
        "remark     kappa {:g} is beyond the critical one of cold links, {:g}: solves are long until links are hot\n",
        quark.kappa(), 0.5 / (quark.diagonal() - quark.mass));
}

}  // namespace

program_text hmc_program::text() const {
  return {"hmc", "MD units/h", "units of molecular dynamics time an hour, at the median trajectory"};
}

void hmc_program::parse(int argc, const char* const* argv) {
  options_ = parse_hmc_options(argc, argv);
  start_ = options_.shared;
  if (!checkpoint_exists(options_.store)) return;
  take_choices(options_, parameters_in_chain(options_.store), printable(options_.store));
  // A chain that is continued starts from its store as from any other configuration.
  state_ = read_chain(options_.store, options_);
  start_.lattice_given = start_.lattice_given || start_.gauge.from != gauge_choice::origin::file;
  start_.gauge = {.from = gauge_choice::origin::file, .path = options_.store};
}

lattice_geometry hmc_program::geometry(const communicator& world) { return geometry_of_run(start_, world); }

std::vector<named_file> hmc_program::files() const {
  using enum named_file::use;
  std::vector<named_file> all{{"--history", options_.history, output}, {"--store", options_.store, checkpoint}};
  if (options_.shared.gauge.from == gauge_choice::origin::file)
    all.push_back({"--start", options_.shared.gauge.path, input});
  if (!options_.output.empty())
    for (int n = options_.save_every; n <= options_.trajectories; n += options_.save_every)
      if (n > state_.trajectories_done()) all.push_back({"--output", path_of(options_, n), output});
  return all;
}

std::vector<std::string> hmc_program::files_of_stopped_run() const { return state_.unfinished_files; }

namespace {

/// Returns bytes as the CPU library allocates half a field of the operators: whole huge pages if it fills one.
double in_pages(double bytes) {
  constexpr double page = 0x1p21;
  return bytes < page ? bytes : page * std::ceil(bytes / page);
}

/// Bytes of multigrid at the peak of its set-up. These are null vectors (of all stages, new ones, and in 16 bits),
/// coarse matrices of 4^4 aggregates before and after, and the vectors of a solver of 12 columns. Cycles with a twist,
/// at most 1.2 kB a site each, are made when 6 kB of these are free again.
double bytes_of_hierarchy(double sites) {
  constexpr double vectors = 24.0, spinor = 12.0 * sizeof(complex<float>), matrix = 4.0 * vectors * vectors;
  return sites *
         (3.5 * vectors * spinor + 2.5 * 9.0 * matrix * sizeof(complex<float>) / 256.0 + 8.0 * 12.0 * 0.5 * spinor);
}

/// Returns the bytes of the state on the device: links, links of the start, momenta, a force, leaves, operators,
/// vectors.
/// \param gauge      of four matrices a site
/// \param own_blocks whether A and A^-1 in double are kept twice, here and in the operator
double bytes_on_device(const hybrid_action& action, bool displaces, double gauge, double sites, bool own_blocks) {
  double bytes = (displaces ? 5.0 : 4.0) * gauge;
  if (!action.quarks) return bytes;
  constexpr double matrices = sizeof(site_links);  // of a site; A and A^-1 have as many numbers
  const double blocks = !action.has_determinant() ? 0.0 : action.quarks->twisted_mass == 0.0 ? 2.0 : 3.0;
  const double column = sites * sizeof(spinor_configuration::value_type) * action.quarks->pairs;
  if (action.has_determinant()) bytes += (1.5 + (own_blocks ? blocks : 0.0)) * gauge;
  // By factor phi, two solutions (even), x and y; then one on all sites, and the vectors of a solver.
  bytes +=
      2.0 * in_pages(0.5 * sites * matrices) * (1.0 + blocks) + column * (3.5 * action.quarks->factors() + 1.0 + 3.0);
  const double masses = action.quarks->has_mass_shifts() ? action.quarks->factors() : 1.0;
  const double twisted = action.quarks->twisted_mass != 0.0 ? 0.5 * blocks : 0.0;  // blocks of (A^2 + mu^2)^-1
  bytes += 2.0 * in_pages(0.5 * sites * matrices) * (masses * (1.0 + blocks + twisted) - (1.0 + blocks));
  if (masses > 1.0) bytes += 2.0 * column * (masses - 1.0);  // x and y of the heavier ones
  if (twisted > 0.0) bytes += 3.0 * column + (action.has_determinant() ? sites * matrices : 0.0);
  // Earlier solutions of both systems, and their images.
  bytes += 0.5 * column * action.forecasts * (2.0 * action.quarks->factors() + 1.0);
  for (const precision inner : {precision::single, precision::half}) {
    if (std::ranges::find(action.solvers, inner, &factor_solver::inner) == action.solvers.end()) continue;
    const double share = inner == precision::single ? 0.5 : 0.26;  // with the norms of 16 bits
    bytes += 2.0 * masses * in_pages(0.5 * share * sites * matrices) * (1.0 + blocks + twisted) + 5.0 * share * column;
  }
  return bytes + (action.has_multigrid() ? bytes_of_hierarchy(sites) : 0.0);
}

/// Returns the bytes a site that the forces of a GPU need while they are made. That is two matrices of eight numbers
/// for each of six planes (gpu/gauge/passed_forces.hpp), and with rectangles five for each of three planes at a time.
double bytes_of_forces(const hybrid_action& action) {
  constexpr double matrix = 8.0 * sizeof(double);
  const bool has_rectangles = action.gauge.c1 != 0.0;
  return matrix * ((has_rectangles || action.has_determinant() ? 12.0 : 0.0) + (has_rectangles ? 15.0 : 0.0));
}

}  // namespace

run_estimate hmc_program::estimate(app_run& run) {
  const double sites = static_cast<double>(run.geometry.local_volume());
  extents padded = run.geometry.local();
  for (int& length : padded) length += 2;
  const double on_host = static_cast<double>(volume(padded)) * sizeof(site_links);
  const auto is_displaced = [](const md_operation& o) { return o.what == md_operation::kind::displaced_kick; };
  const bool displaces = std::ranges::any_of(options_.plan.operations, is_displaced);
  const bool on_gpu = options_.shared.device == "gpu";
  // The judge holds the starts of trajectories on the host. On the device it holds their links and momenta, and also
  // links and momenta of a trajectory under way. When it judges, it has the last links, links and momenta of an end,
  // vectors, and leaves and some matrices of the drawn sites.
  const int to_make = std::max(options_.trajectories - state_.trajectories_done(), 0);
  const int kept = std::min(trajectory_judge::slots(run.geometry), to_make);
  const bool is_one_piece = options_.plan.operations.size() < 2 * trajectory_recorder::least;  // nothing is before it
  const double states = 2.0 * (trajectory_judge::states - (is_one_piece ? 1 : 0)) * std::min(kept + 1, to_make);
  const bool has_quarks = options_.action.quarks.has_value();
  const double vectors =
      has_quarks ? (3.0 * options_.action.quarks->factors() + 2.0) * options_.action.quarks->pairs + 1.0 : 0.0;
  const double at_a_site = displaces || !has_quarks ? 6.5 : options_.action.has_determinant() ? 1.5 : 0.0;
  const double of_sites = std::min(sites, static_cast<double>(most_judged_sites)) * at_a_site * sizeof(site_links);
  const double judged = (kept + 3.0 + vectors / 3.0) * on_host + of_sites;
  constexpr double program = 0x1.4p23, runtime = 0x1p29;
  hybrid_action action = options_.action;
  // A trial may choose single precision, and has tried it.
  if (options_.chooses_solvers) action.solvers.push_back({.inner = precision::single});
  const double gauge = on_gpu ? sites * sizeof(site_links) : on_host;
  double device = bytes_on_device(action, displaces, gauge, sites, !on_gpu) + states * gauge;
  if (on_gpu) device += sites * bytes_of_forces(action);
  run_estimate needs{judged + program + (on_gpu ? 0.0 : device), on_gpu ? 1.05 * device + runtime : 0.0};
  if (const auto machine = run.shared.dry_run ? planned_machine(run.shared) : std::nullopt)
    add_times(needs, run, *machine);
  return needs;
}

void hmc_program::add_times(run_estimate& needs, const app_run& run, const machine_figures& machine) const {
  // The work of multigrid depends on links. A trial sets steps that are not given.
  const hybrid_action& action = options_.action;
  if (options_.chooses_steps || action.has_multigrid() || (action.quarks && options_.expected_iterations == 0)) return;
  const trajectory_times times = times_of_trajectory(options_, run.geometry, machine);
  const std::vector<std::string> terms = term_names(action);
  std::string parts;
  for (std::size_t k = 0; k < times.factors.size(); ++k)
    parts +=
        fmt::format("{} {:.3g}, ", terms[static_cast<std::size_t>(first_factor_term(action)) + k], times.factors[k]);
  needs.lines.emplace_back("seconds", fmt::format("{:.3g} a trajectory: {}forces {:.3g}, links {:.3g}", times.total(),
                                                  parts, times.forces, times.moves));
  needs.fom = 3600.0 * options_.plan.tau / times.total();
}

json_document hmc_program::parameters(const app_run& run) const { return parameters_of(options_, run.geometry); }

void hmc_program::print_problem(const app_run& run) const {
  const hybrid_action& action = options_.action;
  fmt::print("lattice    {}, grid {}\n", to_string(run.geometry.global()), to_string(run.geometry.grid()));
  fmt::print("gauge      beta {:g}, c1 {:g}, anisotropy {:g}\n", action.gauge.beta, action.gauge.c1,
             action.gauge.anisotropy);
  if (action.quarks) {
    std::string masses;
    const bool is_shifted = action.quarks->has_mass_shifts();
    for (const double number : is_shifted ? action.quarks->mass_shifts : action.quarks->twisted_masses)
      masses += fmt::format("{}{:g}", masses.empty() ? "" : ", ", number);
    fmt::print("quarks     {} flavours, kappa {:.6f}, csw {:g}, factors at {} = {}\n", 2 * action.quarks->pairs,
               action.quarks->action.kappa(), action.quarks->action.clover_temporal, is_shifted ? "dm" : "mu", masses);
    if (const double mu = action.quarks->twisted_mass; mu != 0.0)
      fmt::print("twist      mass {:g} (2 kappa mu = {:g})\n", mu, 2.0 * action.quarks->action.kappa() * mu);
  }
  fmt::print("integrator {}, tau {:g}\n", describe(options_.plan.levels), options_.plan.tau);
  for (const warm_up_step& step : options_.warm_up)
    fmt::print("warm-up    {} trajectories at kappa {:g}\n", step.trajectories, step.kappa);
  if (checkpoint_exists(options_.store))
    fmt::print("continues  {} after trajectory {}\n", printable(options_.store), state_.trajectories_done());
}

exit_status hmc_program::body(app_run& app) {
#ifdef __GLIBC__
  // Fields that are freed go back to the system: their number varies between trajectories and their judgement.
  mallopt(M_MMAP_THRESHOLD, 1 << 22);
#endif
  gauge_input start = obtain_gauge(start_, app.geometry, app.world, app.control, app.progress, *app.device);
  if (start.open_boundary)
    throw input_error(start_.gauge.path + ": expected links in SU(3) to start from, found open boundaries");
  app.progress.clear();
  if (app.is_root()) {
    print_gauge_remarks(start);
    print_remark_on_kappa(options_);
  }
  const auto make_on = [&app](const gauge_configuration& links, const hybrid_action& action) {
    return app.device->make_molecular_dynamics(app.geometry, app.world, links, action);
  };
  const auto make = [&](const hybrid_action& action) { return make_on(start.links, action); };
  trajectory_judge judge(app, options_);
  std::optional<warmed_links> warmed;
  if (!options_.warm_up.empty() && state_.history.empty()) {
    trajectory_recorder recorder(app.world, 1);
    warmed = app.stage("warm-up", [&] { return warm_up(app, options_, std::move(start.links), make_on, recorder); });
    check_warm_up(app, options_, *warmed);
    app.begin("judging of the warm-up");
    const kept_trajectory kept = recorder.take();
    const hybrid_action action = action_of_warm_up(options_, kept.number);
    judge.judge_warm_up(*make_on(kept.start, action), action, kept);
    app.progress.clear();
    start.links = std::move(warmed->links);
  }
  if (options_.chooses_solvers) app.stage("trial of the solvers", [&] { choose_solvers(app, options_, make); });
  chain_run run{app, options_, state_, make(options_.action), state_.trajectories_done()};
  check_start(run, start);
  start.links = gauge_configuration(lattice_geometry({2, 2, 2, 2}));  // the device has them now
  if (options_.chooses_steps) app.stage("trial of the integrator", [&] { choose_steps(app, options_, *run.md); });
  do_trajectories(run, judge);
  const bool was_stopped = app.control.stopped();
  const gauge_configuration links = run.md->links();
  const std::string table = history_table(run.state, options_);
  write_history(run, table);
  judge_run(run, judge, links);
  note_chain(app.result, run.state, options_, run.first);
  app.result.observables["judged"] = judge.judged(run.first);
  if (warmed) note_warm_up(app.result, *warmed);
  check_reported(app.result, run.state, table);
  if (!was_stopped && !options_.store.empty()) {
    store(run, links, true);
    check_store(run, links);
  }
  app.control.note_stop(app.result.checks);
  app.work_seconds = seconds_of(run.state, run.first);
  app.progress.clear();
  if (app.is_root()) print_chain(app.result, run.state, options_);
  return app.finish(app.control.stopped() ? exit_status::interrupted : exit_status::success);
}

}  // namespace plaquette
