// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Blocks of modes of D^+ D in one chirality: products with D^+ D and D, Rayleigh-Ritz.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "common/eigen/krylov_basis.hpp"
#include "common/krylov/batch.hpp"
#include "common/operators/overlap.hpp"
#include "common/overlap/overlap_mode_set.hpp"
#include "common/overlap/sign_options.hpp"

namespace plaquette {

namespace detail {

inline std::vector<double> square_roots(const std::vector<complex<double>>& numbers) {
  std::vector<double> roots;
  for (const complex<double>& number : numbers) roots.push_back(std::sqrt(number.re));
  return roots;
}

/// `count` columns of a chirality's shape.
template <class Field>
Field half_like(const Field& full, int columns) {
  return Field(full.get_context(), field_shape{2, 3, full.shape().sites, columns});
}

/// The columns of all parts, one part after the other.
/// \param shape_of  a field as the result, but for its columns
template <class Field>
Field side_by_side(const Field& shape_of, std::span<const Field> parts) {
  int columns = 0;
  for (const Field& part : parts) columns += part.columns();
  Field all = like(shape_of, columns);
  int first = 0;
  for (const Field& part : parts) {
    if (part.columns() == 0) continue;
    Field place = view(all, first, part.columns());
    copy(place, part);
    first += part.columns();
  }
  return all;
}
/// The columns of both.
template <class Field>
Field side_by_side(const Field& a, const Field& b) {
  const Field both[] = {a, b};
  return side_by_side(a, std::span<const Field>(both));
}

/// Modes first ... first + count - 1; vectors share storage.
template <class Field>
chiral_modes<Field> part_of(const chiral_modes<Field>& modes, int first, int count) {
  const auto some = [&](const std::vector<double>& from) {
    return std::vector<double>(from.begin() + first, from.begin() + first + count);
  };
  return {view(modes.vectors, first, count), some(modes.eigenvalues), some(modes.residuals)};
}

/// How many of the first eigenvalues are smaller in size than `limit`.
template <class Field>
int count_below(const chiral_modes<Field>& modes, double limit) {
  const auto first_above = std::ranges::find_if_not(modes.eigenvalues, [&](double e) { return std::abs(e) < limit; });
  return static_cast<int>(first_above - modes.eigenvalues.begin());
}

/// Random vectors in single precision from those in double.
template <class InnerField, class Field>
random_fill<InnerField> converted_fill(const random_fill<Field>& fill) {
  return [&fill](InnerField& x) {
    Field made = like(x, x.columns(), as<Field>);
    fill(made);
    convert(x, made);
  };
}

/// D^+ D on a basis of one chirality, and what D makes of it in the other: -chi sign(H) v there. Zeros, where the sign
/// function was interrupted.
template <class Sign, class Field>
void apply_to_block(const Sign& sign, int chirality, const Field& v, Field& products, Field* others, double delta,
                    int width) {
  in_batches(v.columns(), width, [&](int first, int n) {
    field_shape whole = v.shape();
    whole.spins = 4;
    whole.columns = n;
    Field x(v.get_context(), whole), y(v.get_context(), whole);
    const Field in = view(v, first, n);
    Field product = view(products, first, n);
    zero(product);
    if (others != nullptr) {
      Field other = view(*others, first, n);
      zero(other);
    }
    if (const auto& interrupted = sign.options().interrupted; interrupted && interrupted()) return;
    put_chirality(x, in, chirality);
    sign.apply(y, x, delta, delta < 1e-9 ? sign_precision::as_double : sign.options().precision);
    take_chirality(product, y, chirality);
    scale(product, uniform_scalars(product, 2.0 * chirality));
    axpy(product, uniform_scalars(product, 2.0), in);
    if (others == nullptr) return;
    Field other = view(*others, first, n);
    take_chirality(other, y, -chirality);
    scale(other, uniform_scalars(other, -1.0 * chirality));
  });
}

/// Rayleigh-Ritz of D^+ D in span V, of orthonormal V: V becomes Ritz vectors, e ascending. What D^+ D and, where it is
/// given, D make of V follows it.
/// \param residual_vectors  becomes (D^+ D - e) V
template <class Field>
void rayleigh_ritz_of_products(chiral_modes<Field>& found, Field& products, Field* others, Field& residual_vectors) {
  Field& v = found.vectors;
  const hermitian_eigenpairs pairs = eigenpairs_of_hermitian(hermitian_part(overlaps(v, products)));
  rotate_basis(v, pairs.vectors);
  rotate_basis(products, pairs.vectors);
  if (others != nullptr) rotate_basis(*others, pairs.vectors);
  found.eigenvalues = pairs.values;
  std::vector<complex<double>> minus;
  for (const double e : pairs.values) minus.push_back({-e, 0.0});
  copy(residual_vectors, products);
  axpy(residual_vectors, make_scalars(products, std::span<const complex<double>>(minus)), v);
  found.residuals.clear();
  for (const complex<double>& number : host_values(norm2(residual_vectors)))
    found.residuals.push_back(std::sqrt(number.re));
}

}  // namespace detail

}  // namespace plaquette
