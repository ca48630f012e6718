// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A pool of null vectors on the device. The twin of cpu_ref/coarse/vector_pool.hpp.
#pragma once

#include <memory>
#include <span>

#include "gpu/coarse/coarse_matrices.hpp"

namespace plaquette::gpu {

/// Singular values that belong to the vectors of a null space: [coarse site][chirality][vector], descending.
struct singular_values {
  int vectors = 0;
  std::shared_ptr<const double> numbers = nullptr;  ///< of the device
  int rank = 0;                                     ///< the most of an aggregate that are not zero
};

/// Each aggregate and chirality gets, in place of its vectors, the leading left singular vectors of a pool. The pool
/// holds the kept vectors, which are orthonormal, times their singular values, and the new vectors times weights.
/// Leading vectors have length 1; missing ones are zero. Collective; waits.
/// \param kept     null: nothing yet
/// \param fresh    new vectors, not orthonormal; becomes the leading vectors of the pool, as many
/// \param weights  one a new vector
singular_values take_leading_vectors(const null_space* kept, const singular_values& of_kept, null_space& fresh,
                                     std::span<const double> weights);

}  // namespace plaquette::gpu
