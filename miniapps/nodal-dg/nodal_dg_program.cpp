// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/nodal_dg_program.hpp"

#include <fmt/core.h>
#include <omp.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "common/algebra/largest.hpp"
#include "common/app/bit_sum.hpp"
#include "common/app/checkpoint.hpp"
#include "common/app/draw.hpp"
#include "common/app/memory.hpp"
#include "common/app/parse.hpp"
#include "common/app/run_app.hpp"
#include "common/dg/lserk4.hpp"
#include "common/dg/stable_step.hpp"
#include "common/io/atomic_file.hpp"
#include "cpu_ref/dg/textbook.hpp"
#include "miniapps/nodal-dg/dg_engine.hpp"
#include "miniapps/nodal-dg/dg_work.hpp"
#include "miniapps/nodal-dg/field_files.hpp"
#include "miniapps/nodal-dg/time_steps.hpp"
#include "miniapps/nodal-dg/wave_checks.hpp"
#include "miniapps/shared/machine_speed.hpp"

namespace plaquette::nodal_dg {

namespace {

constexpr const char* of_speed = "seconds of a stage from drawn numbers, as a share of 1.5 times the figure's";

bit_sum sum_of(const std::vector<double>& states) {
  bit_sum sum;
  sum.add(std::span(states));
  return sum;
}

/// A number that the work before it could not know; the report has it. Collective.
std::uint64_t drawn_of(wave_run& run, const std::string& what) {
  const std::uint64_t number = drawn_number(run.app.world);
  run.app.note_draw(what, number);
  return number;
}

json_document parameters_of_checkpoint(const wave_run& run) {
  json_document parameters = run_parameters_of(run.options);
  parameters["content"] = run.content;
  return parameters;
}

/// The right-hand side at the state that the timed steps ended in, on drawn elements, in units of what the scheme can
/// make of numbers of that size: |q| (N + 1)^2 Fscale c / 2.
void check_against_textbook(wave_run& run, const std::vector<double>& states) {
  enter_stage("the comparison with the textbook");
  const dg_domain& domain = run.domain;
  std::vector<double> rhs(states.size());
  run.solver->right_hand_side(rhs);
  const auto drawn = drawn_elements(domain, states, run.options.shared.check ? domain.elements() : 64,
                                    drawn_of(run, "elements: right-hand side"));
  const double worst = distance_from_textbook(domain, states, run.options.states, rhs, run.solver->time(), drawn);
  const double u = unit_roundoff(run.options);
  // Sums of Np products with D, whose entries are below (N + 1)^2 / 2, and of the four faces': some N + 1 roundings of
  // the largest term are left, as roundings are independent. To these come those of the fluxes.
  run.app.result.checks.add(
      "right-hand side, against the textbook", worst,
      4.0 * (domain.reference.order + 1.0) * (u + run.mismatch) + roundings_of_fluxes(domain) * u);
}

/// The last timed steps, from the state that they began with, against the textbook's.
void check_last_steps(wave_run& run, const std::vector<double>& states) {
  enter_stage("the comparison of the last steps with the textbook");
  made_steps steps{run.begin.states, states, run.begin.time, {}, drawn_of(run, "elements: last steps")};
  for (std::int64_t i = run.begin_step; i < run.steps; ++i) steps.dt.push_back(run.dt_of(i));
  step_verdict verdict = judge_steps(run.domain, run.whole, run.options.states, steps);
  // Each stage rounds q once or twice, and dt f, of the same size at most, some N + 1 times.
  const double stages = static_cast<double>(lserk4::stages) * static_cast<double>(steps.dt.size());
  const double tolerance =
      2.0 * std::sqrt(stages) * (run.domain.reference.order + 2.0) * (unit_roundoff(run.options) + run.mismatch);
  run.app.result.checks.add("last steps, against the textbook", verdict.worst, tolerance);
  // Where all is gone, the last steps change roundings. An earlier step shows then that steps do something.
  bool nothing_left = !(verdict.moved >= 10.0 * tolerance) && run.widest > 10.0 * tolerance * run.largest;
  if (!(verdict.moved >= 10.0 * tolerance) && !nothing_left && run.continues) {  // all was gone before: the first step
    nothing_left = true;
    run.widest_begin = all_states(run, sample(run.domain, run.waves.initial, 0.0));
    run.widest_time = 0.0;
    run.widest_dt = run.dt;
    run.solver->set_state(run.widest_begin, 0.0);
    run.solver->advance(1, run.dt);
    run.widest_end = run.states();
  }
  if (nothing_left) {
    if (run.app.is_root())
      fmt::print("judged     by the step at time {:.6g} too: the last ones change nothing but roundings\n",
                 run.widest_time);
    const step_verdict widest =
        judge_steps(run.domain, run.whole, run.options.states,
                    {run.widest_begin, run.widest_end, run.widest_time, {run.widest_dt}, steps.drawn});
    run.app.result.checks.add("an earlier step, against the textbook", widest.worst, tolerance);
    verdict.moved = widest.moved;
  }
  run.app.result.checks.add(
      nothing_left ? "rounding, against what an earlier step changes" : "rounding, against what the last steps change",
      verdict.moved > 0.0 ? tolerance / verdict.moved : std::numeric_limits<double>::infinity(), 0.1);
  if (run.options.problem == "pulse" && run.options.sources.empty()) {
    double largest = run.largest;  // before this part of the run: by the energy
    for (const auto& line : run.done.energy) keep_largest(largest, std::sqrt(line[1].get<double>()));
    run.app.result.checks.add("rounding of the pulse, against what of it is on the mesh",
                              largest > 0.0 ? 0x1p-53 / largest : std::numeric_limits<double>::infinity(), 0.1);
  }
  run.app.result.observables["judged"] = {{"steps", steps.dt.size()},         {"repeated_steps", run.repeated},
                                          {"balanced_steps", run.balanced},   {"compared_steps", run.compared.steps},
                                          {"elements", verdict.elements},     {"largest_change", verdict.moved},
                                          {"largest_number", verdict.largest}};
  if (run.app.is_root())
    fmt::print("judged     {} of {} steps again by the textbook, on {} of {} elements; {} again by the same solver\n",
               steps.dt.size(), run.steps, verdict.elements, run.domain.global_elements, run.repeated);
}

/// All states are the first one, scaled: to the last bit.
void check_states(wave_run& run, const std::vector<double>& states) {
  if (run.options.states == 1 || !run.options.sources.empty() ||
      std::ranges::find(run.domain.problem.boundaries, boundary_kind::incident) != run.domain.problem.boundaries.end())
    return;
  const double difference = difference_of_columns(run.domain, states, run.options.states);
  run.app.result.checks.add("states side by side agree", difference, 8.0 * unit_roundoff(run.options));
}

/// Whether steps that were made again ended in the same states, on all ranks. Collective.
void add_repeats(const wave_run& run, verification& checks) {
  double differs = run.same_between ? 0.0 : 1.0;
  run.domain.comm.maximum({&differs, 1});
  checks.add("steps made again end in the same states", differs == 0.0);
}

/// Of judged steps: the power of the right-hand side is what flows through sides and faces and comes from sources, and
/// steps are made of right-hand sides. Each is known to roundings. Without sides and sources that give, the scheme
/// loses energy (upwind) or keeps it (central), and LSERK4 loses some: |R(iy)|^2 = 1 - y^6 / 257 + ...
void add_energies(const wave_run& run, verification& checks) {
  const double u = unit_roundoff(run.options);
  // As in check_last_steps, of one step. |dt F| is |q| at most, or both are in the unit, so that dt q.M.F has it too.
  const double of_step =
      2.0 * std::sqrt(double{lserk4::stages}) * (run.domain.reference.order + 2.0) * (u + run.mismatch);
  if (run.compared.steps > 0) checks.add("drawn steps, against the textbook", run.compared.worst, of_step);
  if (run.balanced > 0) {
    checks.add("energy, against what sides and faces take", run.balance.power, of_step);
    checks.add("steps, against right-hand sides", run.balance.states, of_step);
  }
  checks.add("energies, against those of the states", run.energy_difference, rounding_of_energy(run.domain));
  if (!run.waves.closed) {
    checks.add("energy is finite", std::isfinite(run.done.energy.back()[1].get<double>()));
    return;
  }
  // Roundings of q change the energy by 2 u a stage; independent ones add up as the root of their number.
  const double stages = static_cast<double>(lserk4::stages * std::max<std::int64_t>(run.steps, 1));
  checks.add("energy does not grow", growth_of(run.done.energy, run.growth),
             rounding_of_energy(run.domain) + 8.0 * u * std::sqrt(stages) + run.mismatch * stages);
}

void check_energy(wave_run& run) {
  verification& checks = run.app.result.checks;
  add_energies(run, checks);
  if (run.app.control.stopped()) return;
  if (run.balanced == 0) checks.add("steps were judged", false);
  // The run's states may be somewhat faster than random numbers, and a machine is not equally fast at all times. Work
  // that is left out, prepared or put off makes several times the speed.
  checks.add(of_speed, run.trial / 1.5, 1.0);
}

/// |q_h - I q| <= (time) * (truncation error): the scheme loses energy, so that errors add up and do not grow. To that
/// comes what LSERK4 leaves, (w dt)^5 / 120 a step, and roundings. Where that allows an error as large as the solution,
/// the exact solution is no check, and the run says so.
void check_solution(wave_run& run, const std::vector<double>& states) {
  enter_stage("the comparison with the exact solution");
  const dg_domain& domain = run.domain;
  const auto state = run.first_of(states);
  const field_errors errors = errors_of(domain, state, *run.waves.exact, run.done.time);
  auto difference = sample(domain, *run.waves.exact, run.done.time);
  const double size = energy_norm(domain, sample(domain, *run.waves.exact, 0.0));
  for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= state[i];
  const double error = energy_norm(domain, difference);
  const double truncation = truncation_error(
      domain, run.waves,
      drawn_elements(domain, states, affordable_elements(domain) / 2, drawn_of(run, "elements: exact solution")));
  const double w = run.waves.frequency, steps = static_cast<double>(run.done.steps_done);
  const double of_time = std::pow(w * run.dt, 5) / 120.0 * steps * size;
  const double of_rounding = 8.0 * unit_roundoff(run.options) * std::sqrt(lserk4::stages * (steps + 1.0)) * size;
  const double tolerance = (run.done.time * truncation + of_time + of_rounding) / size;
  if (tolerance < 1.0)
    run.app.result.checks.add("solution, against the exact one", error / size, tolerance);
  else
    run.app.result.observables["no_check"] =
        fmt::format("the exact solution: the scheme may be off by {:.3g} of it at time {:g}", tolerance, run.done.time);
  json_document by_field = json_document::object();
  const auto names = field_names(domain.problem.equations, domain.reference.dimension);
  for (std::size_t f = 0; f < names.size(); ++f)
    by_field[names[f]] = {{"max", errors.max[f]}, {"l2", errors.l2[f]}, {"l2_fine", errors.fine[f]}};
  run.app.result.observables["errors"] = by_field;
  run.app.result.observables["relative_error"] = error / size;
  if (!run.app.is_root()) return;
  if (!(tolerance < 1.0)) fmt::print("no check   {}\n", run.app.result.observables["no_check"].get<std::string>());
  fmt::print("\nfield            max error     L2 error   L2 error (finer nodes)\n");
  for (std::size_t f = 0; f < names.size(); ++f)
    fmt::print("{:<12}  {:12.4e} {:12.4e} {:12.4e}\n", names[f], errors.max[f], errors.l2[f], errors.fine[f]);
}

/// --check: two steps of the textbook from the same beginning.
void check_steps(wave_run& run, const std::vector<double>& beginning) {
  run.app.begin("comparison of two steps with the textbook");
  const auto oracle = cpu::make_textbook_dg_solver(run.domain, run.options.states);
  oracle->set_state(beginning, 0.0);
  run.solver->set_state(beginning, 0.0);
  for (int step = 0; step < 2; ++step) {
    oracle->advance(1, run.dt);
    run.app.control.stop_if_requested("the comparison of two steps");
  }
  run.solver->advance(2, run.dt);
  std::vector<double> expected(beginning.size());
  oracle->get_state(expected);
  const auto found = run.states();
  double worst = 0.0, largest = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    worst = larger_or_nan(worst, std::abs(found[i] - expected[i]));
    largest = std::max(largest, std::abs(expected[i]));
  }
  std::array<double, 2> of_all{worst, largest};
  run.domain.comm.maximum(of_all);
  // Ten stages round q once each, and dt f, of the same size at most, N + 1 times.
  run.app.result.checks.add("two steps, against the textbook", of_all[0] / std::max(of_all[1], 1e-30),
                            10.0 * (run.domain.reference.order + 2.0) * unit_roundoff(run.options));
  run.app.progress.clear();
}

void note_probes(wave_run& run, std::span<const double> state) {
  if (run.options.probes.empty()) return;
  const auto names = field_names(run.domain.problem.equations, run.domain.reference.dimension);
  json_document probes = json_document::array();
  for (std::size_t i = 0; i < run.options.probes.size(); ++i) {
    const auto& x = run.options.probes[i];
    const point_location& where = run.probes[i];
    const auto& global = run.domain.part.global;
    const auto here = std::ranges::find(global, static_cast<std::int32_t>(where.element));
    std::vector<double> values(static_cast<std::size_t>(run.domain.fields));
    if (here != global.end())
      values = value_at(run.domain, state, static_cast<std::int32_t>(here - global.begin()), where.at);
    run.domain.comm.sum(values);
    json_document fields = json_document::object();
    for (std::size_t f = 0; f < names.size(); ++f) fields[names[f]] = values[f];
    probes.push_back({{"position", x}, {"fields", fields}});
    if (!run.app.is_root()) continue;
    fmt::print("probe      {:g}, {:g}, {:g}:", x[0], x[1], x[2]);
    for (std::size_t f = 0; f < names.size(); ++f) fmt::print(" {} {:.10g}", names[f], values[f]);
    fmt::print("\n");
  }
  run.app.result.observables["probes"] = probes;
}

void note_speed(wave_run& run) {
  const sample_statistics seconds = statistics(run.stage_seconds);
  const dg_domain& domain = run.domain;
  const auto elements = static_cast<double>(domain.global_elements);
  const standard_flops flops = standard_flops_of(domain);
  const double columns = run.options.states;
  const double a_second = seconds.median > 0.0 ? columns / seconds.median : 0.0;
  const bool single = run.options.shared.precision == "single";
  operator_figure figure;
  figure.operator_name = run.options.equations;
  figure.layout = "full";
  figure.precision = run.options.shared.precision;
  figure.reconstruct = 0;
  figure.rhs = run.options.states;
  figure.device = run.options.shared.device;
  figure.ranks = run.app.world.size();
  figure.threads = omp_get_max_threads();
  figure.seconds = seconds;
  figure.gflops = 1e-9 * flops.total() * elements * a_second;
  figure.gbytes_per_s = 1e-9 * fewest_bytes_of(domain, single ? 4.0 : 8.0) * elements * a_second;
  double copy = 0.0, fma = 0.0;
  if (run.app.gpu) {
    copy = run.app.device->copy_gbytes_per_s();
  } else {
    const cpu::context ctx(run.app.geometry, run.app.world);
    copy = copy_gbytes_per_s(ctx);
    fma = single ? fma_gflops<float>(ctx) : fma_gflops<double>(ctx);
  }
  relate_to_machine(figure, copy, fma);
  // The standard counts hold more products than are made: only the fewest must stay below the peak.
  const double fewest = 1e-9 * fewest_flops_of(domain) * elements * a_second, of_standard = figure.fraction_of_fma_peak;
  figure.fraction_of_fma_peak = fma > 0.0 ? fewest / fma : 0.0;
  const dg_timings t = run.solver->timings();
  figure.details = {{"order", domain.reference.order},
                    {"elements", domain.global_elements},
                    {"nodes_per_s", elements * domain.nodes() * a_second},
                    {"fewest_gflops", fewest},
                    {"shares",
                     {{"volume", t.volume / t.total},
                      {"surface", t.surface / t.total},
                      {"update", t.update / t.total},
                      {"exchange", t.exchange / t.total}}}};
  if (fma > 0.0) {
    figure.details["fewest_fraction_of_fma_peak"] = fewest / fma;
    figure.details["standard_fraction_of_fma_peak"] = of_standard;
  }
  run.app.result.figures.push_back(figure);
  run.app.result.fom.value = elements * domain.nodes() * a_second;
  run.app.work_seconds = seconds.median * lserk4::stages * static_cast<double>(run.steps);
  if (!run.app.is_root()) return;
  fmt::print("\nRK stage   {:.4e} s minimum, {:.4e} s median, {:.4e} s maximum of {}\n", seconds.min, seconds.median,
             seconds.max, seconds.samples);
  fmt::print("speed      {:.4g} GFLOP/s by the standard counts, {:.4g} in the fewest products", figure.gflops, fewest);
  if (fma > 0.0) fmt::print(" ({:.0f}% and {:.0f}% of the FMA peak)", 100.0 * of_standard, 100.0 * fewest / fma);
  fmt::print(", {:.4g} GB/s ({:.0f}% of copy)\n", figure.gbytes_per_s, 100.0 * figure.fraction_of_copy);
  if (t.volume > 0.0)
    fmt::print("shares     volume {:.0f}%, surface {:.0f}%, update {:.0f}%, waiting for messages {:.0f}%\n",
               100.0 * t.volume / t.total, 100.0 * t.surface / t.total, 100.0 * t.update / t.total,
               100.0 * t.exchange / t.total);
}

void write_files(wave_run& run, std::span<const double> state) {
  const nodal_dg_options& o = run.options;
  if (!o.energy.empty() && run.app.is_root()) {
    std::string text = "time,energy\n";
    for (const auto& line : run.done.energy)
      text += fmt::format("{:.17g},{:.17g}\n", line[0].get<double>(), line[1].get<double>());
    write_file_atomically(o.energy, text, run.if_there(o.energy));
    fmt::print("energy     {}\n", o.energy);
  }
  if (run.app.control.stopped()) return;
  if (!o.vtk.empty()) {
    enter_stage("writing the fields");
    write_vtkhdf(o.vtk, run.domain, state, run.if_there(o.vtk));
    if (run.app.is_root()) fmt::print("fields     {}\n", o.vtk);
  }
  if (!o.plane.empty()) {
    write_plane(o.plane, o.plane_at, run.domain, state, run.if_there(o.plane));
    if (run.app.is_root()) fmt::print("plane      {}\n", o.plane);
  }
}

/// The state that a piece of the run begins with is the one that the piece before ended with, and what was judged at
/// the end is what was written.
void check_bits(wave_run& run, const bit_sum& judged, const std::vector<double>& states) {
  add_repeats(run, run.app.result.checks);
  check_same_bits(run.app.result.checks, "fields", judged, sum_of(states), run.domain.comm);
}

void note_results(wave_run& run) {
  json_document& o = run.app.result.observables;
  const dg_domain& domain = run.domain;
  o["elements"] = domain.global_elements;
  o["nodes"] = domain.global_elements * domain.nodes();
  o["dt"] = run.dt;
  o["last_dt"] = run.last_dt;
  o["steps"] = run.done.steps_done;
  o["final_time"] = run.done.time;
  if (!run.waves.remarks.empty()) o["mesh_remarks"] = run.waves.remarks;
  o["energy"] = {
      {"start", run.done.energy.front()[1]}, {"end", run.done.energy.back()[1]}, {"history", run.done.energy}};
  run.app.result.gauge = {{"source", "none"}, {"plaquette", std::numeric_limits<double>::quiet_NaN()}};
  if (run.app.is_root())
    fmt::print("energy     {:.12g} at the beginning, {:.12g} at time {:.6g}, {} steps\n",
               run.done.energy.front()[1].get<double>(), run.done.energy.back()[1].get<double>(), run.done.time,
               run.done.steps_done);
}

/// States are large, and judging takes and frees many: the next one finds memory that the kernel of the operating
/// system need not clear again.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}

void note_judging(wave_run& run) {
  run.app.result.observables["judging_seconds"] = run.judging;
  if (run.app.is_root()) fmt::print("judging    {:.3g} s\n", run.judging);
}

}  // namespace

