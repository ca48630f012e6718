// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The Wilson-clover operator M = (4 + m + C) - D/2 as the paper has it: R. Babich, M. A. Clark, B. Joo, SC10, eq. (2),
/// where C is called A; anisotropic where the action is. The oracle: whatever computes M or solves M x = b in this
/// suite is judged by the functions of this file.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "common/comms/communicator.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu::textbook {

/// Returns Fhat_munu(x) = (Q - Q^+) / 8, anti-Hermitian, its trace kept. Q is the sum of the four plaquettes of the
/// plane (mu, nu) that start and end at x and turn from mu to nu.
/// \param links  with ghosts filled
su3<double> field_strength(const coordinate& x, int mu, int nu, const gauge_configuration& links);

/// The planes (mu, nu), mu < nu, of a lattice.
inline constexpr std::array<std::array<int, 2>, 6> planes{{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}};
/// Fhat_munu of one site, a matrix a plane.
using field_strengths = std::array<su3<double>, planes.size()>;

/// Returns Fhat_munu(x) of all planes. One set serves any number of spinors.
/// \param links  with ghosts filled
field_strengths field_strengths_at(const coordinate& x, const gauge_configuration& links);

/// Returns (C psi)(x) = -1/2 sum_{mu<nu} c_munu sigma_munu (-i Fhat_munu(x)) psi(x), sigma_munu = (i/2) [gamma_mu,
/// gamma_nu].
/// \param psi  the spinor at x
spinor<double> clover_at_site(const spinor<double>& psi, const field_strengths& f, const fermion_action& action);
/// The same at the site x of a field. The ghosts of `links` are filled.
spinor<double> clover_at_site(const coordinate& x, const spinor_configuration& psi, const gauge_configuration& links,
                              const fermion_action& action);

/// Returns (M psi)(x), or (M^+ psi)(x), at one site given by its local coordinate: for checks of a few sites of a big
/// lattice.
/// \param psi    with ghosts filled
/// \param links  with ghosts filled
spinor<double> at_site(const coordinate& x, const spinor_configuration& psi, const gauge_configuration& links,
                       const fermion_action& action, bool dagger = false);

/// Computes out = M in, or M^+ in. Collective: the ghosts of `in` are refreshed.
/// \param links  with ghosts filled; throws std::logic_error if they are not
void apply(spinor_configuration& out, spinor_configuration& in, const gauge_configuration& links,
           const fermion_action& action, const communicator& comm, bool dagger = false);

/// Returns |b - M x| / |b| of the full system, recomputed here whatever found x. The same bits for any number of
/// threads, and to rounding for any process grid; NaN if a field holds one. For b = 0: 0 if M x = 0, infinite
/// otherwise. Collective: the ghosts of x are refreshed.
/// \param links  with ghosts filled; throws std::logic_error if they are not
double relative_residual(const spinor_configuration& b, spinor_configuration& x, const gauge_configuration& links,
                         const fermion_action& action, const communicator& comm);

/// Returns |b - M x| / |b| of several columns with the same links. The clover leaves of a site are computed once for
/// four columns: twelve columns take a third of the time of twelve calls.
/// \param b  sources
/// \param x  as many solutions
std::vector<double> relative_residuals(std::span<const spinor_configuration> b, std::span<spinor_configuration> x,
                                       const gauge_configuration& links, const fermion_action& action,
                                       const communicator& comm);

}  // namespace plaquette::cpu::textbook
