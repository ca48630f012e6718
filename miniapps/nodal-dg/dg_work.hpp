// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flops and bytes of a stage.
#pragma once

#include "common/dg/dg_solver.hpp"
#include "miniapps/shared/machine_model.hpp"

namespace plaquette::nodal_dg {

/// Flops of one element and stage by the counts of the gpuDG page (MIDG2): volume, surface, update. Flops of acoustics,
/// which the page does not print, and of two dimensions are counted the same way. That is a product of a matrix with
/// each field and derivative, whatever a kernel saves.
struct standard_flops {
  double volume, surface, update;
  double total() const { return volume + surface + update; }
};
standard_flops standard_flops_of(const dg_domain& domain);

/// Returns the flops that are left in the matrix products when the geometry is taken first: the fewest that this suite
/// knows.
double fewest_flops_of(const dg_domain& domain);

/// Returns the bytes of one element and stage at least: state and register read and written once.
double fewest_bytes_of(const dg_domain& domain, double bytes_a_number);

/// Returns the time of a Runge-Kutta stage on a machine of which only the figures are known. Each rank has `elements`
/// of a compact part of the mesh.
/// \param domain  of the same order and equations
kernel_time time_of_stage(const machine_figures& machine, const dg_domain& domain, double elements, int ranks,
                          bool is_double, int states, bool overlap);

}  // namespace plaquette::nodal_dg
