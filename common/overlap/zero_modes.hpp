// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Zero modes of D, and copies of degenerate modes that a search has missed: vectors of small e = |D v|^2 orthogonal to
/// modes that are known. (Giusti, Hoelbling, Luescher, Wittig, hep-lat/0212012)
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>

#include "common/eigen/thick_restart.hpp"
#include "common/overlap/mode_refinement.hpp"

namespace plaquette {

namespace detail {

/// One Krylov space, kept orthogonal to what is known: vectors of e below half of `expected`, roughly. Of several
/// copies it finds as many as a block has vectors. What tells that there is none is the number of steps, so that a
/// block of one takes the fewest applications of the sign function.
/// \tparam V  fields of the basis, as in pair_search
/// \param p    vectors of a block
template <class V, class Sign, class Field>
Field lowest_in_complement(const chiral_square<Sign>& square, const Field& known, double expected,
                           const overlap_mode_search& search, const random_fill<V>& fill, int p) {
  const double delta = accuracy_in_complement(expected);
  const restart_sizes sizes{.keep = 2 * p + 4, .most = p > 1 ? 66 : 48, .block = p, .cycles = 12};
  V off = like(half_like(known, 0), known.columns(), as<V>), basis = like(off, sizes.most + p);
  assign(off, known);
  const auto project = [&](V& x) {
    if (off.columns() > 0) subtract_combinations(x, off, inner_products(off, x));
  };
  V start = view(basis, 0, p);
  fill(start);
  project(start);
  int low = 0;
  thick_restart_lanczos<V>(
      basis, sizes, {},
      [&](V& out, const V& in) {
        // P (4 - D^+ D) P: what is projected off lies at the other end of the spectrum.
        square.apply(out, in, delta);
        scale(out, uniform_scalars(out, -1.0));
        axpy(out, uniform_scalars(out, 4.0), in);
        project(out);
      },
      [&](V&, const restart_state& state) {
        low = 0;
        bool settled = true;
        for (std::size_t k = 0; k < state.values.size(); ++k) {
          const double e = 4.0 - state.values[k], error = state.estimates[k];
          if (e - error < 0.25 * expected) {  // may be one yet
            if (e + error < 0.5 * expected)
              ++low;
            else
              settled = false;
            continue;
          }
          // Lanczos comes from above: the lowest of the rest has to be known well enough.
          settled = settled && error < 0.25 * std::max(e, 1e-3);
          break;
        }
        return settled || (search.interrupted && search.interrupted());
      },
      fill, search.interrupted);
  Field found = half_like(known, low);
  if (low > 0) assign(found, view(basis, 0, low));
  return found;
}

/// Returns modes below half of `expected` orthogonal to those that are known: zero modes, and copies of degenerate ones
/// that the search in the other chirality missed. The search goes on, orthogonal to those found, until a block has
/// vectors to spare.
/// \param known  orthonormal; partners of the other chirality's pairs, or all that was found here
template <class Sign, class Field>
chiral_modes<Field> search_in_complement(const Sign& sign, int chirality, const Field& known, double expected,
                                         const overlap_mode_search& search, const random_fill<Field>& fill, int width) {
  using InnerField = typename Sign::InnerField;
  const chiral_square<Sign> square(sign, chirality);
  chiral_modes<Field> found{half_like(known, 0)};
  while (!(search.interrupted && search.interrupted())) {
    const Field all = side_by_side(known, found.vectors);
    const int block = found.vectors.columns() == 0 ? 1 : 4;
    const Field fresh =
        sign.is_single(accuracy_in_complement(expected))
            ? lowest_in_complement<InnerField>(square, all, expected, search, converted_fill<InnerField>(fill), block)
            : lowest_in_complement<Field>(square, all, expected, search, fill, block);
    if (fresh.columns() == 0) break;
    found.vectors = side_by_side(found.vectors, fresh);
    // A block finds as many copies as it has vectors: fewer are all.
    const bool has_all = fresh.columns() < block;
    if (known.columns() > 0)  // single precision has left something
      subtract_combinations(found.vectors, known, inner_products(known, found.vectors));
    orthonormalise(found.vectors, fill);
    if (has_all || found.vectors.columns() > 200) break;
  }
  sign.forget_single_modes();
  // The cheap sign function has left errors all over the spectrum.
  if (found.vectors.columns() > 0) {
    const auto project = [&](Field& x) {
      for (const Field& v : {known, found.vectors})
        if (v.columns() > 0) subtract_combinations(x, v, inner_products(v, x));
    };
    refine_lowest_modes<Sign, Field>(square, found, static_cast<Field*>(nullptr), project, search, width,
                                     0.5 * expected);
  }
  return found;
}

/// The chirality whose lowest Ritz value of D^+ D stays higher in a short search: the other one may have zero modes.
/// A guess, which saves work where it is right; nothing depends on it.
template <class Sign, class Field>
int chirality_without_zero_modes(const Sign& sign, const Field& shape_of, const random_fill<Field>& fill,
                                 const std::function<bool()>& interrupted) {
  double lowest[2] = {0.0, 0.0};
  for (const int chirality : {+1, -1}) {
    const chiral_square<Sign> square(sign, chirality);
    const restart_sizes sizes{.keep = 1, .most = 20, .block = 1, .cycles = 1};
    Field basis = half_like(shape_of, sizes.most + 1);
    Field start = view(basis, 0, 1);
    fill(start);
    thick_restart_lanczos<Field>(
        basis, sizes, {},
        [&](Field& out, const Field& in) {
          square.apply(out, in, 1e-3);
          scale(out, uniform_scalars(out, -1.0));
        },
        [&](Field&, const restart_state& state) {
          lowest[chirality > 0 ? 0 : 1] = -state.values[0];
          return true;
        },
        fill, interrupted);
  }
  return lowest[1] > lowest[0] ? -1 : +1;
}

}  // namespace detail

}  // namespace plaquette
