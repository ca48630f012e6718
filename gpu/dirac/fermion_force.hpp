// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Forces of Wilson-clover quarks on momenta, on the device. common/operators/fermion_force.hpp has the formulas,
/// common/gauge/force.hpp the conventions of momenta.
///
/// X and Y are fields of Dirac spinors on all sites, with equally many columns, over which the action is summed. The
/// weight of a column is in its X. All functions throw input_error if lattices, shapes or columns do not fit, and all
/// but `clear` are collective.
#pragma once

#include "common/operators/fermion_force.hpp"
#include "gpu/dirac/clover_term.hpp"
#include "gpu/fields/field.hpp"
#include "gpu/gauge/gauge_force.hpp"

namespace plaquette::gpu {

/// Six matrices a site: Z_munu(x) of the planes by their plane_number. Undefined contents at first.
using leaf_field = matrix_field<planes>;

/// Sets all leaves to zero.
void clear(leaf_field& z);

/// Adds step dA/dt of the hops in an action with dS = -2 Re Y^+ (-dD / 2) X over all sites. The bits of one rank on any
/// process grid, and no order of additions that depends on time.
void add_hopping_force(gauge_momenta& momenta, const gauge_configuration& links, const fermion_action& action,
                       const field<double>& x, const field<double>& y, double step);

/// Adds `factor` times the leaves of the clover term in an action with dS = -2 Re Y^+ dA X over all sites.
void add_leaves(leaf_field& z, const fermion_action& action, const field<double>& x, const field<double>& y,
                double factor);

/// Adds `factor` times the leaves of S = -2 log det A, A the blocks of the sites of one parity: two flavours.
/// \param inverse_of_a  A^-1, at least of the sites of that parity
/// \param parity        0 even, 1 odd
void add_determinant_leaves(leaf_field& z, const fermion_action& action, const clover_configuration& inverse_of_a,
                            int parity, double factor);

/// Adds step dA/dt of all leaves. The bits of one rank on any process grid.
void add_clover_force(gauge_momenta& momenta, const gauge_configuration& links, const leaf_field& z, double step);

/// Returns the sum of ln det A(x) over the sites of one parity. Throws input_error on every rank, naming the first site
/// by its global coordinate, if a block is singular or its determinant is negative. Waits.
double log_determinant(const clover_configuration& a, int parity);

/// Returns ln det A of `after` minus ln det A of `before`, summed as differences site by site. Throws as
/// log_determinant does. Waits.
double log_determinant_difference(const clover_configuration& after, const clover_configuration& before, int parity);

}  // namespace plaquette::gpu
