// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The eigenvectors of H with the smallest |eigenvalues|, from a solver for H and vectors that are rich in them. A few
/// solves tell how close to zero the spectrum comes. For modes to many digits see hermitian_modes.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "common/eigen/hermitian_modes.hpp"

namespace plaquette {

/// Orthonormal, |values| ascending. |residuals| bound the distance of each value to the nearest eigenvalue.
template <class Field>
struct inverse_mode_set {
  Field vectors;
  std::vector<double> values, residuals;  ///< <v, H v>, |H v - value v|
};

/// Applies Rayleigh-Ritz in the space of v, H^-1 v, ..., H^-steps v. Of n steps on p columns the n p lowest modes
/// profit.
/// \param inverse  inverse(x, b): x = about H^-1 b. Two digits are enough: what a solve leaves is an error of the
///                 space, and not of the values in it
/// \param start    of `block` columns: random vectors, say; changed
/// \param count    modes to return, at most block * (steps + 1)
template <field_batch Field, class H, class Inverse>
inverse_mode_set<Field> modes_by_inverse(const H& h, const Inverse& inverse, Field& start, int steps, int count,
                                         const random_fill<Field>& fill) {
  const int block = start.columns(), all = block * (steps + 1);
  if (steps < 1 || count < 1 || count > all)
    throw input_error("modes by the inverse: expected at most " + std::to_string(all) + " modes of " +
                      std::to_string(steps) + " steps, found " + std::to_string(count));
  Field basis = like(start, all);
  orthonormalise(start, fill);
  Field first = view(basis, 0, block);
  copy(first, start);
  for (int step = 1; step <= steps; ++step) {
    Field next = view(basis, step * block, block);
    inverse(next, view(basis, (step - 1) * block, block));
    orthogonalise(view(basis, 0, step * block), next, fill);
  }
  inverse_mode_set<Field> found{like(start, count), {}, {}};
  // Residuals are not small here, so none of them marks a pair of +-lambda that was cut.
  constexpr double any_residual = std::numeric_limits<double>::max();
  const host_matrix squared = detail::square_in_basis(h, basis, block);
  detail::rayleigh_ritz(h, basis, all, count, any_residual, block, squared, found.values, found.residuals);
  copy(found.vectors, view(basis, 0, count));
  return found;
}

/// Returns the `count` combinations of V's columns, which need not be orthonormal, with the smallest |H v| / |v|:
/// orthonormal. Fewer where fewer are independent.
template <field_batch Field, class H>
Field lowest_in_span(const H& h, const Field& v, int count) {
  Field hv = like(v);
  h.apply(hv, v);
  // H^2 x = mu G x with the Gram matrix G. Directions in which G vanishes are rounding.
  const host_matrix to_span = independent_directions(overlaps(v, v), 1e-5);
  const host_matrix squared = adjoint_product(to_span, product(overlaps(hv, hv), to_span));
  const hermitian_eigenpairs pairs = eigenpairs_of_hermitian(hermitian_part(squared));  // ascending
  std::vector<int> first(static_cast<std::size_t>(std::min(count, to_span.columns())));
  std::iota(first.begin(), first.end(), 0);
  Field lowest = like(v, static_cast<int>(first.size()));
  combine(lowest, v, product(to_span, columns_of(pairs.vectors, first)).numbers());
  return lowest;
}

}  // namespace plaquette
