// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The Galerkin product P^+ M P: the operator of the coarser lattice.
#pragma once

#include "common/lattice/fermion_action.hpp"
#include "common/lattice/site_field.hpp"
#include "common/operators/coarse_matrices.hpp"
#include "cpu_ref/execution.hpp"

namespace plaquette::cpu {

/// Returns P^+ M P of the Wilson-clover operator. Of each hop the forward half is made; the backward one follows, since
/// P commutes with gamma_5: Y_-mu(X + mu) = gamma_5 Y_mu(X)^+ gamma_5. A hop that leaves an aggregate, be it around the
/// lattice and back into the same, is a link of the coarse lattice. Collective.
/// \param links  with ghosts filled
coarse_matrices galerkin_product(const execution& on, const gauge_configuration& links, const fermion_action& action,
                                 const null_space& vectors);
/// Returns the same for a coarse operator.
coarse_matrices galerkin_product(const execution& on, const coarse_matrices& fine, const null_space& vectors);

}  // namespace plaquette::cpu
