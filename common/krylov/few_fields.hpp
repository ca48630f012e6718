// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Operations on a few fields at once. A backend may offer them as one pass over memory: functions `fused_...`, found
/// by argument-dependent lookup, for at most `most_fused` fields of a call. If it does not, they are made of the vector
/// operations of common/concepts.hpp.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "common/concepts.hpp"

namespace plaquette {

/// Fields that a backend takes in one call: of `fused_least_squares`, and of the others.
inline constexpr std::size_t most_fused_in_least_squares = 6, most_fused = 8;

namespace detail {

/// Returns c of G c = g by G = L D L^+. A pivot of which only `rounding` squared is left counts as zero, and so does
/// its c.
/// \param w  row i: <v_i, v_j> for j <= i
/// \param g  <v_i, r>
template <column_scalars S>
std::vector<S> solve_gram(std::vector<std::vector<S>> w, std::vector<S> g, double rounding) {
  const std::vector<double> limits(static_cast<std::size_t>(g.front().columns()), rounding * rounding);
  std::vector<S> d;
  std::vector<std::vector<S>> l;  // l[i][k], k < i; w[i][k] becomes l[i][k] d[k]
  for (std::size_t i = 0; i < g.size(); ++i) {
    const S length = w[i][i];
    l.emplace_back();
    for (std::size_t k = 0; k < i; ++k) {
      for (std::size_t m = 0; m < k; ++m) w[i][k] = w[i][k] - w[i][m] * conj(l[k][m]);
      l[i].push_back(ratio(w[i][k], d[k]));
      w[i][i] = w[i][i] - w[i][k] * conj(l[i][k]);
      g[i] = g[i] - l[i][k] * g[k];
    }
    d.push_back(w[i][i] * where_above(ratio(w[i][i], length), std::span<const double>(limits)));
  }
  for (std::size_t i = g.size(); i-- > 0;) {
    g[i] = ratio(g[i], d[i]);
    const S used = ratio(d[i], d[i]);  // 1, or 0 for a direction that takes nothing from later ones
    for (std::size_t k = i + 1; k < g.size(); ++k) g[i] = g[i] - used * conj(l[k][i]) * g[k];
  }
  return g;
}

}  // namespace detail

/// Returns the c for which |r - sum_k c_k v_k| is smallest, column by column. A v_k of which only `rounding` times its
/// length is independent of the earlier ones gets 0; inner products in double resolve 2^-22 of a length.
template <field_batch Field>
std::vector<typename Field::scalars> least_squares(std::span<const Field> v, const Field& r, double rounding) {
  rounding = std::max(rounding, 0x1p-22);
  if constexpr (requires { fused_least_squares(v, r, rounding); })
    if (v.size() <= most_fused_in_least_squares) return fused_least_squares(v, r, rounding);
  std::vector<std::vector<typename Field::scalars>> gram;
  std::vector<typename Field::scalars> products;
  for (std::size_t i = 0; i < v.size(); ++i) {
    gram.emplace_back();
    for (std::size_t j = 0; j < i; ++j) gram[i].push_back(dot(v[i], v[j]));
    auto [of_r, norm] = dot_norm2(v[i], r);
    gram[i].push_back(std::move(norm));
    products.push_back(std::move(of_r));
  }
  return detail::solve_gram(std::move(gram), std::move(products), rounding);
}

/// Returns mask <v_k, w> / |v_k|^2, 0 if |v_k|^2 is 0: how much w has of each of some orthogonal v_k.
/// \param norms  |v_k|^2
/// \param mask   1 in the columns that are of interest, 0 in others
template <field_batch Field>
std::vector<typename Field::scalars> coefficients_along(std::span<const Field> v,
                                                        std::span<const typename Field::scalars> norms, const Field& w,
                                                        const typename Field::scalars& mask) {
  std::vector<typename Field::scalars> c;
  for (std::size_t first = 0; first < v.size(); first += most_fused) {
    const std::size_t count = std::min(most_fused, v.size() - first);
    if constexpr (requires { fused_coefficients(v, norms, w, mask); }) {
      for (auto& one : fused_coefficients(v.subspan(first, count), norms.subspan(first, count), w, mask))
        c.push_back(std::move(one));
    } else {
      for (std::size_t k = first; k < first + count; ++k) c.push_back(mask * ratio(dot(v[k], w), norms[k]));
    }
  }
  return c;
}

namespace detail {

template <field_batch Field>
void combine(Field& x, double sign, std::span<const typename Field::scalars> c, std::span<const Field> v) {
  for (std::size_t first = 0; first < v.size(); first += most_fused) {
    const std::size_t end = first + std::min(most_fused, v.size() - first);
    if constexpr (requires { fused_combination(x, sign, c, v); }) {
      fused_combination(x, sign, c.subspan(first, end - first), v.subspan(first, end - first));
    } else {
      const auto by = [&](std::size_t k) { return sign < 0.0 ? -c[k] : c[k]; };
      std::size_t k = first;
      for (; k + 1 < end; k += 2) axpy_pair(x, by(k), v[k], by(k + 1), v[k + 1]);
      if (k < end) axpy(x, by(k), v[k]);
    }
  }
}

}  // namespace detail

/// Computes x += sum_k c_k v_k
template <field_batch Field>
void add_combination(Field& x, std::span<const typename Field::scalars> c, std::span<const Field> v) {
  detail::combine(x, 1.0, c, v);
}
/// Computes x -= sum_k c_k v_k
template <field_batch Field>
void subtract_combination(Field& x, std::span<const typename Field::scalars> c, std::span<const Field> v) {
  detail::combine(x, -1.0, c, v);
}
/// Does the same for at least one v_k; returns <w, x> and |x|^2.
template <field_batch Field>
auto subtract_combination_dot_norm2(Field& x, std::span<const typename Field::scalars> c, std::span<const Field> v,
                                    const Field& w) {
  if constexpr (requires { fused_combination(x, -1.0, c, v, w); }) {
    const std::size_t last = (v.size() - 1) / most_fused * most_fused;
    detail::combine(x, -1.0, c.first(last), v.first(last));
    return fused_combination(x, -1.0, c.subspan(last), v.subspan(last), w);
  } else {
    const std::size_t last = v.size() - 1;
    detail::combine(x, -1.0, c.first(last), v.first(last));
    return axpy_dot_norm2(x, -c[last], v[last], w);
  }
}

}  // namespace plaquette
