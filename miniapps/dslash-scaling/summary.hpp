// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The report for a person.
#pragma once

#include <string>

#include "common/app/report.hpp"
#include "miniapps/dslash-scaling/scaling_options.hpp"
#include "miniapps/dslash-scaling/work_estimate.hpp"

namespace plaquette::scaling {

void print_problem(const scaling_options& options, const lattice_geometry& geometry);
std::string text_of(const memory_estimate& memory);
/// Prints the work of one application of every case, for --dryrun, and its time if the machine is known.
void print_work(const scaling_options& options, const lattice_geometry& geometry,
                const std::optional<machine_figures>& machine);
void print_figure_header(bool halo, bool gpu);
void print_figure(const operator_figure& figure);

}  // namespace plaquette::scaling
