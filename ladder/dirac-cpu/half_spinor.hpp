// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 2 brings: 1 -+ gamma_mu has rank two. So two spins are projected, multiplied by the link and
/// reconstructed. Each upper spin a = 0, 1 has one lower partner: gamma_mu(a, lower) = i^power. Then
///   ((1 - s gamma) psi)_a = psi_a - s i^power psi_lower =: h_a  and  ((1 - s gamma) psi)_lower = -s i^-power h_a.
/// R is any type that adds and multiplies like a number: double here, and a register of many numbers later.
#pragma once

#include <utility>

#include "ladder/device.hpp"

namespace ladder::dirac {

template <class R>
struct complex {
  R re, im;
};
/// c += a b
template <class R>
LADDER_BOTH void add_product(complex<R>& c, const complex<R>& a, const complex<R>& b) {
  c.re += a.re * b.re - a.im * b.im;
  c.im += a.re * b.im + a.im * b.re;
}
/// c += conj(a) b
template <class R>
LADDER_BOTH void add_conjugate_product(complex<R>& c, const complex<R>& a, const complex<R>& b) {
  c.re += a.re * b.re + a.im * b.im;
  c.im += a.re * b.im - a.im * b.re;
}
/// Returns a + i^power b: additions alone.
template <int power, class R>
LADDER_BOTH complex<R> add_rotated(const complex<R>& a, const complex<R>& b) {
  if constexpr (power % 4 == 0) return {a.re + b.re, a.im + b.im};
  if constexpr (power % 4 == 1) return {a.re - b.im, a.im + b.re};
  if constexpr (power % 4 == 2) return {a.re - b.re, a.im - b.im};
  if constexpr (power % 4 == 3) return {a.re + b.im, a.im - b.re};
}

template <class R>
using spinor = complex<R>[4][3];
template <class R>
using half_spinor = complex<R>[2][3];
template <class R>
using link = complex<R>[3][3];

inline constexpr int lower[4][2] = {{3, 2}, {3, 2}, {2, 3}, {2, 3}};
inline constexpr int power[4][2] = {{1, 1}, {2, 0}, {1, 3}, {0, 0}};

/// h = the upper spins of (1 - sign gamma_mu) psi.
template <int mu, int sign, class R>
LADDER_BOTH void project(half_spinor<R>& h, const spinor<R>& psi) {
  constexpr int minus = sign > 0 ? 2 : 0;  // i^2 = -1
  constexpr int first = lower[mu][0], second = lower[mu][1];
  for (int c = 0; c < 3; ++c) {
    h[0][c] = add_rotated<power[mu][0] + minus>(psi[0][c], psi[first][c]);
    h[1][c] = add_rotated<power[mu][1] + minus>(psi[1][c], psi[second][c]);
  }
}

/// sum += all four spins of (1 - sign gamma_mu) psi, given the upper ones.
template <int mu, int sign, class R>
LADDER_BOTH void add_reconstructed(spinor<R>& sum, const half_spinor<R>& h) {
  constexpr int minus = sign > 0 ? 2 : 0;
  constexpr int of_0 = lower[mu][0], of_1 = lower[mu][1];
  for (int c = 0; c < 3; ++c) {
    sum[0][c] = add_rotated<0>(sum[0][c], h[0][c]);
    sum[1][c] = add_rotated<0>(sum[1][c], h[1][c]);
    complex<R>&first = sum[of_0][c], &second = sum[of_1][c];
    first = add_rotated<4 - power[mu][0] + minus>(first, h[0][c]);
    second = add_rotated<4 - power[mu][1] + minus>(second, h[1][c]);
  }
}

/// g = U h for a hop forwards, U^+ h for one backwards.
template <int sign, class R>
LADDER_BOTH void transport(half_spinor<R>& g, const link<R>& u, const half_spinor<R>& h) {
  for (int spin = 0; spin < 2; ++spin)
    for (int a = 0; a < 3; ++a) {
      g[spin][a] = complex<R>{};
      for (int b = 0; b < 3; ++b)
        if constexpr (sign > 0)
          add_product(g[spin][a], u[a][b], h[spin][b]);
        else
          add_conjugate_product(g[spin][a], u[b][a], h[spin][b]);
    }
}

/// Adds a hop to the sum: everything but where the numbers come from.
template <int mu, int sign, class R>
LADDER_BOTH void add_hop(spinor<R>& sum, const link<R>& u, const spinor<R>& psi) {
  half_spinor<R> h, g;
  project<mu, sign>(h, psi);
  transport<sign>(g, u, h);
  add_reconstructed<mu, sign>(sum, g);
}

/// Calls hop.template operator()<mu, sign>() for the eight hops; hop number k is 2 mu forwards and 2 mu + 1 backwards.
template <class Hop>
LADDER_BOTH void for_each_hop(const Hop& hop) {
  [&]<int... k>(std::integer_sequence<int, k...>) {
    (hop.template operator()<k / 2, k % 2 == 0 ? +1 : -1>(), ...);
  }(std::make_integer_sequence<int, 8>{});
}

}  // namespace ladder::dirac
