// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Meson correlators at zero momentum from a propagator on the device. Sums are in a fixed order: the same bits run
/// after run. The CPU library's are in another one, and agree to rounding.
#pragma once

#include <vector>

#include "common/algebra/gamma.hpp"
#include "common/lattice/correlator.hpp"
#include "gpu/fields/field.hpp"

namespace plaquette::gpu {

/// Returns C(t) = sum over x of Re tr [ Gamma S(x,t) Gamma gamma_5 S(x,t)^+ gamma_5 ] for each time t of the whole
/// lattice. This is the meson with Gamma at source and sink, where the antiquark's propagator is gamma_5 S^+ gamma_5.
/// Collective; waits. Throws input_error for a batch that is not a propagator: 12 columns of 4 spins and 3 colours, all
/// sites; or for another kind of Gamma.
/// \param s      column 3 * (source spin) + (source colour) holds S(x) b of that source
/// \param gamma  DeGrand-Rossi basis, with one entry in each row and column, as products of gamma matrices are
std::vector<double> meson_correlator(const field<double>& s, const spin_matrix& gamma);

/// Returns the correlator for Gamma = gamma_5: sum of |S|^2 over space, spins and colours.
std::vector<double> pion_correlator(const field<double>& s);

/// Returns the correlator for Gamma = gamma_i, averaged over i = x, y, z. Positive.
std::vector<double> rho_correlator(const field<double>& s);

}  // namespace plaquette::gpu
