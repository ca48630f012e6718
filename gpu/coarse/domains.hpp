// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The domains of Schwarz's procedure (common/multigrid/schwarz.hpp), on the lattice of quarks and on coarse ones. The
/// twin of cpu_ref/coarse/domains.hpp.
#pragma once

#include "common/multigrid/schwarz.hpp"
#include "common/operators/domains.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/coarse/coarse_operator.hpp"
#include "gpu/dirac/wilson_clover.hpp"

namespace plaquette::gpu {

/// Of fields on even sites. Inside is the Schur complement of M without the hops between domains; the site-diagonal
/// part is the same as in M.
/// \param links  the links that `a` was made of
/// \param shape  divides the lattice of a rank
template <class T>
schwarz_domains<field<T>> fine_domains(const schur_wilson_clover<T>& a, const gauge_configuration& links,
                                       const extents& shape);
/// Returns the same for a coarse operator, whose red-black fields these are.
schwarz_domains<coarse_field<float>> coarse_domains(const coarse_matrices& m, const extents& shape,
                                                    coarse_storage storage);

}  // namespace plaquette::gpu
