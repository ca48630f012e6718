// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Thick-restart Lanczos in blocks, for the largest eigenvalues of a Hermitian operator. (Wu, Simon, SIAM J. Matrix
/// Anal. 22 (2000) 602)
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/eigen/krylov_basis.hpp"
#include "common/error.hpp"
#include "common/krylov/restart_state.hpp"

namespace plaquette {

/// Decides after each cycle; true ends the search. The kept vectors are columns 0 .. kept - 1 of the basis, the block
/// that comes next the columns after them.
template <class Field>
using restart_decision = std::function<bool(Field& basis, const restart_state& state)>;

/// What an eigenvector u of A that a Krylov space has not shown can have of its start, at most: <u, start> = <u, next>
/// transfer for an eigenvalue a. For a Ritz pair A y = theta y + next b gives <u, y> = <u, next> b / (a - theta), and
/// the start is a combination of Ritz vectors. Above all Ritz values the product of both shrinks with each step and
/// with a.
struct hidden_share {
  double at = 0.0;       ///< a
  host_matrix transfer;  ///< block x block, over all cycles

  /// Returns the square of |det transfer|: where random starts have p independent Gaussian parts of variance v along u,
  /// the probability that u is hidden is at most this over p! v^p.
  double volume() const {
    double product_of_all = 1.0;
    for (const double value : eigenpairs_of_hermitian(hermitian_part(product(transfer, adjoint(transfer)))).values)
      product_of_all *= std::max(value, 0.0);
    return product_of_all;
  }
};

namespace detail {

/// Rotates Ritz vectors of equal values, which are open to that: those that have converged come out, and after them
/// those that have not. A copy of a degenerate mode on its way would be mixed into the others.
/// \param ritz   of a projected matrix, values ascending; what is largest is wanted
/// \param r      of the last block: a Ritz vector y has the residual r times its last rows
/// \param count  clusters among this many of the largest are rotated
inline void separate_converged(hermitian_eigenpairs& ritz, const host_matrix& r, int count) {
  const int k = ritz.vectors.columns(), p = r.rows();
  const auto value = [&](int i) { return ritz.values[static_cast<std::size_t>(i)]; };
  const double equal = 1e-12 * std::max(std::abs(value(0)), std::abs(value(k - 1)));
  for (int end = k; end > std::max(0, k - count);) {
    int first = end - 1;
    while (first > 0 && value(first) - value(first - 1) < equal) --first;
    if (end - first > 1) {
      const host_matrix cluster = block_of(ritz.vectors, 0, first, k, end - first);
      const host_matrix bottom = product(r, block_of(cluster, k - p, 0, p, end - first));
      const host_matrix by_residual = eigenpairs_of_hermitian(hermitian_part(adjoint_product(bottom, bottom))).vectors;
      std::vector<int> descending;
      for (int i = end - first - 1; i >= 0; --i) descending.push_back(i);
      set_block(ritz.vectors, 0, first, product(cluster, columns_of(by_residual, descending)));
    }
    end = first;
  }
}

}  // namespace detail

/// Computes A V = V T + next R e^+ in blocks; at a restart T is diagonal, bordered by the coupling R y.
///
/// The coupling of kept vectors to the next block is that of the previous cycle, and later projections on kept vectors
/// count as zero. So A may become less accurate from cycle to cycle, as residuals fall. (New projections of the less
/// accurate product would put its error into all Ritz values.)
///
/// A restart keeps a cluster of equal Ritz values whole, where the space has room for it.
/// \param basis  of sizes.most + sizes.block columns. The start is in its first `block` columns (state.cycle = 0), or
///               what a state that was stored describes is.
/// \param apply  out = A in, for one block
/// \param interrupted  asked after each application, or null; true ends the search. Then `decide` is told once more of
///                     the last full cycle, if there was one, with state.cut; what it returns does not count.
/// \param share  followed from the first cycle of this call on, or null
template <field_batch Field>
restart_state thick_restart_lanczos(Field& basis, const restart_sizes& sizes, restart_state state,
                                    const std::function<void(Field& out, const Field& in)>& apply,
                                    const restart_decision<Field>& decide, const random_fill<Field>& fill,
                                    const std::function<bool()>& interrupted = nullptr, hidden_share* share = nullptr) {
  const int p = sizes.block;
  const int later = sizes.later > 0 ? std::min(sizes.most, sizes.later) : sizes.most;
  if (p < 1 || sizes.keep < 1 || later < sizes.keep + p || basis.columns() < sizes.most + p)
    throw input_error("thick-restart Lanczos: expected a search space of at least the " + std::to_string(sizes.keep) +
                      " kept vectors and a block of " + std::to_string(p) + ", found " + std::to_string(later));
  state.cut = false;
  if (share != nullptr) share->transfer = identity_matrix(p);
  if (state.cycle == 0) {
    Field start = view(basis, 0, p);
    orthonormalise(start, fill);
  }
  while (true) {
    int k = state.kept;
    const int most = state.cycle == 0 ? sizes.most : later;
    host_matrix t(most + p, most + p);
    for (int i = 0; i < k; ++i) t(i, i) = {state.values[static_cast<std::size_t>(i)], 0.0};
    host_matrix r;
    // Blocks are worked on outside of the basis, which may lie in slower memory.
    Field in = copied_columns(basis, k, p), next = like(basis, p);
    while (k + p <= most) {
      const Field known = view(basis, 0, k + p);
      apply(next, in);
      if (interrupted && interrupted()) {  // the kept vectors and the block after them are as they were
        state.cut = true;
        if (state.cycle > 0) decide(basis, state);
        return state;
      }
      // A v_k lies in the last two blocks, where nothing is coupled to the kept vectors.
      orthogonal_factors f = orthogonalise(known, next, fill, k > state.kept ? 2 * p : -1);
      if (state.kept > 0 && state.coupling.columns() > 0) {
        set_block(f.c, 0, 0, k == state.kept ? state.coupling : host_matrix(state.kept, p));
      }
      set_block(t, 0, k, f.c);
      set_block(t, k, 0, adjoint(f.c));
      r = f.r;
      Field place = view(basis, k + p, p);
      copy(place, next);
      std::swap(in, next);
      k += p;
    }
    hermitian_eigenpairs ritz = eigenpairs_of_hermitian(hermitian_part(block_of(t, 0, 0, k, k)));
    detail::separate_converged(ritz, r, sizes.keep);
    if (share != nullptr) {
      host_matrix last = product(r, block_of(ritz.vectors, k - p, 0, p, k));
      std::vector<double> factors;
      for (const double value : ritz.values) factors.push_back(1.0 / (share->at - value));
      scale_columns(last, factors);
      share->transfer = product(product(last, adjoint(block_of(ritz.vectors, state.kept, 0, p, k))), share->transfer);
    }
    const auto ritz_value = [&](int i) { return ritz.values[static_cast<std::size_t>(k - 1 - i)]; };
    int kept = std::min(sizes.keep, k);
    while (kept + 2 * p <= std::min(later, k) &&
           ritz_value(kept - 1) - ritz_value(kept) < 1e-7 * std::abs(ritz_value(0)))
      ++kept;
    std::vector<int> largest;
    for (int i = 0; i < kept; ++i) largest.push_back(k - 1 - i);
    const host_matrix y = columns_of(ritz.vectors, largest);
    const host_matrix bottom = product(r, block_of(y, k - p, 0, p, kept));
    state.values.clear();
    for (const int i : largest) state.values.push_back(ritz.values[static_cast<std::size_t>(i)]);
    state.estimates = column_norms(bottom);
    state.coupling = adjoint(bottom);
    state.kept = kept;
    ++state.cycle;
    Field all = view(basis, 0, k), first = view(basis, kept, p);
    rotate_basis(all, y);
    copy(first, in);
    if (decide(basis, state) || state.cycle >= sizes.cycles) return state;
  }
}

}  // namespace plaquette
