// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The Wilson operator as the paper has it: R. Babich, M. A. Clark, B. Joo, SC10, eq. (2), without its clover term A.
/// Loops over all indices, double precision, no even-odd ordering, no tricks: it is read, and others are checked with
/// it.
#pragma once

#include "common/lattice/fermion_action.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu::textbook {

/// Returns one hop: c_mu (1 - s gamma_mu) U psi(y), where y = x + s mu for s = sign = +1 (forward, U = U_mu(x)) or -1
/// (backward, U = U_mu(x-mu)^+). A hop across the lattice's boundary takes action.boundary_phase (forward) or its
/// conjugate. For the adjoint operator the spin matrix is (1 + s gamma_mu) instead.
/// \param x      local coordinate of a site of this rank
/// \param psi    with ghosts filled
/// \param links  with ghosts filled
spinor<double> hop(const coordinate& x, int mu, int sign, const spinor_configuration& psi,
                   const gauge_configuration& links, const fermion_action& action, bool dagger);

/// Returns (M psi)(x) without the clover term: (1 + 3 nu/xi0 + m) psi(x) minus half the sum of the eight hops.
spinor<double> wilson_at_site(const coordinate& x, const spinor_configuration& psi, const gauge_configuration& links,
                              const fermion_action& action, bool dagger = false);

}  // namespace plaquette::cpu::textbook
