// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 3 brings: P(H^2) x by Clenshaw's recurrence. P(u) = sum_k c_k T_k(z), z = (2 u - 1 - eps) / (1 - eps), is
/// the polynomial that approximates 1 / sqrt(u) best on [eps, 1] (Giusti et al., hep-lat/0212012); the library finds
/// the c_k.
#pragma once

#include "common/algorithms/minimax.hpp"
#include "ladder/sign/problem.hpp"

namespace ladder::sign {

/// Computes to = (H / highest) P(H^2 / highest^2) b, where square(out, in) is out = H^2 in and h(out, in) is out = H
/// in.
///   b_k = c_k b + 2 Z b_(k+1) - b_(k+2),   P b = c_0 b + Z b_1 - b_2
template <class H, class Square>
void polynomial_of(vector& to, const vector& b, const plaquette::minimax_polynomial& p, double highest, const H& h,
                   const Square& square) {
  const double width = 1 - p.eps, a = 2 / (width * highest * highest),
               shift = (1 + p.eps) / width;  // Z = a H^2 - shift
  vector last(b.size()), before(b.size()), product = b;
  for (int k = p.degree(); k >= 0; --k) {
    square(product, last);
    const double twice = k > 0 ? 2 : 1, c = p.coefficients[std::size_t(k)];
    for (std::size_t i = 0; i < b.size(); ++i) {
      const auto next = c * b[i] + twice * (a * product[i] - shift * last[i]) - before[i];
      before[i] = last[i], last[i] = next;
    }
  }
  h(to, last);
  for (auto& v : to) v /= highest;
}

}  // namespace ladder::sign
