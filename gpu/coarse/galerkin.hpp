// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The Galerkin product P^+ M P on the device: the operator of the coarser lattice. The twin of
/// cpu_ref/coarse/galerkin.hpp.
#pragma once

#include "common/lattice/fermion_action.hpp"
#include "gpu/coarse/coarse_matrices.hpp"
#include "gpu/gauge/gauge_fields.hpp"

namespace plaquette::gpu {

/// Returns P^+ M P of the Wilson-clover operator. Of each hop the forward half is made; the backward one follows, since
/// P commutes with gamma_5: Y_-mu(X + mu) = gamma_5 Y_mu(X)^+ gamma_5. A hop that leaves an aggregate, be it around the
/// lattice and back into the same, is a link of the coarse lattice. Collective.
coarse_matrices galerkin_product(const gauge_configuration& links, const fermion_action& action,
                                 const null_space& vectors);
/// Returns the same for a coarse operator.
coarse_matrices galerkin_product(const coarse_matrices& fine, const null_space& vectors);

}  // namespace plaquette::gpu
