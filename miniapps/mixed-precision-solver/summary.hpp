// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Prints a run for a person on stdout. All of it for the one rank that talks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/app/report.hpp"
#include "miniapps/mixed-precision-solver/propagator_solve.hpp"
#include "miniapps/mixed-precision-solver/solver_options.hpp"
#include "miniapps/mixed-precision-solver/work_estimate.hpp"
#include "miniapps/shared/gauge_input.hpp"

namespace plaquette {

void print_problem(const solver_options& options, const lattice_geometry& geometry);
/// Returns the lines of --dryrun on the work, in addition to the memory (run_estimate::lines).
std::vector<std::pair<std::string, std::string>> lines_of(const solver_options& options, const work_estimate& work);
/// Returns the text of --dryrun on the time on a machine that is known.
std::string text_of_seconds(const solver_options& options, const solve_times& times);
void print_columns(const std::vector<column_result>& columns);
void print_timing(const report& r);

}  // namespace plaquette
