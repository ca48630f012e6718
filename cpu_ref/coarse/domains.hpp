// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The domains of Schwarz's procedure (common/multigrid/schwarz.hpp), on the lattice of quarks and on coarse ones.
#pragma once

#include "common/multigrid/schwarz.hpp"
#include "common/operators/domains.hpp"
#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/coarse/coarse_operator.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"

namespace plaquette::cpu {

/// Of fields on even sites. Inside is the Schur complement of M without the hops between domains; the site-diagonal
/// part is the same as in M.
/// \param links  the links that `a` was made of
/// \param shape  divides the lattice of a rank
template <class T>
schwarz_domains<field<T>> fine_domains(const schur_wilson_clover<T>& a, const gauge_configuration& links,
                                       const extents& shape);
/// Returns the same for a coarse operator, whose red-black fields these are.
schwarz_domains<coarse_field<float>> coarse_domains(const execution& on, const coarse_matrices& m,
                                                    const extents& shape);

}  // namespace plaquette::cpu
