// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 3 brings: P(H^2) x by Clenshaw's recurrence. P(u) = sum_k c_k T_k(z), z = (2 u - 1 - eps) / (1 - eps), is
/// the polynomial that approximates 1 / sqrt(u) best on [eps, 1] (Giusti et al., hep-lat/0212012); the library finds
/// the c_k.
#pragma once

#include "common/approximation/minimax.hpp"
#include "ladder/sign/problem.hpp"

namespace ladder::sign {

/// Does steps k = first, ..., last of the recurrence, where square(out, in) is out = H^2 in:
///   b_k = c_k b + 2 Z b_(k+1) - b_(k+2),   P b = c_0 b + Z b_1 - b_2
/// \param now, before  b_(k+1) and b_(k+2), then those of the next step; in precision R
template <class R, class Square>
void clenshaw_steps(solvers::vector<R>& now, solvers::vector<R>& before, const solvers::vector<R>& b,
                    const plaquette::minimax_polynomial& p, double highest, int first, int last, const Square& square) {
  const double width = 1 - p.eps;
  const R a = R(2 / (width * highest * highest)), shift = R((1 + p.eps) / width);  // Z = a H^2 - shift
  solvers::vector<R> product = b;
  for (int k = first; k >= last; --k) {
    square(product, now);
    const R twice = k > 0 ? 2 : 1, c = R(p.coefficients[std::size_t(k)]);
    for (std::size_t i = 0; i < b.size(); ++i) {
      const auto next = c * b[i] + twice * (a * product[i] - shift * now[i]) - before[i];
      before[i] = now[i], now[i] = next;
    }
  }
}

/// Computes to = (H / highest) P(H^2 / highest^2) b, where h(out, in) is out = H in.
template <class H, class Square>
void polynomial_of(vector& to, const vector& b, const plaquette::minimax_polynomial& p, double highest, const H& h,
                   const Square& square) {
  vector now(b.size()), before(b.size());
  clenshaw_steps(now, before, b, p, highest, p.degree(), 0, square);
  h(to, now);
  for (auto& v : to) v /= highest;
}

}  // namespace ladder::sign
