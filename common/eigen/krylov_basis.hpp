// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Orthonormal bases of many vectors. A basis is a batch of columns; what is done to all of it are matrix products.
///
/// A backend offers, found by argument-dependent lookup: inner_products (V^+ W), subtract_combinations (W -= V C),
/// add_combinations (W += V C), combine (out = V Q), and may offer rotate (V <- V Q in place).
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "common/algebra/dense.hpp"
#include "common/krylov/batch.hpp"

namespace plaquette {

/// Returns V^+ W on the host.
template <field_batch Field>
host_matrix overlaps(const Field& v, const Field& w) {
  return {v.columns(), w.columns(), inner_products(v, w)};
}

/// Returns Q, from the Gram matrix V^+ V, such that the columns of V Q are orthonormal and span what V spans.
/// Directions whose eigenvalue is at most `threshold` times the largest are left out: they are rounding.
inline host_matrix independent_directions(const host_matrix& gram, double threshold) {
  const hermitian_eigenpairs pairs = eigenpairs_of_hermitian(hermitian_part(gram));
  std::vector<int> kept;
  std::vector<double> factors;
  for (int i = 0; i < gram.columns(); ++i) {
    const double value = pairs.values[static_cast<std::size_t>(i)];
    if (!(value > threshold * pairs.values.back())) continue;
    kept.push_back(i);
    factors.push_back(1.0 / std::sqrt(value));
  }
  host_matrix directions = columns_of(pairs.vectors, kept);
  scale_columns(directions, factors);
  return directions;
}

/// Returns G^-1/2 of the Gram matrix G = V^+ V: V G^-1/2 is the orthonormal basis that is nearest to V. (Loewdin 1950)
inline host_matrix inverse_root(const host_matrix& gram) {
  const hermitian_eigenpairs pairs = eigenpairs_of_hermitian(hermitian_part(gram));
  host_matrix scaled = pairs.vectors;
  std::vector<double> factors;
  for (const double value : pairs.values) factors.push_back(1.0 / std::sqrt(value));
  scale_columns(scaled, factors);
  return product(scaled, adjoint(pairs.vectors));
}

/// Replaces the first q.columns() columns of V by V Q. Collective.
template <field_batch Field>
void rotate_basis(Field& v, const host_matrix& q) {
  if constexpr (requires { rotate(v, q.numbers(), q.columns()); }) {
    rotate(v, q.numbers(), q.columns());
  } else {
    Field rotated = like(v, q.columns());
    combine(rotated, v, q.numbers());
    Field first = view(v, 0, q.columns());
    copy(first, rotated);
  }
}

/// Computes out = V cyclically: column j becomes the sum of all v_i with i = j modulo out.columns().
template <field_batch Field>
void combine_cyclically(Field& out, const Field& v) {
  host_matrix cyclic(v.columns(), out.columns());
  for (int i = 0; i < v.columns(); ++i) cyclic(i, i % out.columns()) = {1.0, 0.0};
  combine(out, v, cyclic.numbers());
}

/// Fills a batch with random numbers.
template <class Field>
using random_fill = std::function<void(Field&)>;

/// Makes a field of n columns for the basis of a search. It may lie elsewhere than other fields do, in memory of the
/// host, say. Null: like other fields.
template <class Field>
using basis_maker = std::function<Field(int columns)>;

/// Returns the columns [first, first + count) of a basis as a field of its own, which lies where other fields do.
template <field_batch Field>
Field copied_columns(const Field& basis, int first, int count) {
  Field some = like(basis, count);
  copy(some, view(basis, first, count));
  return some;
}

/// What was found when W was made orthonormal: W_before = V c + W_after r.
struct orthogonal_factors {
  host_matrix c, r;
  int replaced = 0;  ///< columns of W that were combinations of the others, and are random vectors now
};

namespace detail {

/// Computes W = W_after R by Cholesky's factor of the Gram matrix; false where that is not positive.
template <field_batch Field>
bool cholesky_orthonormalise(Field& w, host_matrix& r) {
  const auto factor = cholesky_factor(overlaps(w, w));
  if (!factor) return false;
  double least = 1e300, most = 0.0;
  for (int i = 0; i < factor->rows(); ++i) {
    least = std::min(least, (*factor)(i, i).re);
    most = std::max(most, (*factor)(i, i).re);
  }
  if (!(least > 1e-7 * most)) return false;  // its square is at the rounding of the Gram matrix
  Field before = like(w);
  copy(before, w);
  combine(w, before, inverse_of_upper(*factor).numbers());
  r = product(*factor, r);
  return true;
}

/// Does the same column after column; columns that vanish against V and the earlier ones become random vectors.
template <field_batch Field>
int gram_schmidt(const Field& v, Field& w, host_matrix& r, const random_fill<Field>& fill) {
  int replaced = 0;
  const int p = w.columns();
  host_matrix step(p, p);
  for (int j = 0; j < p; ++j) {
    Field column = view(w, j, 1);
    const double start = std::sqrt(host_values(norm2(column))[0].re);
    for (int pass = 0; pass < 2 && j > 0; ++pass) {
      const Field earlier = view(w, 0, j);
      const host_matrix c = overlaps(earlier, column);
      subtract_combinations(column, earlier, c.numbers());
      for (int i = 0; i < j; ++i) step(i, j) += c(i, 0);
    }
    double norm = std::sqrt(host_values(norm2(column))[0].re);
    step(j, j) = {norm, 0.0};
    if (!(norm > 1e-13 * start) || norm == 0.0) {
      ++replaced;
      step(j, j) = {};
      fill(column);
      for (int pass = 0; pass < 3; ++pass) {
        if (v.columns() > 0) subtract_combinations(column, v, inner_products(v, column));
        if (j > 0) {
          const Field earlier = view(w, 0, j);
          subtract_combinations(column, earlier, inner_products(earlier, column));
        }
        norm = std::sqrt(host_values(norm2(column))[0].re);
        scale(column, uniform_scalars(column, 1.0 / norm));
      }
      continue;
    }
    scale(column, uniform_scalars(column, 1.0 / norm));
  }
  r = product(step, r);
  return replaced;
}

}  // namespace detail

/// Makes W orthonormal and orthogonal to the orthonormal V (which may have no columns): block Gram-Schmidt, at least
/// twice, each time with Cholesky QR within the block. A third pass follows where the second still found more than a
/// tenth. (Giraud, Langou, Rozloznik, van den Eshof 2005: twice is enough)
/// \param v       columns orthonormal to rounding
/// \param recent  number of columns of V, the last ones, that the first pass takes; -1: all. In Lanczos' recurrence
///                these hold most of what W has in V, and half of the work is saved.
template <field_batch Field>
orthogonal_factors orthogonalise(const Field& v, Field& w, const random_fill<Field>& fill, int recent = -1) {
  const int k = v.columns(), p = w.columns();
  orthogonal_factors f{host_matrix(k, p), identity_matrix(p)};
  constexpr int most_passes = 4;
  for (int pass = 0; pass < most_passes; ++pass) {
    double found = 0.0;
    const int some = pass == 0 && recent >= 0 ? std::min(recent, k) : k;
    if (some > 0) {
      const Field of_v = view(v, k - some, some);
      const host_matrix c = overlaps(of_v, w);
      subtract_combinations(w, of_v, c.numbers());
      const host_matrix step = product(c, f.r);
      for (int j = 0; j < p; ++j)
        for (int i = 0; i < some; ++i) f.c(k - some + i, j) += step(i, j);
      for (const double norm : column_norms(c)) found = std::max(found, norm);
    }
    if (!detail::cholesky_orthonormalise(w, f.r)) {
      const int replaced = detail::gram_schmidt(v, w, f.r, fill);
      f.replaced += replaced;
      if (pass == 0) continue;
    }
    if (pass > 0 && found < 0.1) break;
  }
  return f;
}

/// Makes W orthonormal; returns R with W_before = W_after R.
template <field_batch Field>
orthogonal_factors orthonormalise(Field& w, const random_fill<Field>& fill) {
  return orthogonalise(view(w, 0, 0), w, fill);
}

/// Passes columns of V as the operator takes them: batches of at most `width`, one after the other.
template <class Body>
void in_batches(int columns, int width, const Body& body) {
  for (int first = 0; first < columns; first += width) body(first, std::min(width, columns - first));
}

}  // namespace plaquette
