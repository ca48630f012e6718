// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/nodal_dg_program.hpp"

#include <fmt/core.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/app/checkpoint.hpp"
#include "common/app/memory.hpp"
#include "common/app/parse.hpp"
#include "common/app/run_app.hpp"
#include "common/dg/lserk4.hpp"
#include "common/dg/stable_step.hpp"
#include "miniapps/nodal-dg/dg_engine.hpp"
#include "miniapps/nodal-dg/dg_work.hpp"
#include "miniapps/nodal-dg/field_files.hpp"
#include "miniapps/nodal-dg/run_checkpoint.hpp"
#include "miniapps/nodal-dg/run_checks.hpp"
#include "miniapps/nodal-dg/run_report.hpp"
#include "miniapps/nodal-dg/speed_trial.hpp"
#include "miniapps/nodal-dg/time_steps.hpp"
#include "miniapps/nodal-dg/wave_checks.hpp"

namespace plaquette::nodal_dg {

namespace {

constexpr double bytes_of_element = 900.0;  ///< of a mesh

/// Returns the elements of a box's mesh.
double elements_of_box(const nodal_dg_options& o) {
  double cells = 1.0;
  for (const int n : o.box) cells *= n;
  return cells * (o.box.size() == 3 ? 6.0 * std::pow(8.0, o.refinements) : 2.0 * std::pow(4.0, o.refinements));
}

/// States are large, and judging takes and frees many: the next one finds memory that the kernel of the operating
/// system need not clear again.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}

/// Returns the ratio of a stage's seconds from drawn numbers to its seconds in the figure. Adds the evidence of these
/// steps to `made`, and leaves the solver with `states`.
double share_of_drawn_steps(const wave_run& run, steps_made& made, const std::vector<double>& states) {
  const speed_trial trial = [&] {
    const counted_seconds judging(made.judging);
    return try_speed(run, statistics(made.stage_seconds).median, made.done.time);
  }();
  made.seen.energy_difference = larger_or_nan(made.seen.energy_difference, trial.energy_difference);
  made.seen.same_between = made.seen.same_between && trial.same_between;
  run.solver->set_state(states, made.done.time);
  return trial.share;
}

}  // namespace

program_text nodal_dg_program::text() const {
  return {"nodal-dg", "node stages/s", "nodes of all states times Runge-Kutta stages, at the median stretch"};
}

void nodal_dg_program::parse(int argc, const char* const* argv) { options_ = parse_nodal_dg_options(argc, argv); }

std::vector<named_file> nodal_dg_program::files() const {
  using enum named_file::use;
  return {{"--mesh", options_.mesh, input},
          {"--vtk", options_.vtk, output},
          {"--plane", options_.plane, output},
          {"--energy", options_.energy, output},
          {"--checkpoint", options_.checkpoint, checkpoint}};
}

std::vector<std::string> nodal_dg_program::files_of_stopped_run() const {
  return nodal_dg::files_of_stopped_run(options_.checkpoint);
}

run_estimate nodal_dg_program::estimate(app_run& run) {
  if (!options_.vtk.empty() && !has_vtkhdf())
    throw input_error("--vtk: this program was built without HDF5 (libhdf5-dev), which such files need");
  run.begin("mesh");
  const bool is_sampled = options_.shared.dry_run && !checkpoint_exists(options_.checkpoint);
  const mesh_sample sample = is_sampled ? sample_of_mesh(options_) : mesh_sample{options_};
  sampled_ = sample.elements;
  if (options_.mesh.empty() && !is_sampled)  // before it is made
    require_memory(run.world, bytes_of_element * elements_of_box(options_), "the mesh");
  make_domain_of(run, sample.options);
  find_places();
  const double stable = sample.element_length * stable_time_step(*domain_);
  choose_steps(stable);
  run.progress.clear();
  run_estimate needs = memory_of(run);
  needs.lines = lines_of_work(stable);
  add_planned_time(run, needs);
  if (checkpoint_exists(options_.checkpoint)) {
    json_document parameters = run_parameters_of(options_);
    parameters["content"] = content_of(case_.mesh, case_.problem);
    done_ = read_dg_progress(options_.checkpoint, parameters);
  }
  return needs;
}

/// Makes mesh, partition and the rank's domain.
void nodal_dg_program::make_domain_of(app_run& run, const nodal_dg_options& options) {
  const auto stop = [&run] { run.control.stop_alone_if_requested("the making of the mesh"); };
  case_ = make_case(options, stop, [&run](double elements) {
    require_memory(run.world, bytes_of_element * elements, "the mesh, refined,");
  });
  options_.box_sides = case_.box;
  const communicator ranks = run.world.is_planned() ? communicator() : run.world;
  partition_ = partition_mesh(case_.mesh, ranks.size(), options_.partition);
  stop();
  domain_ =
      std::make_unique<dg_domain>(make_domain(case_.mesh, partition_, options_.order, case_.problem, ranks, stop));
}

/// Returns the bytes of a rank on host and GPU.
run_estimate nodal_dg_program::memory_of(const app_run& run) const {
  const double of_rank = sampled_ * domain_->comm.size() / run.world.size();  // elements, for one of `domain_`
  const double state = of_rank * static_cast<double>(domain_->state_size() * options_.states) * sizeof(double);
  const bool is_double = options_.shared.precision != "single";
  run_estimate needs;
  const double of_solver = of_rank * bytes_of_solver(*domain_, options_);
  needs.host_bytes = 14.0 * state + (run.shared.device == "gpu" ? 0.0 : of_solver);
  if (run.shared.device != "gpu") return needs;
  needs.gpu_bytes = of_solver;
  // Without the library that knows: three states, and the bytes of an element's geometry.
  if (needs.gpu_bytes == 0.0)
    needs.gpu_bytes = (is_double ? 3.0 : 1.5) * state + of_rank * domain_->elements() * (is_double ? 160.0 : 96.0);
  return needs;
}

double nodal_dg_program::elements_of_run() const { return sampled_ * static_cast<double>(domain_->global_elements); }

/// Returns the report's lines on steps, flops and bytes.
/// \param stable  a step that is stable by an estimate
std::vector<std::pair<std::string, std::string>> nodal_dg_program::lines_of_work(double stable) const {
  const double flops = standard_flops_of(*domain_).total() * elements_of_run() * options_.states;
  const double bytes = fewest_bytes_of(*domain_, options_.shared.precision == "single" ? 4.0 : 8.0);
  return {
      {"steps", fmt::format("{}{} of {:.6g} to time {:.6g}; {:.6g} is stable{}",
                            options_.dt > 0.0 && options_.steps > 0 ? "" : "at most ", steps_, dt_, end_of_run(),
                            stable, ", longer ones may be: the run measures that")},
      {"work",
       fmt::format("{:.4g} flops a stage by the standard counts, {:.4g} in all; {:.4g} bytes a stage at least", flops,
                   flops * static_cast<double>(steps_) * lserk4::stages, bytes * elements_of_run() * options_.states)}};
}

/// Adds messages, seconds and speed of a dry run for a known machine.
void nodal_dg_program::add_planned_time(const app_run& run, run_estimate& needs) const {
  const auto machine = run.shared.dry_run ? planned_machine(run.shared) : std::nullopt;
  if (!machine) return;
  const int ranks = run.world.size();
  const double elements = elements_of_run();
  const kernel_time stage = time_of_stage(*machine, *domain_, elements / ranks, ranks,
                                          options_.shared.precision != "single", options_.states, run.shared.overlap);
  needs.lines.emplace_back("messages", text_of_messages(stage) + ", of a stage");
  needs.lines.emplace_back("seconds", fmt::format("{:.4g} a stage, {:.4g} for all steps", stage.seconds,
                                                  stage.seconds * lserk4::stages * static_cast<double>(steps_)));
  needs.fom = elements * domain_->nodes() * options_.states / stage.seconds;
}

/// Fills dt_, last_dt_ and steps_ from the options.
void nodal_dg_program::choose_steps(double stable) {
  if (!(stable > 0.0 && std::isfinite(stable)))
    throw input_error(fmt::format(
        "--media: expected media and a mesh in which waves have a speed, found a stable step of {:g}", stable));
  dt_ = options_.dt > 0.0 ? options_.dt : stable;
  last_dt_ = dt_;
  if (options_.steps > 0) {
    steps_ = options_.steps;
    return;
  }
  const double wanted = std::ceil(options_.final_time / dt_ - 1e-9);
  if (!(wanted < 1e12)) throw input_error("--final-time: expected fewer than 1e12 steps, found more");
  steps_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted));
  if (options_.shorten_last_step)
    last_dt_ = options_.final_time - dt_ * static_cast<double>(steps_ - 1);
  else
    last_dt_ = dt_ = options_.final_time / static_cast<double>(steps_);
}

