// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Modes of D^+ D come in pairs but for zero modes: D takes one of a chirality to one of the other, of the same e.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "common/overlap/chiral_modes.hpp"

namespace plaquette {

namespace detail {

/// Residuals of P D v / sqrt(e - e^2/4) in the other chirality, from those of v: (D^+ D - e) commutes with D. An error
/// of v along e' counts by sqrt(e' / e) there.
template <class Sign, class Field>
std::vector<double> residuals_of_partners(const Sign& sign, int chirality, const Field& residual_vectors,
                                          const std::vector<double>& eigenvalues, int width) {
  Field same = like(residual_vectors), other = like(residual_vectors);
  apply_to_block(sign, chirality, residual_vectors, same, &other, 3e-3, width);
  const auto norms = host_values(norm2(other));
  std::vector<double> residuals;
  for (std::size_t i = 0; i < eigenvalues.size(); ++i) {
    const double e = eigenvalues[i], s = e - 0.25 * e * e;
    residuals.push_back(s > 0.0 ? std::sqrt(norms[i].re / s) : 0.0);
  }
  return residuals;
}

/// Rayleigh-Ritz with accurate products. Returns the residuals of the partners.
template <class Sign, class Field>
std::vector<double> judge_modes(const Sign& sign, int chirality, chiral_modes<Field>& found, Field& others,
                                double delta, int width) {
  Field products = like(found.vectors), residual_vectors = like(found.vectors);
  apply_to_block(sign, chirality, found.vectors, products, &others, delta, width);
  rayleigh_ritz_of_products(found, products, &others, residual_vectors);
  return residuals_of_partners(sign, chirality, residual_vectors, found.eigenvalues, width);
}

/// Returns the partners in the other chirality of the pairs of `main`, P D v / sqrt(e - e^2/4), orthonormal.
/// \param partners  what D makes of main in the other chirality
/// \param zeros     zero modes of main, which come first and have no partners; not all of them are
template <class Field>
Field partners_of_pairs(const Field& partners, const chiral_modes<Field>& main, int zeros) {
  const int all = main.vectors.columns(), pairs = all - zeros;
  Field vectors = half_like(partners, pairs);
  copy(vectors, view(partners, zeros, pairs));
  std::vector<complex<double>> factors;
  for (int i = zeros; i < all; ++i) {
    const double e = main.eigenvalues[static_cast<std::size_t>(i)];
    factors.push_back({1.0 / std::sqrt(e - 0.25 * e * e), 0.0});
  }
  scale(vectors, make_scalars(vectors, std::span<const complex<double>>(factors)));
  rotate_basis(vectors, inverse_root(overlaps(vectors, vectors)));
  return vectors;
}

/// Modes of chirality -chi that the search in chi missed join those that it found, with their partners
/// P D v / sqrt(e - e^2/4). The lowest remain, as many as there were.
/// \param partners  of main, in the chirality of `late`
template <class Sign, class Field>
void join_pairs(const Sign& sign, int chi, const chiral_modes<Field>& late, chiral_modes<Field>& main, Field& partners,
                double delta, int width) {
  Field products = like(late.vectors), theirs = like(late.vectors);
  apply_to_block(sign, -chi, late.vectors, products, &theirs, delta, width);
  std::vector<complex<double>> factors;
  for (const double e : late.eigenvalues) factors.push_back({1.0 / std::sqrt(e - 0.25 * e * e), 0.0});
  scale(theirs, make_scalars(theirs, std::span<const complex<double>>(factors)));
  const std::size_t count = main.eigenvalues.size();
  std::vector<double> eigenvalues = main.eigenvalues, residuals = main.residuals;
  eigenvalues.insert(eigenvalues.end(), late.eigenvalues.begin(), late.eigenvalues.end());
  residuals.insert(residuals.end(), late.residuals.begin(), late.residuals.end());
  std::vector<int> order(eigenvalues.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int i) { return eigenvalues[static_cast<std::size_t>(i)]; });
  order.resize(count);
  main.vectors = gather_columns(side_by_side(main.vectors, theirs), order);
  partners = gather_columns(side_by_side(partners, late.vectors), order);
  for (std::size_t i = 0; i < count; ++i) {
    main.eigenvalues[i] = eigenvalues[static_cast<std::size_t>(order[i])];
    main.residuals[i] = residuals[static_cast<std::size_t>(order[i])];
  }
}

/// The same, where zero modes come first in `main`, and stay.
template <class Sign, class Field>
void join_late_modes(const Sign& sign, int chi, const chiral_modes<Field>& late, chiral_modes<Field>& main, int zeros,
                     Field& partners, double delta, int width) {
  const int all = main.vectors.columns();
  chiral_modes<Field> pairs = part_of(main, zeros, all - zeros);
  Field place = view(main.vectors, zeros, all - zeros);
  pairs.vectors = copied_columns(main.vectors, zeros, all - zeros);
  join_pairs(sign, chi, late, pairs, partners, delta, width);
  copy(place, pairs.vectors);
  std::ranges::copy(pairs.eigenvalues, main.eigenvalues.begin() + zeros);
  std::ranges::copy(pairs.residuals, main.residuals.begin() + zeros);
  rotate_basis(main.vectors, inverse_root(overlaps(main.vectors, main.vectors)));
}

}  // namespace detail

}  // namespace plaquette
