// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a GCR whose directions come from a preconditioner keeps: for the outer solver and for the cycles inside.
#pragma once

#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "common/algorithms/few_fields.hpp"

namespace plaquette::detail {

/// The directions p of a GCR and their images q = A p, orthogonal to each other.
template <field_batch F>
struct gcr_directions {
  using scalars = typename F::scalars;
  std::vector<F> p, q;      ///< as many as were ever needed
  std::vector<scalars> qq;  ///< |q|^2 of those in use

  int count() const { return static_cast<int>(qq.size()); }
  std::span<const F> directions() const { return std::span<const F>(p).first(qq.size()); }
  std::span<const F> images() const { return std::span<const F>(q).first(qq.size()); }

  /// Makes p and q of those before out of a new direction, p[count()]. Returns <q, r>, |q|^2, and |q|^2 before q was
  /// made orthogonal.
  /// \param active  1 in the columns that go on, 0 in those that stand still
  template <forward_operator<F> A>
  std::tuple<scalars, scalars, scalars> add(const A& a, const F& r, const scalars& active) {
    F &p_new = p[qq.size()], &q_new = q[qq.size()];
    auto [q_r, norm] = apply_dot_norm2(a, q_new, p_new, r);
    const scalars norm_before = norm;
    if (!qq.empty()) {
      const auto c = coefficients_along(images(), std::span<const scalars>(qq), std::as_const(q_new), active);
      auto [r_q, norm_after] = subtract_combination_dot_norm2(q_new, std::span<const scalars>(c), images(), r);
      subtract_combination(p_new, std::span<const scalars>(c), directions());
      q_r = conj(r_q);
      norm = norm_after;
    }
    qq.push_back(norm);
    return {q_r, norm, norm_before};
  }
};

}  // namespace plaquette::detail