double nodal_dg_program::end_of_run() const { return dt_ * static_cast<double>(steps_ - 1) + last_dt_; }

/// Measures which steps are stable and chooses the steps of this run. Throws input_error if --dt is not stable, or if
/// the checkpoint's run took other steps, or more of them. A stop is an error and leaves no report: without a
/// checkpoint nothing says that the report may be replaced.
void nodal_dg_program::find_steps(app_run& run, dg_solver& solver) {
  const double largest = run.stage("stable time step", [&] {
    return largest_stable_step(solver, *domain_,
                               [&] { run.control.stop_if_requested("the measurement of the stable step"); });
  });
  if (options_.dt > largest)
    throw input_error(
        fmt::format("--dt: expected at most {:.4g}, the largest stable step on this mesh, found {:g} "
                    "(without --dt it is {:.4g} or a little less)",
                    largest, options_.dt, step_below(largest)));
  choose_steps(step_below(largest));
  const std::string file = printable(options_.checkpoint);
  if (done_.steps_done > 0) {
    if (options_.dt == 0.0 && options_.steps > 0) last_dt_ = dt_ = done_.dt;
    if (!(done_.dt <= 1.05 * largest))  // it is measured to 2%
      throw input_error(
          fmt::format("{}: expected time steps of at most {:.4g}, which are stable on this mesh, found {:g}", file,
                      largest, done_.dt));
    if (done_.dt != dt_)
      throw input_error(
          fmt::format("{}: expected a run with time steps of {:.17g}, found one of {:.17g}", file, dt_, done_.dt));
    if (done_.steps_done >= steps_)
      throw input_error(
          fmt::format("{}: expected a run that is not at its end, found {} steps of {}: raise --steps or "
                      "--final-time, or name another file",
                      file, done_.steps_done, steps_));
  }
  run.result.parameters["dt"] = dt_;
  run.result.parameters["steps"] = steps_;
  run.result.parameters["stable_dt"] = largest;
  if (run.is_root())
    fmt::print("steps      {} of {:.6g}{} to time {:.6g}; up to {:.4g} is stable\n", steps_, dt_,
               last_dt_ != dt_ ? fmt::format(", the last of {:.6g},", last_dt_) : "", end_of_run(), largest);
}

