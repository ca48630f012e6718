// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Meson correlators from a propagator on the device. Sums are in a fixed order: the same bits run
/// after run. The CPU library's are in another one, and agree to rounding.
#pragma once

#include <vector>

#include "common/algebra/gamma.hpp"
#include "common/lattice/correlator.hpp"
#include "common/lattice/meson_gammas.hpp"
#include "common/lattice/momentum_phase.hpp"
#include "gpu/fields/field.hpp"

namespace plaquette::gpu {

/// Throws input_error for a batch that is not a propagator: 12 columns of 4 spins and 3 colours, all sites.
void require_propagator(const field<double>& s);

/// Returns C(t) = sum over x of Re tr [ Gamma S(x,t) Gamma gamma_5 S(x,t)^+ gamma_5 ] for each time t of the whole
/// lattice. This is the meson with Gamma at source and sink, where the antiquark's propagator is gamma_5 S^+ gamma_5.
/// Collective; waits. Throws input_error for a batch that is not a propagator: 12 columns of 4 spins and 3 colours, all
/// sites; or for another kind of Gamma.
/// \param s      column 3 * (source spin) + (source colour) holds S(x) b of that source
/// \param gamma  DeGrand-Rossi basis, with one entry in each row and column, as products of gamma matrices are
std::vector<double> meson_correlator(const field<double>& s, const spin_matrix& gamma);

/// Returns C(p, t) = sum over x of exp(-i p x) tr [ Gamma S(x,t) Gamma' gamma_5 S(x,t)^+ gamma_5 ], p_i = 2 pi
/// momentum[i] / L_i, for Gamma at the sink and Gamma' at the source. Collective; waits. Throws as `meson_correlator`,
/// and for a direction that is not 0 to 3.
/// \param direction  along which the correlator runs, t = 3; the momentum belongs to the three others, in this order
std::vector<complex<double>> momentum_correlator(const field<double>& s, const meson_gammas& gammas,
                                                 const lattice_momentum& momentum, int direction = 3);

/// Returns the correlator for Gamma = gamma_5: sum of |S|^2 over space, spins and colours.
std::vector<double> pion_correlator(const field<double>& s);

/// Returns the correlator for Gamma = gamma_i, averaged over i = x, y, z. Positive.
std::vector<double> rho_correlator(const field<double>& s);

}  // namespace plaquette::gpu
