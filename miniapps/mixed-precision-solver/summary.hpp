// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a person reads on stdout. All of it for the one rank that talks.
#pragma once

#include <vector>

#include "common/app/report.hpp"
#include "miniapps/mixed-precision-solver/propagator_solve.hpp"
#include "miniapps/mixed-precision-solver/solver_options.hpp"
#include "miniapps/mixed-precision-solver/work_estimate.hpp"
#include "miniapps/shared/gauge_input.hpp"

namespace plaquette {

void print_machine(const report& r);
void print_problem(const solver_options& options, const lattice_geometry& geometry);
void print_work(const solver_options& options, const work_estimate& work);
void print_columns(const std::vector<column_result>& columns);
void print_correlators(const std::vector<double>& pion, const std::vector<double>& rho);
void print_timing(const report& r);
/// The checks one by one, then the figure of merit and the verdict as the last two lines.
void print_verdict(const report& r);

}  // namespace plaquette
