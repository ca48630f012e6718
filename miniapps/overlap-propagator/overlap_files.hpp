// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Formats of the files that keep the results of stages; and the options that a file belongs to.
#pragma once

#include "common/app/resumable.hpp"
#include "common/solvers/overlap_solver.hpp"
#include "miniapps/overlap-propagator/overlap_options.hpp"
#include "miniapps/shared/app_run.hpp"

namespace plaquette {

/// The options that determine the result of a stage.
json_document problem_of_modes(const overlap_options& options, const lattice_geometry& geometry);
json_document problem_of_mode_search(const overlap_options& options, const lattice_geometry& geometry);
json_document problem_of_overlap(const overlap_options& options, const lattice_geometry& geometry);
json_document problem_of_overlap_search(const overlap_options& options, const lattice_geometry& geometry);
json_document problem_of_scheme(const overlap_options& options, const lattice_geometry& geometry);
json_document problem_of_solutions(const overlap_options& options, const lattice_geometry& geometry);

/// Formats hold references to their arguments. Reading a file throws input_error, naming it, if a number does not fit
/// the options.
value_format<kernel_modes> format_of_modes(const overlap_options& options, overlap_solver& solver);
value_format<search_snapshot<mode_search_state>> format_of_mode_search(const overlap_options& options,
                                                                       overlap_solver& solver);
value_format<overlap_modes> format_of_overlap(const overlap_options& options, overlap_solver& solver);
value_format<search_snapshot<overlap_search_state>> format_of_overlap_search(const overlap_options& options,
                                                                             overlap_solver& solver);
value_format<overlap_solutions> format_of_solutions(const overlap_options& options, overlap_solver& solver);

/// Notes in a file which outputs a run may leave before it has ended: one that goes on replaces them.
void note_unfinished_files(const app_run& run, const overlap_options& options);

}  // namespace plaquette
