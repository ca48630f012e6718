// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The Wilson-clover operator M = (4 + m + C) - D/2 as the paper has it: R. Babich, M. A. Clark, B. Joo, SC10, eq. (2),
/// where C is called A; anisotropic where the action is. The oracle: whatever computes M or solves M x = b in this
/// suite is judged by the functions of this file.
#pragma once

#include "common/comms/communicator.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu::textbook {

/// Returns Fhat_munu(x) = (Q - Q^+) / 8, anti-Hermitian, its trace kept. Q is the sum of the four plaquettes of the
/// plane (mu, nu) that start and end at x and turn from mu to nu.
/// \param links  with ghosts filled
su3<double> field_strength(const coordinate& x, int mu, int nu, const gauge_configuration& links);

/// Returns (C psi)(x) = -1/2 sum_{mu<nu} c_munu sigma_munu (-i Fhat_munu(x)) psi(x), sigma_munu = (i/2) [gamma_mu,
/// gamma_nu].
spinor<double> clover_at_site(const coordinate& x, const spinor_configuration& psi, const gauge_configuration& links,
                              const fermion_action& action);

/// Returns (M psi)(x), or (M^+ psi)(x), at one site given by its local coordinate: for checks of a few sites of a big
/// lattice.
/// \param psi    with ghosts filled
/// \param links  with ghosts filled
spinor<double> at_site(const coordinate& x, const spinor_configuration& psi, const gauge_configuration& links,
                       const fermion_action& action, bool dagger = false);

/// Computes out = M in, or M^+ in. Collective: the ghosts of `in` are refreshed.
/// \param links  with ghosts filled; throws std::logic_error where they are not
void apply(spinor_configuration& out, spinor_configuration& in, const gauge_configuration& links,
           const fermion_action& action, const communicator& comm, bool dagger = false);

/// Returns |b - M x| / |b| of the full system, recomputed here whatever found x. The same bits for any number of
/// threads, and to rounding for any process grid; NaN where a field holds one. For b = 0: 0 where M x = 0, infinite
/// elsewhere. Collective: the ghosts of x are refreshed.
/// \param links  with ghosts filled; throws std::logic_error where they are not
double relative_residual(const spinor_configuration& b, spinor_configuration& x, const gauge_configuration& links,
                         const fermion_action& action, const communicator& comm);

}  // namespace plaquette::cpu::textbook
