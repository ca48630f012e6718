// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/overlap-propagator/overlap_files.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "common/app/checkpoint.hpp"
#include "common/io/atomic_file.hpp"
#include "miniapps/overlap-propagator/overlap_report.hpp"

namespace plaquette {

namespace {

constexpr int most_cycles = 1000000;

void add_parameters(json_document& problem, std::initializer_list<const char*> keys, const overlap_options& options,
                    const lattice_geometry& geometry) {
  const json_document all = parameters_of(options, geometry);
  for (const char* key : keys)
    if (all.contains(key)) problem[key] = all[key];
}

/// Returns the source of vectors first, first + 1, ...
vector_source part_of(const vector_source& source, int first) {
  return [=](int n, spinor_configuration& to) { source(first + n, to); };
}

vector_source vectors_of(const vectors_handle& vectors) {
  return [vectors](int n, spinor_configuration& to) { vectors->get(n, to); };
}

json_document to_state(const restart_state& s) {
  std::vector<double> coupling;
  for (int j = 0; j < s.coupling.columns(); ++j)
    for (int i = 0; i < s.coupling.rows(); ++i) {
      coupling.push_back(s.coupling(i, j).re);
      coupling.push_back(s.coupling(i, j).im);
    }
  return {
      {"values", s.values}, {"estimates", s.estimates}, {"coupling", coupling}, {"kept", s.kept}, {"cycle", s.cycle}};
}

/// \param most  vectors of the search space
restart_state restart_from(const kept_numbers& state, int block, int most) {
  restart_state s;
  s.kept = state.integer("kept", 0, most);
  s.cycle = state.integer("cycle", 0, most_cycles);
  s.values = state.reals("values", s.kept, s.kept);
  s.estimates = state.reals("estimates", s.kept, s.kept);
  const auto coupling = state.reals("coupling", 2 * s.kept * block, 2 * s.kept * block);
  s.coupling = host_matrix(s.kept, block);
  for (int j = 0; j < block; ++j)
    for (int i = 0; i < s.kept; ++i) {
      const auto k = 2 * static_cast<std::size_t>(i + j * s.kept);
      s.coupling(i, j) = {coupling.at(k), coupling.at(k + 1)};
    }
  return s;
}

kernel_modes modes_from(const kept_content& file, const overlap_options& options, overlap_solver& solver) {
  const kept_numbers record = file.part("record");
  const double bound = 8.0 - options.rho + 1.0;
  kernel_modes modes;
  modes.values = record.reals("eigenvalues", 0, options.modes, bound);
  const int count = static_cast<int>(modes.values.size());
  modes.residuals = record.reals("residuals", count, count);
  for (std::size_t i = 0; i < modes.values.size(); ++i)
    if (modes.residuals[i] < 0.0 || (i > 0 && std::abs(modes.values[i]) < std::abs(modes.values[i - 1])))
      throw input_error(fmt::format(
          "{}: expected |eigenvalues| in ascending order with residuals that are not negative", file.path()));
  modes.highest = record.real("bound", count > 0 ? std::abs(modes.values.back()) : 1e-300, bound);
  modes.window = record.real("window", 0.0, bound);
  modes.lowest_of_rest = file.real("lowest_of_rest", 0.0, bound);
  modes.degree = record.integer("filter_degree", 0, most_cycles);
  modes.block = record.integer("block", 0, most_cycles);
  modes.keep = record.integer("kept", 0, most_cycles);
  modes.most = record.integer("search_space", 0, most_cycles);
  modes.cycles = record.integer("cycles", 0, most_cycles);
  modes.widened = record.integer("widened", 0, most_cycles);
  modes.sought = record.integer("sought", 0, most_cycles);
  modes.complete = record.flag("complete");
  modes.raised = record.integer("raised", 0, most_cycles);
  modes.probing = record.real("probing", 0.0, 1.0);
  modes.vectors = solver.import_vectors(count, 0, file.vectors(count));
  return modes;
}

search_snapshot<mode_search_state> mode_search_from(const kept_content& file, const overlap_options& options,
                                                    overlap_solver& solver) {
  // A search has at most the vectors that its own command line gives it, and widens its window a few times.
  mode_search search = search_of(options);
  search.block = file.integer("block", 1, 1000);
  mode_search_state s;
  s.block = search.block;
  const int allowed = std::max({sizes_of_search(search).most, search.most, 16}) * 2 + 2 * s.block;
  s.most = file.integer("most", 1, allowed);
  s.keep = file.integer("keep", 1, s.most);
  s.restart = restart_from(file, s.block, s.most);
  s.highest = file.real("highest", 1e-300, 1000.0);
  s.window = file.real("window", 0.0, s.highest);
  s.degree = file.integer("degree", 0, most_cycles);
  s.cycles = file.integer("cycles", 0, most_cycles);
  s.widened = file.integer("widened", 0, most_cycles);
  s.raised = file.integer("raised", 0, most_cycles);
  const int vectors = s.restart.kept + s.block;
  return {s, solver.import_vectors(vectors, 0, file.vectors(vectors))};
}

kept_value overlap_to_file(const overlap_modes& modes) {
  const vectors_handle &plus = modes.plus.vectors, &minus = modes.minus.vectors;
  const int of_plus = count(plus);
  return {{{"plus", modes.plus.eigenvalues},
           {"plus_residuals", modes.plus.residuals},
           {"minus", modes.minus.eigenvalues},
           {"minus_residuals", modes.minus.residuals},
           {"zero_plus", modes.zero_plus},
           {"zero_minus", modes.zero_minus},
           {"searched", modes.searched},
           {"cycles", modes.cycles},
           {"restarts", modes.restarts}},
          of_plus + count(minus),
          [plus, minus, of_plus](int n, spinor_configuration& to) {
            n < of_plus ? plus->get(n, to) : minus->get(n - of_plus, to);
          }};
}

overlap_modes overlap_from(const kept_content& file, const overlap_options& options, overlap_solver& solver) {
  constexpr int most_zeros = 1000;  // zero modes of the other chirality are not sought by their number
  overlap_modes modes;
  const auto load = [&](chiral_modes<vectors_handle>& of, const std::string& key, int most) {
    of.eigenvalues = file.reals(key.c_str(), 0, most, 4.1);
    const int count = static_cast<int>(of.eigenvalues.size());
    of.residuals = file.reals((key + "_residuals").c_str(), count, count);
  };
  modes.searched = file.integer("searched", -1, 1);
  load(modes.plus, "plus", options.overlap_modes + (modes.searched > 0 ? 0 : most_zeros));
  load(modes.minus, "minus", options.overlap_modes + (modes.searched > 0 ? most_zeros : 0));
  const int plus = static_cast<int>(modes.plus.eigenvalues.size()),
            minus = static_cast<int>(modes.minus.eigenvalues.size());
  modes.zero_plus = file.integer("zero_plus", 0, plus);
  modes.zero_minus = file.integer("zero_minus", 0, minus);
  modes.cycles = file.integer("cycles", 0, most_cycles);
  modes.restarts = file.integer("restarts", 0, most_cycles);
  const vector_source stored = file.vectors(plus + minus);
  modes.plus.vectors = solver.import_vectors(plus, +1, stored);
  modes.minus.vectors = solver.import_vectors(minus, -1, part_of(stored, plus));
  return modes;
}

search_snapshot<overlap_search_state> overlap_search_from(const kept_content& file, const overlap_options& options,
                                                          overlap_solver& solver) {
  const overlap_mode_search search = overlap_search_of(options);
  overlap_search_state s{restart_from(file, search.block, sizes_of_search(search).most), 0};
  s.chirality = file.integer("chirality", -1, 1);
  if (s.chirality == 0) throw input_error(fmt::format("{}: expected \"chirality\" 1 or -1, found 0", file.path()));
  const int vectors = s.restart.kept + search.block;
  return {s, solver.import_vectors(vectors, s.chirality, file.vectors(vectors))};
}

kept_value solutions_to_file(const overlap_solutions& solutions) {
  json_document masses = json_document::array();
  for (const overlap_mass_report& m : solutions.report.masses)
    masses.push_back({{"mass", m.mass},
                      {"iterations", m.iterations},
                      {"corrections", m.corrections},
                      {"iterated", m.iterated},
                      {"residual", m.residual},
                      {"converged", m.converged}});
  const std::vector<vectors_handle>& x = solutions.x;
  return {{{"masses", masses}, {"history", solutions.report.history}, {"deltas", solutions.report.deltas}},
          spin_colours * static_cast<int>(x.size()),
          [x](int n, spinor_configuration& to) {
            x[static_cast<std::size_t>(n / spin_colours)]->get(n % spin_colours, to);
          }};
}

overlap_solutions solutions_from(const kept_content& file, const overlap_options& options, overlap_solver& solver) {
  constexpr int most = 100000000;
  const int count = static_cast<int>(options.masses.size());
  overlap_solutions solutions;
  overlap_solve_report& report = solutions.report;
  for (const kept_numbers& m : file.parts("masses", count)) {
    overlap_mass_report mass;
    mass.mass = options.masses[report.masses.size()];
    m.real("mass", mass.mass, mass.mass);
    mass.iterations = m.integer("iterations", 0, most);
    mass.corrections = m.integer("corrections", 0, most);
    mass.iterated = m.reals("iterated", 0, spin_colours);
    mass.residual = m.reals("residual", spin_colours, spin_colours);
    mass.converged = m.flag("converged");
    if (!mass.converged)
      throw input_error(
          fmt::format("{}: expected solutions that have converged, found others at mass {:g}", file.path(), mass.mass));
    report.masses.push_back(mass);
  }
  report.history = file.reals("history", 0, most);
  report.deltas = file.reals("deltas", 0, most);
  const vector_source stored = file.vectors(spin_colours * count);
  for (int i = 0; i < count; ++i)
    solutions.x.push_back(solver.import_vectors(spin_colours, 0, part_of(stored, spin_colours * i)));
  return solutions;
}

}  // namespace

json_document problem_of_modes(const overlap_options& options, const lattice_geometry& geometry) {
  json_document problem;
  add_parameters(problem, {"lattice", "gauge", "seed", "boundary_phases", "stout", "rho", "modes", "mode_tolerance"},
                 options, geometry);
  return problem;
}
json_document problem_of_mode_search(const overlap_options& options, const lattice_geometry& geometry) {
  json_document problem = problem_of_modes(options, geometry);
  add_parameters(problem, {"mode_method", "filter_window", "filter_degree", "mode_block", "search_space", "range"},
                 options, geometry);
  return problem;
}
json_document problem_of_overlap(const overlap_options& options, const lattice_geometry& geometry) {
  json_document problem = problem_of_modes(options, geometry);
  add_parameters(problem, {"sign", "degree", "poles", "range", "overlap_modes", "overlap_mode_tolerance"}, options,
                 geometry);
  return problem;
}
json_document problem_of_overlap_search(const overlap_options& options, const lattice_geometry& geometry) {
  json_document problem = problem_of_overlap(options, geometry);
  add_parameters(problem, {"overlap_mode_block"}, options, geometry);
  return problem;
}
json_document problem_of_scheme(const overlap_options& options, const lattice_geometry& geometry) {
  json_document problem = problem_of_solutions(options, geometry);
  problem["modes_of_other_schemes"] = options.modes_of_other_schemes;
  json_document preconditioner = parameters_of(options, geometry)["preconditioner"];
  for (const char* key : {"batch", "method", "recycle"}) preconditioner.erase(key);  // they change no count
  problem["preconditioner"] = preconditioner;
  return problem;
}
json_document problem_of_solutions(const overlap_options& options, const lattice_geometry& geometry) {
  json_document problem = problem_of_overlap(options, geometry);
  add_parameters(problem, {"masses", "tolerance", "source", "source_position", "smearing_radius", "smearing_steps"},
                 options, geometry);
  return problem;
}

value_format<kernel_modes> format_of_modes(const overlap_options& options, overlap_solver& solver) {
  return {[](const kernel_modes& modes) {
            return kept_value{{{"record", to_json(modes)}, {"lowest_of_rest", modes.lowest_of_rest}},
                              count(modes.vectors),
                              vectors_of(modes.vectors)};
          },
          [&](const kept_content& file) { return modes_from(file, options, solver); }};
}
value_format<search_snapshot<mode_search_state>> format_of_mode_search(const overlap_options& options,
                                                                       overlap_solver& solver) {
  return {[](const search_snapshot<mode_search_state>& snapshot) {
            const mode_search_state& s = snapshot.state;
            json_document state = to_state(s.restart);
            state.update({{"highest", s.highest},
                          {"window", s.window},
                          {"degree", s.degree},
                          {"block", s.block},
                          {"keep", s.keep},
                          {"most", s.most},
                          {"cycles", s.cycles},
                          {"widened", s.widened},
                          {"raised", s.raised}});
            return kept_value{state, count(snapshot.basis), vectors_of(snapshot.basis)};
          },
          [&](const kept_content& file) { return mode_search_from(file, options, solver); }};
}
value_format<overlap_modes> format_of_overlap(const overlap_options& options, overlap_solver& solver) {
  return {overlap_to_file, [&](const kept_content& file) { return overlap_from(file, options, solver); }};
}
value_format<search_snapshot<overlap_search_state>> format_of_overlap_search(const overlap_options& options,
                                                                             overlap_solver& solver) {
  return {[](const search_snapshot<overlap_search_state>& snapshot) {
            json_document state = to_state(snapshot.state.restart);
            state["chirality"] = snapshot.state.chirality;
            return kept_value{state, count(snapshot.basis), vectors_of(snapshot.basis)};
          },
          [&](const kept_content& file) { return overlap_search_from(file, options, solver); }};
}
value_format<overlap_solutions> format_of_solutions(const overlap_options& options, overlap_solver& solver) {
  return {solutions_to_file, [&](const kept_content& file) { return solutions_from(file, options, solver); }};
}

void note_unfinished_files(const app_run& run, const overlap_options& options) {
  const std::string path = options.stopped_file();
  if (path.empty() || !run.is_root()) return;
  std::vector<std::string> outputs{options.shared.json};
  for (std::size_t i = 0; i < options.masses.size(); ++i)
    outputs.push_back(options.propagator_file(static_cast<int>(i)));
  write_file_atomically(path, checkpoint_text({{"unfinished_files", absolute_paths(outputs)}}), existing_file::replace);
}

}  // namespace plaquette