void note_failures(wave_run& run) {
  verification so_far = run.app.result.checks;
  add_energies(run, so_far);
  add_repeats(run, so_far);
  // Speed is not the states'. Where little moves, a later part of the run may move more.
  for (const check& c : so_far.checks())
    if (!c.passed() && c.name != of_speed && !c.name.starts_with("rounding")) run.done.failures.keep_worse(c);
}

void keep_checkpoint(wave_run& run, const std::vector<double>& states, bool finished) {
  if (run.options.checkpoint.empty()) return;
  enter_stage("writing the checkpoint");
  const nodal_dg_options& o = run.options;
  dg_progress kept = run.done;
  kept.dt = run.dt;
  if (!finished) kept.unfinished_files = absolute_paths({o.energy, o.shared.json, o.vtk, o.plane});
  write_dg_checkpoint(o.checkpoint, run.domain, states, o.states, kept, parameters_of_checkpoint(run));
  enter_stage("the time steps");
}

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
  constexpr double bytes_of_element = 900.0;
  run.begin("mesh");
  const bool is_sampled = options_.shared.dry_run && !checkpoint_exists(options_.checkpoint);
  const mesh_sample sample = is_sampled ? sample_of_mesh(options_) : mesh_sample{options_};
  sampled_ = sample.elements;
  if (options_.mesh.empty() && !is_sampled) {  // before it is made
    double cells = 1.0;
    for (const int n : options_.box) cells *= n;
    const double elements = cells * (options_.box.size() == 3 ? 6.0 * std::pow(8.0, options_.refinements)
                                                              : 2.0 * std::pow(4.0, options_.refinements));
    require_memory(run.world, bytes_of_element * elements, "the mesh");
  }
  const auto stop = [&run] { run.control.stop_alone_if_requested("the making of the mesh"); };
  case_ = make_case(sample.options, stop, [&run](double elements) {
    require_memory(run.world, bytes_of_element * elements, "the mesh, refined,");
  });
  options_.box_sides = case_.box;
  const communicator ranks = run.world.is_planned() ? communicator() : run.world;
  partition_ = partition_mesh(case_.mesh, ranks.size(), options_.partition);
  stop();
  domain_ =
      std::make_unique<dg_domain>(make_domain(case_.mesh, partition_, options_.order, case_.problem, ranks, stop));
  find_places();
  const double stable = sample.element_length * stable_time_step(*domain_);
  choose_steps(stable);
  run.progress.clear();
  const double of_rank = sampled_ * ranks.size() / run.world.size();  // elements, for one of `domain_`
  const double state = of_rank * static_cast<double>(domain_->state_size() * options_.states) * sizeof(double);
  const bool is_double = options_.shared.precision != "single";
  run_estimate needs;
  const double of_solver = of_rank * bytes_of_solver(*domain_, options_);
  needs.host_bytes = 14.0 * state + (run.shared.device == "gpu" ? 0.0 : of_solver);
  if (run.shared.device == "gpu") {
    needs.gpu_bytes = of_solver;
    // Without the library that knows: three states, and what the geometry of an element takes.
    if (needs.gpu_bytes == 0.0)
      needs.gpu_bytes = (is_double ? 3.0 : 1.5) * state + of_rank * domain_->elements() * (is_double ? 160.0 : 96.0);
  }
  const standard_flops flops = standard_flops_of(*domain_);
  const double elements = sampled_ * static_cast<double>(domain_->global_elements);
  needs.lines = {
      {"steps", fmt::format("{}{} of {:.6g} to time {:.6g}; {:.6g} is stable{}",
                            options_.dt > 0.0 && options_.steps > 0 ? "" : "at most ", steps_, dt_, end_of_run(),
                            stable, ", longer ones may be: the run measures that")},
      {"work", fmt::format("{:.4g} flops a stage by the standard counts, {:.4g} in all; {:.4g} bytes a stage at least",
                           flops.total() * elements * options_.states,
                           flops.total() * elements * options_.states * static_cast<double>(steps_) * lserk4::stages,
                           fewest_bytes_of(*domain_, options_.shared.precision == "single" ? 4.0 : 8.0) * elements *
                               options_.states)}};
  if (const auto machine = run.shared.dry_run ? planned_machine(run.shared) : std::nullopt) {
    const kernel_time stage = time_of_stage(*machine, *domain_, elements / run.world.size(), run.world.size(),
                                            is_double, options_.states, run.shared.overlap);
    needs.lines.emplace_back("messages", text_of_messages(stage) + ", of a stage");
    needs.lines.emplace_back("seconds", fmt::format("{:.4g} a stage, {:.4g} for all steps", stage.seconds,
                                                    stage.seconds * lserk4::stages * static_cast<double>(steps_)));
    needs.fom = elements * domain_->nodes() * options_.states / stage.seconds;
  }
  if (checkpoint_exists(options_.checkpoint)) {
    json_document parameters = run_parameters_of(options_);
    parameters["content"] = content_of(case_.mesh, case_.problem);
    done_ = read_dg_progress(options_.checkpoint, parameters);
  }
  return needs;
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

