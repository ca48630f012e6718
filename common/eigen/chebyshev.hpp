// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Chebyshev polynomials of any Hermitian operator. Those of H^2, in steps that an H offers, are in squared_map.hpp.
#pragma once

#include <utility>

#include "common/krylov/batch.hpp"

#include "common/concepts.hpp"

namespace plaquette {

/// Replaces v by T_d(z(A)) v, z(e) = (2 e - highest - lowest) / (highest - lowest): what lies below `lowest` grows. d
/// applications of A.
/// \param apply    apply(out, in) is A, Hermitian, with eigenvalues up to `highest`
/// \param degree   d, 1 or more
template <field_batch Field, class Apply>
void apply_chebyshev(const Apply& apply, Field& v, int degree, double lowest, double highest) {
  const double slope = 2.0 / (highest - lowest), shift = -(highest + lowest) / (highest - lowest);
  Field before = like(v), now = like(v), next = like(v);
  copy(before, v);
  apply(now, before);
  scale(now, uniform_scalars(now, slope));
  axpy(now, uniform_scalars(now, shift), before);
  for (int k = 2; k <= degree; ++k) {  // T_k v = 2 z T_k-1 v - T_k-2 v
    apply(next, now);
    scale(next, uniform_scalars(next, 2.0 * slope));
    axpy_pair(next, uniform_scalars(next, 2.0 * shift), now, uniform_scalars(next, -1.0), before);
    std::swap(before, now);
    std::swap(now, next);
  }
  copy(v, now);
}

}  // namespace plaquette