/// Before hours are spent: points and planes that lie outside the mesh.
void nodal_dg_program::find_places() {
  probes_.clear();
  for (const auto& x : options_.probes) {
    probes_.push_back(locate(case_.mesh, x, case_.file_numbers));
    if (probes_.back().element < 0)
      throw input_error(fmt::format("--probe: the point {:g},{:g},{:g} lies outside the mesh", x[0], x[1], x[2]));
  }
  if (options_.plane.empty() || case_.mesh.dimension == 2) return;
  const auto axis = static_cast<std::size_t>(options_.plane_at.axis);
  const auto around = box_around(case_.mesh);
  if (options_.plane_at.at < around[2 * axis] || options_.plane_at.at > around[2 * axis + 1])
    throw input_error(fmt::format("--plane-at: expected a plane through the mesh, from {:g} to {:g}, found {:g}",
                                  around[2 * axis], around[2 * axis + 1], options_.plane_at.at));
}

json_document nodal_dg_program::parameters(const app_run& run) const {
  json_document p{{"command", options_.command}};
  p.update(parameters_of(options_));
  p.update({{"dt", dt_}, {"steps", steps_}, {"ranks", run.world.size()}, {"partition", options_.partition}});
  p.update({{"wait", run.shared.wait}, {"overlap", run.shared.overlap ? "on" : "off"}});
  if (run.shared.device == "gpu") p["halo"] = run.shared.halo;
  return p;
}

