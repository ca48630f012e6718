// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Implicitly restarted Arnoldi with exact shifts by implicit QR steps, for the largest eigenvalues of a Hermitian
/// operator: the way of Alexandru et al. 2011 (k = l + 1.5 l). (Sorensen, SIAM J. Matrix Anal. 13 (1992) 357)
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "common/eigen/thick_restart.hpp"
#include "common/krylov/batch.hpp"

namespace plaquette {

namespace detail {

/// H_k of a Hermitian operator: real and tridiagonal. What Gram-Schmidt finds elsewhere is rounding, which a restart
/// would amplify wherever an element next to the diagonal is small.
struct tridiagonal_matrix {
  explicit tridiagonal_matrix(int size) : diagonal(static_cast<std::size_t>(size)), off_diagonal(diagonal.size()) {}

  std::vector<double> diagonal;
  std::vector<double> off_diagonal;  ///< element (i + 1, i); the last couples what comes next

  /// Returns the first rows and columns.
  host_matrix dense(int size) const {
    host_matrix a(size, size);
    for (int i = 0; i < size; ++i) {
      const auto k = static_cast<std::size_t>(i);
      a(i, i) = {diagonal[k], 0.0};
      if (i + 1 < size) a(i + 1, i) = a(i, i + 1) = {off_diagonal[k], 0.0};
    }
    return a;
  }
};

/// Computes T <- G^+ T G and Q <- Q G, where T - mu = G R with rotations G of neighbouring columns and R upper
/// triangular.
inline void qr_step(tridiagonal_matrix& t, host_matrix& q, double mu) {
  std::vector<double>&d = t.diagonal, &e = t.off_diagonal;
  double pivot = d[0] - mu, c_before = 1.0, s_before = 0.0;
  for (std::size_t k = 0; k + 1 < d.size(); ++k) {
    const double r = std::hypot(pivot, e[k]), c = r > 0.0 ? pivot / r : 1.0, s = r > 0.0 ? e[k] / r : 0.0;
    // The rotation before has left c e_k here, and s e_k below the element next to the diagonal.
    const double here = c_before * e[k], below = s_before * e[k];
    pivot = c * (d[k + 1] - mu) - s * here;
    if (k > 0) e[k - 1] = c * e[k - 1] + s * below;
    const double first = d[k], second = d[k + 1];
    d[k] = c * c * first + 2.0 * c * s * here + s * s * second;
    d[k + 1] = s * s * first - 2.0 * c * s * here + c * c * second;
    e[k] = c * s * (second - first) + (c * c - s * s) * here;
    const int left = static_cast<int>(k), right = left + 1;
    for (int i = 0; i < q.rows(); ++i) {
      const complex<double> x = q(i, left), y = q(i, right);
      q(i, left) = c * x + s * y;
      q(i, right) = c * y - s * x;
    }
    c_before = c;
    s_before = s;
  }
}

/// Sets the start of H_k from Ritz vectors v of values theta, A v = v theta + next b^+ with b = state.coupling: a
/// rotation Q of them with Q^+ theta Q tridiagonal and Q^+ b = beta e_l, so that A V = V H + next beta e_l^+. Columns
/// of the basis become V.
template <field_batch Field>
void set_krylov_form(Field& basis, const restart_state& state, tridiagonal_matrix& h) {
  const int l = state.kept;
  host_matrix bordered(l + 1, l + 1);
  for (int i = 0; i < l; ++i) {
    bordered(i + 1, i + 1) = {state.values[static_cast<std::size_t>(i)], 0.0};
    bordered(i + 1, 0) = state.coupling(i, 0);
  }
  // Factors begin with `next`, Arnoldi's recurrence ends with it.
  const tridiagonal_factors f = tridiagonal_of(bordered);
  std::vector<int> backwards;
  for (int i = l; i >= 1; --i) backwards.push_back(i);
  Field kept = view(basis, 0, l);
  rotate_basis(kept, columns_of(block_of(f.q, 1, 0, l, l + 1), backwards));
  for (int i = 0; i < l; ++i) {
    const auto k = static_cast<std::size_t>(i);
    h.diagonal[k] = f.t(l - i, l - i).re;
    h.off_diagonal[k] = f.t(l - i, l - i - 1).re;
  }
}

}  // namespace detail

/// Computes A V_k = V_k H_k + f e_k^+. At a restart the unwanted Ritz values are shifts: sizes.keep columns stay. One
/// vector at a time, whatever sizes.block says. The decision sees Ritz vectors and the next vector (copies), as that of
/// thick_restart_lanczos does, from which a later call goes on.
/// \param basis  of sizes.most + 1 columns; the start is in the first (state.cycle = 0), or what a state that was
///               stored describes is
/// \param interrupted  as in thick_restart_lanczos
template <field_batch Field>
restart_state implicitly_restarted_arnoldi(Field& basis, const restart_sizes& sizes, restart_state state,
                                           const std::function<void(Field& out, const Field& in)>& apply,
                                           const restart_decision<Field>& decide, const random_fill<Field>& fill,
                                           const std::function<bool()>& interrupted = nullptr) {
  const int k = sizes.most, l = sizes.keep;
  if (l < 1 || k < std::max(l, state.kept) + 2 || basis.columns() < k + 1)
    throw input_error("implicitly restarted Arnoldi: expected a search space beyond the " + std::to_string(l) +
                      " kept vectors, found " + std::to_string(k));
  detail::tridiagonal_matrix h(k);
  int done = state.kept;
  state.cut = false;
  if (state.cycle == 0) {
    Field start = view(basis, 0, 1);
    orthonormalise(start, fill);
  } else {
    detail::set_krylov_form(basis, state, h);
  }
  std::vector<double> ritz_values;  // ascending
  // The Ritz vectors of the first `size` columns that are kept, and the column after these.
  const auto take_ritz_vectors = [&](int size) {
    const hermitian_eigenpairs ritz = eigenpairs_of_hermitian(h.dense(size));
    ritz_values = ritz.values;
    state.kept = std::min(l, size);
    std::vector<int> largest;
    for (int i = 0; i < state.kept; ++i) largest.push_back(size - 1 - i);
    const host_matrix y = columns_of(ritz.vectors, largest);
    state.values.clear();
    for (const int i : largest) state.values.push_back(ritz.values[static_cast<std::size_t>(i)]);
    host_matrix bottom = block_of(y, size - 1, 0, 1, state.kept);
    scale_rows(bottom, {h.off_diagonal[static_cast<std::size_t>(size) - 1]});
    state.estimates = column_norms(bottom);
    state.coupling = adjoint(bottom);
    Field vectors = like(basis, state.kept + 1), first = view(vectors, 0, state.kept),
          next = view(vectors, state.kept, 1);
    combine(first, view(basis, 0, size), y.numbers());
    copy(next, view(basis, size, 1));
    return vectors;
  };
  const auto end_with = [&](const Field& vectors) {
    Field first = view(basis, 0, vectors.columns());
    copy(first, vectors);
    return state;
  };
  while (true) {
    for (int j = done; j < k; ++j) {
      Field next = view(basis, j + 1, 1);
      apply(next, view(basis, j, 1));
      if (interrupted && interrupted()) {  // the columns of the restart are as they were
        state.cut = true;
        if (state.cycle == 0) return state;
        Field vectors = take_ritz_vectors(done);
        decide(vectors, state);
        return end_with(vectors);
      }
      const orthogonal_factors f = orthogonalise(view(basis, 0, j + 1), next, fill);
      h.diagonal[static_cast<std::size_t>(j)] = f.c(j, 0).re;
      h.off_diagonal[static_cast<std::size_t>(j)] = f.r(0, 0).re;
    }
    ++state.cycle;
    {
      Field vectors = take_ritz_vectors(k);
      if (decide(vectors, state) || state.cycle >= sizes.cycles) return end_with(vectors);
    }
    host_matrix q = identity_matrix(k);
    for (int i = 0; i < k - l; ++i) detail::qr_step(h, q, ritz_values[static_cast<std::size_t>(i)]);
    // f_l = v_{l+1} h_{l+1,l} + f q_{k,l}: the new residual vector.
    const auto edge = static_cast<std::size_t>(l) - 1;
    Field all = view(basis, 0, k), residual = like(basis, 1);
    copy(residual, view(basis, k, 1));
    scale(residual, uniform_scalars(residual, h.off_diagonal.back() * q(k - 1, l - 1).re));
    rotate_basis(all, block_of(q, 0, 0, k, l + 1));
    Field next = view(basis, l, 1);
    axpy(residual, uniform_scalars(residual, h.off_diagonal[edge]), next);
    copy(next, residual);
    const orthogonal_factors f = orthogonalise(view(basis, 0, l), next, fill);
    h.diagonal[edge] += f.c(l - 1, 0).re;
    h.off_diagonal[edge] = f.r(0, 0).re;
    done = l;
  }
}

}  // namespace plaquette
