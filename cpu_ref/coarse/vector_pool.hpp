// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A pool of null vectors, on each aggregate and chirality the leading ones of all that were put into it.
#pragma once

#include <span>
#include <vector>

#include "common/operators/coarse_matrices.hpp"
#include "cpu_ref/execution.hpp"

namespace plaquette::cpu {

/// Singular values that belong to the vectors of a null space: [coarse site][chirality][vector], descending.
struct singular_values {
  int vectors = 0;
  std::vector<double> numbers;
  int rank = 0;  ///< the most of an aggregate that are not zero

  const double* of(std::int64_t task) const { return numbers.data() + task * vectors; }
};

/// Each aggregate and chirality gets, in place of its vectors, the leading left singular vectors of a pool. The pool
/// holds the kept vectors, which are orthonormal, times their singular values, and the new vectors times weights.
/// Leading vectors have length 1; missing ones are zero. Collective.
/// \param kept     null: nothing yet
/// \param fresh    new vectors, not orthonormal; becomes the leading vectors of the pool, as many
/// \param weights  one a new vector
singular_values take_leading_vectors(const null_space* kept, const singular_values& of_kept, null_space& fresh,
                                     std::span<const double> weights, const execution& on);

}  // namespace plaquette::cpu