void nodal_dg_program::print_problem(const app_run& run) const {
  const auto elements =
      static_cast<std::int64_t>(std::llround(sampled_ * static_cast<double>(domain_->global_elements)));
  fmt::print("mesh       {} {}, {} nodes of order {}{}\n", elements,
             case_.mesh.dimension == 3 ? "tetrahedra" : "triangles", elements * domain_->nodes(), options_.order,
             sampled_ > 1.0 ? " (estimated from a smaller mesh)" : "");
  if (run.world.size() > 1 && sampled_ == 1.0 && !run.world.is_planned())
    fmt::print("ranks      {}: {} elements on the first, {} of them with neighbours elsewhere\n", run.world.size(),
               domain_->elements(), domain_->elements() - domain_->part.interior);
  fmt::print("problem    {}, {}, {} flux, {} precision{}\n", options_.equations, options_.problem, options_.flux,
             options_.shared.precision, options_.states > 1 ? fmt::format(", {} states", options_.states) : "");
  for (const std::string& remark : case_.remarks) fmt::print("remark     {}\n", remark);
  if (!case_.why_not_exact.empty()) fmt::print("exact      the exact solution is not known: {}\n", case_.why_not_exact);
  if (done_.steps_done > 0)
    fmt::print("continues  {} after step {}\n", printable(options_.checkpoint), done_.steps_done);
  for (const check& failure : done_.failures.checks())
    fmt::print("failed     before step {}, so that this run fails too: {}, {:.3g} / {:.3g}\n", done_.steps_done,
               printable(failure.name), failure.value, failure.tolerance);
}

exit_status nodal_dg_program::body(app_run& app) {
  keep_freed_memory();
  wave_run run = set_up(app);
  const auto beginning = all_states(run, sample(*domain_, case_.initial, 0.0));
  if (options_.shared.check) check_steps(run, beginning);
  if (done_.steps_done > 0)
    run.solver->set_state(read_dg_states(options_.checkpoint, *domain_, options_.states), done_.time);
  else
    run.solver->set_state(beginning, 0.0);
  steps_made made = make_steps(run, done_);
  app.progress.clear();
  const std::vector<double> states = app.control.stopped() ? run.states() : made.judged.states;
  const double trial = app.control.stopped() ? 0.0 : share_of_drawn_steps(run, made, states);
  bit_sum judged;
  {
    const counted_seconds judging(made.judging);
    judged = sum_of(states);
    check_states(run, states);
    check_energy(run, made, trial);
  }
  if (app.control.stopped()) {
    made.done.failures = failures_of(run, made);
    keep_what_was_judged(run, made);
  }
  note_results(run, made);
  if (!app.control.stopped()) {  // a stopped run is not verified, whatever it did
    const counted_seconds judging(made.judging);
    check_against_textbook(run, states);
    check_last_steps(run, made, states);
    if (case_.exact) check_solution(run, made, states);
  }
  note_probes(run, run.first_of(states));
  if (!made.stage_seconds.empty()) note_speed(run, made);
  write_files(run, made, run.first_of(states));
  check_bits(run, made, judged, states);
  note_judging(run, made.judging);
  made.done.failures = failures_of(run, made);
  for (const check& failure : made.done.failures.checks()) app.result.checks.keep_worse(failure);
  const bool was_stopped = app.control.stopped();  // and has its checkpoint
  app.control.note_stop(app.result.checks);
  const exit_status status = app.finish(was_stopped ? exit_status::interrupted : exit_status::success);
  // Only now is nothing left to do: until then a run that is stopped goes on from before its end, and ends again.
  if (app.control.stopped() && !was_stopped) keep_what_was_judged(run, made);
  if (!app.control.stopped()) keep_checkpoint(run, made.done, states, true);
  return status;
}

/// Makes the solver and finds the steps.
wave_run nodal_dg_program::set_up(app_run& app) {
  wave_run run{app, options_, case_, *domain_, {case_.mesh, partition_}, probes_};
  app.stage("set-up", [&] {
    const auto stop = [&app] { app.control.stop_alone_if_requested("the set-up"); };
    run.solver = make_solver(*app.device, *domain_, options_, stop);
  });
  app.control.stop_if_requested("the set-up");
  if (case_.exact) require_seen(*domain_, case_);
  app.control.stop_if_requested("the first state");
  find_steps(app, *run.solver);
  run.continues = done_.steps_done > 0;
  run.content = content_of(case_.mesh, case_.problem);
  run.dt = dt_;
  run.last_dt = last_dt_;
  run.steps = steps_;
  run.mismatch = mismatch_of(case_.mesh);
  return run;
}

}  // namespace plaquette::nodal_dg
