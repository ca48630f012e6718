// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The report for a person.
#pragma once

#include "common/app/report.hpp"
#include "miniapps/dslash-scaling/scaling_options.hpp"
#include "miniapps/dslash-scaling/work_estimate.hpp"

namespace plaquette::scaling {

void print_machine(const report& r);
void print_problem(const scaling_options& options, const lattice_geometry& geometry);
void print_memory(const memory_estimate& memory);
/// For --dryrun: the work of one application of every case.
void print_work(const scaling_options& options, const lattice_geometry& geometry);
void print_figure_header(bool halo, bool gpu);
void print_figure(const operator_figure& figure);
void print_verdict(const report& r);

}  // namespace plaquette::scaling
