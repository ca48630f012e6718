// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Meson correlators from a propagator.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "common/algebra/gamma.hpp"
#include "common/comms/communicator.hpp"
#include "common/lattice/correlator.hpp"
#include "common/lattice/meson_gammas.hpp"
#include "common/lattice/propagator.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu {

using plaquette::propagator;

/// Throws input_error unless there are twelve columns, on one lattice and process grid.
void require_propagator(std::span<const spinor_configuration> columns);

/// Returns C(t) = sum over x of Re tr [ Gamma S(x,t) Gamma gamma_5 S(x,t)^+ gamma_5 ] for each time t of the whole
/// lattice. This is the meson with Gamma at source and sink, where the antiquark's propagator is gamma_5 S^+ gamma_5.
/// The same bits for any number of threads; process grids agree to rounding. Throws input_error unless there are twelve
/// columns. Collective.
/// \param gamma  with one entry in each row and column, as products of gamma matrices are
std::vector<double> meson_correlator(std::span<const spinor_configuration> columns, const spin_matrix& gamma,
                                     const communicator& comm);

/// Returns C(p, t) = sum over x of exp(-i p x) tr [ Gamma S(x,t) Gamma' gamma_5 S(x,t)^+ gamma_5 ], p_i = 2 pi
/// momentum[i] / L_i, for Gamma at the sink and Gamma' at the source. For p = 0 and Gamma' = Gamma its real part is
/// `meson_correlator`. Throws and rounds as that does. Collective.
/// \param direction  along which the correlator runs, t = 3; the momentum belongs to the three others, in this order
std::vector<complex<double>> momentum_correlator(std::span<const spinor_configuration> columns,
                                                 const meson_gammas& gammas, const std::array<int, 3>& momentum,
                                                 const communicator& comm, int direction = 3);

/// Returns the correlator for Gamma = gamma_5: sum of |S|^2 over space, spins and colours.
std::vector<double> pion_correlator(std::span<const spinor_configuration> columns, const communicator& comm);

/// Returns the correlator for Gamma = gamma_i, averaged over i = x, y, z. Positive.
std::vector<double> rho_correlator(std::span<const spinor_configuration> columns, const communicator& comm);

using plaquette::relative_to_source;

}  // namespace plaquette::cpu
