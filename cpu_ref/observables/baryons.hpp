// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Baryon correlators from propagators.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "common/algebra/gamma.hpp"
#include "common/comms/communicator.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu {

/// Returns C(p, t) = sum over x of exp(-i p x) tr [ P N(x,t) Nbar(0) ], P = (1 + parity gamma_t) / 2, for the proton N
/// = epsilon_abc (u_a^T C gamma_5 d_b) u_c, C = gamma_y gamma_t and Nbar = N^+ gamma_t. (Gattringer, Lang, Quantum
/// Chromodynamics on the Lattice, section 6.1; signs in baryons.cpp.) The state of this parity runs forwards in time
/// with a positive correlator. Its partner of the other parity runs backwards. Rounds as meson correlators do. Throws
/// input_error unless there are twelve columns of each quark. Collective.
/// \param up, down  propagators of the two flavours from one source, as in correlators.hpp; the same for equal masses
/// \param parity    +1 or -1
std::vector<complex<double>> nucleon_correlator(std::span<const spinor_configuration> up,
                                                std::span<const spinor_configuration> down, int parity,
                                                const std::array<int, 3>& momentum, const communicator& comm);

}  // namespace plaquette::cpu
