// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/overlap-propagator/overlap_calculation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "common/app/parse.hpp"
#include "common/app/run_app.hpp"
#include "cpu_ref/fields/spinor_norm.hpp"
#include "cpu_ref/observables/correlators.hpp"
#include "cpu_ref/solvers.hpp"
#include "miniapps/overlap-propagator/overlap_checks.hpp"
#include "miniapps/overlap-propagator/overlap_figures.hpp"
#include "miniapps/overlap-propagator/overlap_files.hpp"
#include "miniapps/overlap-propagator/overlap_stages.hpp"
#include "miniapps/overlap-propagator/scheme_choice.hpp"
#include "miniapps/overlap-propagator/sign_choice.hpp"
#include "miniapps/shared/propagator_file.hpp"

namespace plaquette {

namespace {

std::unique_ptr<overlap_solver> make_solver(app_run& run, const overlap_options& options, const gauge_input& gauge) {
  overlap_settings settings;
  settings.rho = options.rho;
  settings.boundary_phase = options.shared.action.boundary_phase;
  settings.links = stored_links(run, gauge);
  settings.half_precision = options.sign.precision == sign_precision::half;
  settings.seed = options.shared.seed;
  settings.kernel_basis_on_host = options.kernel_basis_on_host;
  settings.overlap_basis_on_host = options.overlap_basis_on_host;
  settings.interrupted = [&run] { return run.control.should_stop(); };
  const std::shared_ptr<const gauge_configuration> links(std::shared_ptr<void>(), &gauge.links);  // the run keeps them
  return run.device->make_overlap_solver(links, settings);
}

kernel_modes find_modes_of_h(overlap_stages& stages) {
  const overlap_options& options = stages.options;
  const lattice_geometry& geometry = stages.run.geometry;
  const kept_stage<kernel_modes> kept{stages.file(options.modes_file(), problem_of_modes(options, geometry)),
                                      format_of_modes(options, stages.solver)};
  kept_stage<search_snapshot<mode_search_state>> under_way{
      stages.file(options.mode_search_file(), problem_of_mode_search(options, geometry)),
      format_of_mode_search(options, stages.solver)};
  under_way.format.of_file = [&stages, read = under_way.format.of_file](const kept_content& file) {
    auto snapshot = read(file);
    stages.tell(fmt::format("remark     goes on after {} cycles of {}", snapshot.state.cycles, file.path()));
    return snapshot;
  };
  const auto search_modes = [&](search_memory<mode_search_state>& save) {
    mode_search search = search_of(options);
    const stopwatch watch;
    search.progress = [&](int cycle, int converged, double worst) {
      stages.report_cycle("H", cycle, converged, search.modes, worst, watch.seconds());
    };
    kernel_modes modes = stages.solver.lowest_kernel_modes(search, options.modes, &save);
    if (modes.values.empty() && modes.lowest_of_rest == 0.0 && !stages.run.control.stopped())
      throw error(exit_status::no_convergence,
                  fmt::format("modes of H: none of {} converged in {} cycles; expected some: allow more with "
                              "--mode-cycles, a larger --search-space or a filter of a higher degree",
                              search.modes, modes.cycles));
    return modes;
  };
  return stages.resumable<kernel_modes, mode_search_state>("modes of H", stages.expected().kernel_modes, kept,
                                                           under_way, search_modes,
                                                           [](const kernel_modes&) { return true; });
}

/// Modes of H, judged.
kernel_modes modes_of_h(overlap_stages& stages) {
  kernel_modes modes = find_modes_of_h(stages);
  stages.run.result.observables["kernel"] = to_json(modes);
  if (stages.is_root()) print(modes);
  if (!check_modes_of_h(stages, modes)) stages.note_missing_modes();
  return modes;
}

/// Makes the sign function, with the number of columns at once that is fastest. Calibrates and checks it if its range
/// can be used.
sign_handle make_sign_function(overlap_stages& stages, const kernel_modes& modes, const sign_choice& choice) {
  const overlap_options& options = stages.options;
  overlap_solver& solver = stages.solver;
  check_range(stages, modes, choice);
  sign_options chosen = choice.options;
  sign_handle sign = solver.sign(modes, chosen);
  if (chosen.batch == 0) {
    chosen.batch = solver.fastest_batch(sign);
    sign = solver.sign(modes, chosen);
    solver.reset_count();
  }
  sign_record record = describe(*sign, choice.delta);
  const bool is_usable = choice.range_holds() || choice.is_tolerated();
  if (is_usable) {
    stages.stage("sign function", stages.expected(*sign).sign,
                 [&] { sign = calibrate_sign(stages, modes, choice, sign, record); });
    record.precision = name(sign->options().precision);
    record.batch = sign->options().batch;
  }
  stages.run.result.observables["sign"] = to_json(record);
  if (stages.is_root()) print(record, !is_usable || options.sign.degree + options.sign.poles > 0);
  if (is_usable) check_sign(stages, modes, choice, sign, record);
  return sign;
}

overlap_modes find_modes_of_d(overlap_stages& stages, const sign_handle& sign) {
  const overlap_options& options = stages.options;
  const lattice_geometry& geometry = stages.run.geometry;
  const kept_stage<overlap_modes> kept{stages.file(options.overlap_file(), problem_of_overlap(options, geometry)),
                                       format_of_overlap(options, stages.solver)};
  const kept_stage<search_snapshot<overlap_search_state>> under_way{
      stages.file(options.search_file(), problem_of_overlap_search(options, geometry)),
      format_of_overlap_search(options, stages.solver)};
  const auto search_modes = [&](search_memory<overlap_search_state>& save) {
    overlap_mode_search search = overlap_search_of(options);
    const stopwatch watch;
    search.progress = [&](int cycle, int converged, double worst, double) {
      stages.report_cycle("D", cycle, converged, std::max(1, search.modes), worst, watch.seconds());
    };
    return stages.solver.lowest_overlap_modes(sign, search, &save);
  };
  return stages.resumable<overlap_modes, overlap_search_state>("modes of D", stages.expected(*sign).overlap_modes, kept,
                                                               under_way, search_modes,
                                                               [](const overlap_modes&) { return true; });
}

/// Modes of D, judged if some were sought.
overlap_modes modes_of_d(overlap_stages& stages, const sign_choice& choice, const sign_handle& sign) {
  overlap_modes modes = find_modes_of_d(stages, sign);
  bool is_open = false;
  if (stages.options.overlap_modes > 0 && !check_modes_of_d(stages, choice, sign, modes, is_open))
    stages.note_missing_modes();
  const overlap_record record{modes, is_open};
  json_document& observables = stages.run.result.observables;
  observables["overlap"] = to_json(record);
  observables["index"] = record.has_open_index() ? json_document(nullptr) : json_document(modes.index());
  if (stages.is_root()) print(record);
  return modes;
}

overlap_solutions find_solutions(overlap_stages& stages, const sign_choice& choice, const sign_handle& sign,
                                 overlap_modes modes, const vectors_handle& sources) {
  const overlap_options& options = stages.options;
  const int zero_modes = modes.zero_plus + modes.zero_minus;
  if (options.masses.front() == 0.0 && zero_modes > 0)
    throw input_error(
        fmt::format("--masses 0: D has {} zero modes on this configuration, so that D(0) has no inverse; "
                    "expected positive masses",
                    zero_modes));
  const kept_stage<overlap_solutions> kept{
      stages.file(options.solutions_file(), problem_of_solutions(options, stages.run.geometry)),
      format_of_solutions(options, stages.solver)};
  return stages.resumable<overlap_solutions>(
      "propagators", stages.expected(*sign, &modes).propagators, kept,
      [&] { return stages.solver.solve(sign, std::move(modes), sources, options.masses, rule_of(stages, choice)); },
      [](const overlap_solutions& found) {
        return std::ranges::all_of(found.report.masses, &overlap_mass_report::converged);
      });
}

void note_solves(overlap_stages& stages, const sign_choice& choice, const std::vector<mass_record>& masses,
                 const overlap_solve_report& report) {
  for (const mass_record& m : masses) {
    solve_record record;
    const bool is_preconditioned = stages.options.scheme == overlap_scheme::preconditioned;
    record.solver = is_preconditioned  ? "minimal residuals of D(m), preconditioned"
                    : choice.is_coarse ? "flexible gcr of D(m)"
                                       : "multi-mass cg of D^+ D";
    record.precision = "double";
    record.iterations = m.solve.iterations;
    record.seconds = stages.seconds_of("propagators");
    for (const double residual : m.solve.iterated)
      record.iterated_residual = std::max(record.iterated_residual, residual);
    record.device_residual =
        m.solve.residual.empty() ? 0.0 : *std::max_element(m.solve.residual.begin(), m.solve.residual.end());
    record.reference_residual = m.judged.residual;
    record.history = report.history;
    record.details = {{"converged", m.solve.converged},
                      {"mass", m.solve.mass},
                      {"overlap_scheme", name(stages.options.scheme)},
                      {"corrections", m.solve.corrections},
                      {"residuals_of_corrections", m.solve.worst},
                      {"sign_accuracies", report.deltas}};
    if (is_preconditioned) record.details["work"] = to_json(report.work);
    stages.run.result.solves.push_back(record);
  }
}

std::vector<mass_record> judge_solutions(overlap_stages& stages, const sign_choice& choice, const sign_handle& sign,
                                         const vectors_handle& sources, const overlap_solutions& solutions) {
  std::vector<mass_record> masses = check_solutions(stages, choice, sign, sources, solutions);
  note_solves(stages, choice, masses, solutions.report);
  if (stages.options.scheme == overlap_scheme::preconditioned && stages.is_root()) print(solutions.report.work);
  // The next run solves unsolved masses again.
  if (!std::ranges::all_of(masses, &mass_record::is_solved)) stages.file(stages.options.solutions_file(), {}).remove();
  return masses;
}

/// The results of the stages, up to the last one that the options name.
struct overlap_result {
  kernel_modes h_modes{};
  double overlap_basis_bytes = 0.0;  ///< of the search for modes of D, in memory of the host
  vectors_handle sources{};
  overlap_solutions solutions{};
  std::vector<mass_record> masses{};  ///< judged; empty if the run ends before
};

/// Runs the stages. Each is a function of earlier results.
/// \param chosen  the options that the stages have; a trial may change them
overlap_result run_stages(overlap_stages& stages, overlap_options& chosen) {
  overlap_result r;
  r.h_modes = modes_of_h(stages);
  if (stages.end_after(overlap_stage::modes)) return r;
  const sign_choice choice = choose_sign(stages.options, r.h_modes);
  const sign_handle sign = make_sign_function(stages, r.h_modes, choice);
  if (stages.end_after(overlap_stage::sign)) return r;
  if (chosen.scheme_is_open && chosen.until == overlap_stage::propagators) {
    const scheme_trial trial = try_preconditioned(stages, choice, sign);
    stages.run.result.observables["scheme_trial"] = to_json(trial);
    if (stages.is_root()) print(trial);
    chosen = with_scheme(chosen, trial.best());
  }
  overlap_modes d_modes = modes_of_d(stages, choice, sign);
  r.overlap_basis_bytes = d_modes.basis_bytes_on_host;
  if (stages.end_after(overlap_stage::overlap_modes)) return r;
  r.sources = stages.solver.sources(stages.options.source);
  r.solutions = find_solutions(stages, choice, sign, std::move(d_modes), r.sources);
  r.masses = judge_solutions(stages, choice, sign, r.sources, r.solutions);
  return r;
}

/// A quark's propagator as it is contracted: its bits, and |x| of each column.
struct propagator_record {
  bit_sum bits{};
  std::vector<double> norms{};
};

/// Makes a quark's propagator once more from the solution: a copy, so that memory that has changed after the first time
/// shows. Collective.
propagator_record made_again(const overlap_stages& stages, const overlap_result& result, std::size_t number) {
  spinor_configuration column(stages.run.geometry), source(stages.run.geometry);
  propagator_record record;
  for (int c = 0; c < spin_colours; ++c) {
    result.solutions.x[number]->get(c, column);
    result.sources->get(c, source);
    subtract_contact_term(column, source, result.masses[number].solve.mass, stages.options.rho);
    add_bits(record.bits, column);
    record.norms.push_back(cpu::norm_of(column, stages.run.world));
  }
  return record;
}

/// Writes a propagator, unless a check has failed by now, and reads it again.
/// \param judged  the bits that the columns have to have, after they were compared with the file
void write(overlap_stages& stages, const propagator& columns, const bit_sum& judged, const mass_record& m, int number) {
  app_run& run = stages.run;
  const overlap_options& options = stages.options;
  const std::string path = options.propagator_file(number);
  if (!stages.checks().passed()) {
    if (stages.is_root())
      fmt::print("remark     {} is not written: expected a propagator that passed its checks, see below\n",
                 printable(path));
    return;
  }
  propagator_facts facts{options.shared.action,
                         options.source,
                         gamma_basis::degrand_rossi,
                         options.shared.gauge.describe(),
                         stages.gauge.plaquette.average,
                         {},
                         options.tolerance()};
  facts.residuals.assign(spin_colours, m.judged.residual);
  facts.more = {{"overlap_rho", options.rho}, {"overlap_mass", m.solve.mass}};
  enter_stage("writing the propagator");
  write_propagator(path, run.replaces(path), columns, facts, run.world);
  enter_stage("the comparison of the propagator's file");
  check_propagator_file(stages.checks(), path, columns, facts, run.world, fmt::format(", mass {:g}", m.solve.mass));
  check_same_bits(stages.checks(), fmt::format("columns behind the file of mass {:g}", m.solve.mass), judged,
                  bits_of(columns), run.world);
}

/// Computes correlators of the judged solutions, and writes propagators.
void contract(overlap_stages& stages, overlap_result& result) {
  if (result.masses.empty()) return;
  app_run& run = stages.run;
  note_unfinished_files(run, stages.options);
  run.begin("correlators");
  json_document list = json_document::array();
  propagator columns(spin_colours, spinor_configuration(run.geometry));  // memory that is there is faster
  for (std::size_t i = 0; i < result.masses.size(); ++i) {
    run.stop_if_requested();
    mass_record& m = result.masses[i];
    for (int c = 0; c < spin_colours; ++c) result.solutions.x[i]->get(c, columns[static_cast<std::size_t>(c)]);
    check_same_bits(stages.checks(), fmt::format("solutions at mass {:g}", m.solve.mass), m.bits, bits_of(columns),
                    run.world);
    subtract_contact_term(columns, result.sources, m.solve.mass, stages.options.rho);
    m.pion = cpu::pion_correlator(columns, run.world);
    m.rho = cpu::rho_correlator(columns, run.world);
    const propagator_record again = made_again(stages, result, i);
    check_same_bits(stages.checks(), fmt::format("the propagator of mass {:g}", m.solve.mass), again.bits,
                    bits_of(columns), run.world);
    run.result.solves.at(i).details["propagator_norms"] = again.norms;  // mass after mass, in their order
    if (!stages.options.propagators.empty()) write(stages, columns, again.bits, m, static_cast<int>(i));
    list.push_back(to_json(m));
  }
  run.progress.clear();
  run.result.observables["masses"] = list;
  run.result.observables["pion"] = result.masses.front().pion;
  run.result.observables["rho"] = result.masses.front().rho;
  run.result.observables["source_time"] = stages.options.source.position[3];
  if (stages.is_root()) print(result.masses);
}

exit_status conclude(overlap_stages& stages, const overlap_result& result) {
  json_document& observables = stages.run.result.observables;
  observables["calculation"] = to_json(stages.records());
  if (stages.run.gpu)
    observables["basis_on_host"] = {{"kernel_bytes", result.h_modes.basis_bytes_on_host},
                                    {"overlap_bytes", result.overlap_basis_bytes}};
  double total = 0.0;
  for (const stage_record& s : stages.records())
    if (s.name != judgement_of_modes) total += s.seconds;
  stages.run.work_seconds = total;
  figure_of_merit& fom = stages.run.result.fom;
  if (stages.options.until != overlap_stage::propagators)
    fom.none = "--until " + name(stages.options.until) + " ends before the propagators";
  else if (!stages.is_whole())
    fom.none = "stages that were read from files, or went on from some, are not measured";
  else if (!result.masses.empty())
    fom.value = 3600.0 * static_cast<double>(result.masses.size()) / total;
  note_figures(stages);
  if (stages.is_root()) print(stages.records(), stages.run.geometry.global() == extents{24, 24, 24, 64});
  const bool all_solved = std::ranges::all_of(result.masses, &mass_record::is_solved);
  return all_solved && !stages.lack_modes() ? exit_status::success : exit_status::no_convergence;
}

}  // namespace

exit_status calculate_overlap(app_run& run, const overlap_options& options) {
  const gauge_input& gauge = run.gauge();
  const auto solver = make_solver(run, options, gauge);
  overlap_options chosen = options;
  overlap_stages stages(run, chosen, gauge, *solver);
  overlap_result result = run_stages(stages, chosen);
  check_kernel(stages);
  contract(stages, result);
  return conclude(stages, result);
}

}  // namespace plaquette