/// Measures which steps are stable and chooses those of this run. Throws input_error where --dt is not stable, or where
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
  wave_run run{app, options_, case_, *domain_, {case_.mesh, partition_}, probes_};
  app.stage("set-up", [&] {
    const auto stop = [&app] { app.control.stop_alone_if_requested("the set-up"); };
    run.solver = make_solver(*app.device, *domain_, options_, stop);
  });
  app.control.stop_if_requested("the set-up");
  if (case_.exact) require_seen(*domain_, case_);
  app.control.stop_if_requested("the first state");
  find_steps(app, *run.solver);
  run.done = done_;
  run.continues = done_.steps_done > 0;
  run.content = content_of(case_.mesh, case_.problem);
  run.dt = dt_;
  run.last_dt = last_dt_;
  run.steps = steps_;
  run.mismatch = mismatch_of(case_.mesh);
  const auto beginning = all_states(run, sample(*domain_, case_.initial, 0.0));
  if (options_.shared.check) check_steps(run, beginning);
  if (done_.steps_done > 0)
    run.solver->set_state(read_dg_states(options_.checkpoint, *domain_, options_.states), done_.time);
  else
    run.solver->set_state(beginning, 0.0);
  make_steps(run);
  app.progress.clear();
  const std::vector<double> states = app.control.stopped() ? run.states() : run.judged.states;
  if (!app.control.stopped()) {
    try_speed(run);
    run.solver->set_state(states, run.done.time);
  }
  bit_sum judged;
  {
    const counted_seconds judging(run.judging);
    judged = sum_of(states);
    check_states(run, states);
    check_energy(run);
  }
  if (app.control.stopped()) {
    note_failures(run);
    keep_what_was_judged(run);
  }
  note_results(run);
  if (!app.control.stopped()) {  // a stopped run is not verified, whatever it did
    const counted_seconds judging(run.judging);
    check_against_textbook(run, states);
    check_last_steps(run, states);
    if (case_.exact) check_solution(run, states);
  }
  note_probes(run, run.first_of(states));
  if (!run.stage_seconds.empty()) note_speed(run);
  write_files(run, run.first_of(states));
  check_bits(run, judged, states);
  note_judging(run);
  note_failures(run);
  for (const check& failure : run.done.failures.checks()) app.result.checks.keep_worse(failure);
  const bool was_stopped = app.control.stopped();  // and has its checkpoint
  app.control.note_stop(app.result.checks);
  const exit_status status = app.finish(was_stopped ? exit_status::interrupted : exit_status::success);
  // Only now is nothing left to do: until then a run that is stopped goes on from before its end, and ends again.
  if (app.control.stopped() && !was_stopped) keep_what_was_judged(run);
  if (!app.control.stopped()) keep_checkpoint(run, states, true);
  return status;
}

}  // namespace plaquette::nodal_dg
