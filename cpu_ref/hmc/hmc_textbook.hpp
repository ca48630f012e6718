// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The parts of a hybrid Monte Carlo as the papers have them, on the canonical fields of the host. They are loops over
/// all sites, without even-odd tricks. What a device did is judged by the functions of this file.
/// common/hmc/hybrid_action.hpp has the action and its names.
#pragma once

#include <array>
#include <cstdint>

#include "common/comms/communicator.hpp"
#include "common/hmc/hybrid_action.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu::textbook {

/// Returns S(after) - S(before) of the gauge action, from its plaquettes and rectangles. Ghosts filled. Collective.
double gauge_action_change(const gauge_configuration& after, const gauge_configuration& before,
                           const loop_action& action, const communicator& comm);

/// Returns the momenta A = sum_k i a_k T_k, T_k = lambda_k / 2, of a trajectory: a_k normal of variance 1. Collective.
gauge_configuration momenta(const lattice_geometry& geometry, std::uint64_t seed, std::uint64_t trajectory,
                            const communicator& comm);

/// Returns K(after) - K(before), K = -sum tr A^2. Collective.
double kinetic_change(const gauge_configuration& after, const gauge_configuration& before, const communicator& comm);

/// Returns ln det A_oo (after) - ln det A_oo (before). Ghosts filled. Collective.
double log_determinant_change(const gauge_configuration& after, const gauge_configuration& before,
                              const fermion_action& action, const communicator& comm);

/// Returns gamma_5 psi on even sites, zero on odd ones: the right-hand side of (Mhat + i mu gamma_5) Z = gamma_5 psi.
spinor_configuration gamma5_of_even(const spinor_configuration& psi);

/// Returns |M z + i mu gamma_5 z_e - r| / |r|: whether z_e = (Mhat + i mu gamma_5)^-1 r_e. The parts of r on odd sites
/// are zero. Collective: the ghosts of z are refreshed.
/// \param daggered  M^+ z - i mu gamma_5 z_e in place of it
double even_system_residual(spinor_configuration& z, const spinor_configuration& r, const gauge_configuration& links,
                            const fermion_action& action, double mu, bool daggered, const communicator& comm);

/// Returns |after_e|^2 - |before_e|^2 of the even sites, summed as differences. Collective.
double even_norm_change(const spinor_configuration& after, const spinor_configuration& before,
                        const communicator& comm);

/// The derivatives of an action along U -> exp(e i T_k) U of one link. As dA/dt = i f_k T_k and dS/dt = -sum_k f_k a_k,
/// they are the -f_k.
using link_derivatives = std::array<double, 8>;

/// Returns the f_k of a matrix i f_k T_k: a force that a device has computed.
link_derivatives components(const su3<double>& force);

/// Returns the derivatives of the gauge action. Collective.
/// \param at  global coordinate of the link
link_derivatives gauge_derivatives(const coordinate& at, int mu, const gauge_configuration& links,
                                   const loop_action& action, const communicator& comm);

/// Returns those of -2 Re y^+ M(U) x at fixed x and y, summed over all sites: of the action of a pseudofermion.
/// Collective.
link_derivatives quark_derivatives(const coordinate& at, int mu, const gauge_configuration& links,
                                   const spinor_configuration& x, const spinor_configuration& y,
                                   const fermion_action& action, const communicator& comm);

/// Returns those of -2 ln det A_oo. Collective.
link_derivatives determinant_derivatives(const coordinate& at, int mu, const gauge_configuration& links,
                                         const fermion_action& action, const communicator& comm);

}  // namespace plaquette::cpu::textbook
