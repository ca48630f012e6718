// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Implicitly restarted Arnoldi with exact shifts by implicit QR steps, for the largest eigenvalues of a Hermitian
/// operator: the way of Alexandru et al. 2011 (k = l + 1.5 l). (Sorensen, SIAM J. Matrix Anal. 13 (1992) 357)
#pragma once

#include "common/algorithms/thick_restart.hpp"

namespace plaquette {

namespace detail {

/// H <- Q^+ H Q and Q <- Q_before Q for H - mu = Q R.
inline void implicit_qr_step(host_matrix& h, host_matrix& q, double mu) {
  host_matrix shifted = h;
  for (int i = 0; i < h.rows(); ++i) shifted(i, i) -= complex<double>{mu, 0.0};
  const qr_factors qr = qr_of(shifted);
  h = adjoint_product(qr.q, product(h, qr.q));
  q = product(q, qr.q);
}

}  // namespace detail

/// A V_k = V_k H_k + f e_k^+. At a restart the unwanted Ritz values are shifts: sizes.keep columns stay. One vector at
/// a time, whatever sizes.block says. The decision sees Ritz vectors (a copy), as that of thick_restart_lanczos does.
/// \param basis  of sizes.most + 1 columns; the start is in the first
template <field_batch F>
restart_state implicitly_restarted_arnoldi(F& basis, const restart_sizes& sizes,
                                           const std::function<void(F& out, const F& in)>& apply,
                                           const restart_decision<F>& decide, const random_fill<F>& fill) {
  const int k = sizes.most, l = sizes.keep;
  if (l < 1 || k < l + 2 || basis.columns() < k + 1)
    throw input_error("implicitly restarted Arnoldi: expected a search space beyond the " + std::to_string(l) +
                      " kept vectors, found " + std::to_string(k));
  F start = view(basis, 0, 1);
  orthonormalise(start, fill);
  host_matrix h(k, k);
  restart_state state;
  int done = 0;
  while (true) {
    double beta = 0.0;
    for (int j = done; j < k; ++j) {
      F next = view(basis, j + 1, 1);
      apply(next, view(basis, j, 1));
      const orthogonal_factors f = orthogonalise(view(basis, 0, j + 1), next, fill);
      set_block(h, 0, j, f.c);
      beta = f.r(0, 0).re;
      if (j + 1 < k) h(j + 1, j) = {beta, 0.0};
    }
    const hermitian_eigenpairs ritz = eigenpairs_of_hermitian(hermitian_part(h));
    std::vector<int> largest;
    for (int i = 0; i < l; ++i) largest.push_back(k - 1 - i);
    const host_matrix y = columns_of(ritz.vectors, largest);
    state.values.clear();
    for (const int i : largest) state.values.push_back(ritz.values[static_cast<std::size_t>(i)]);
    host_matrix bottom = block_of(y, k - 1, 0, 1, l);
    scale_rows(bottom, {beta});
    state.estimates = column_norms(bottom);
    state.kept = l;
    ++state.cycle;
    {
      F vectors = like(basis, l);
      combine(vectors, view(basis, 0, k), y.numbers());
      if (decide(vectors, state) || state.cycle >= sizes.cycles) {
        F first = view(basis, 0, l);
        copy(first, vectors);
        return state;
      }
    }
    host_matrix q = identity_matrix(k);
    for (int i = 0; i < k - l; ++i) detail::implicit_qr_step(h, q, ritz.values[static_cast<std::size_t>(i)]);
    // f_l = v_{l+1} h_{l+1,l} + f q_{k,l}: the new residual vector.
    F all = view(basis, 0, k);
    F residual = like(basis, 1), last = view(basis, k, 1);
    copy(residual, last);
    scale(residual, uniform_scalars(residual, beta * q(k - 1, l - 1).re));
    if (q(k - 1, l - 1).im != 0.0) {
      std::vector<complex<double>> number{{0.0, beta * q(k - 1, l - 1).im}};
      axpy(residual, make_scalars(residual, std::span<const complex<double>>(number)), last);
    }
    rotate_basis(all, block_of(q, 0, 0, k, l + 1));
    F next = view(basis, l, 1);
    const std::vector<complex<double>> factor{h(l, l - 1)};
    axpy(residual, make_scalars(residual, std::span<const complex<double>>(factor)), next);
    copy(next, residual);
    const orthogonal_factors f = orthogonalise(view(basis, 0, l), next, fill);
    host_matrix kept = block_of(h, 0, 0, l, l);
    for (int i = 0; i < l; ++i) kept(i, l - 1) += f.c(i, 0);
    h = host_matrix(k, k);
    set_block(h, 0, 0, kept);
    if (l < k) h(l, l - 1) = f.r(0, 0);
    done = l;
  }
}

}  // namespace plaquette
