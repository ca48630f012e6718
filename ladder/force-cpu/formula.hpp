// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 1 brings: the formulas, with loops over all spins and a product for each insertion of a leaf. `f` reads
/// links, leaves, spinors and neighbours: from plain arrays here, in other orders on a GPU.
#pragma once

#include "ladder/force-cpu/problem.hpp"

namespace ladder::force {

/// Returns gamma_mu(row, column), of DeGrand and Rossi.
LADDER_BOTH inline complex gamma(int mu, int row, int column) {
  // Each row has one number: i^power in this column.
  const int column_of[4][4] = {{3, 2, 1, 0}, {3, 2, 1, 0}, {2, 3, 0, 1}, {2, 3, 0, 1}};
  const int power_of[4][4] = {{1, 1, 3, 3}, {2, 0, 0, 2}, {1, 3, 3, 1}, {0, 0, 0, 0}};
  const int power = power_of[mu][row];
  if (column != column_of[mu][row]) return {0, 0};
  return power % 2 == 0 ? complex{1.0 - power, 0} : complex{0, 2.0 - power};
}
/// Returns sum_rs a_r b_s^+ spin(s, r): a product of two spinors and a spin matrix, traced over spin.
template <class Spin>
LADDER_BOTH matrix traced_over_spin(const spinor& a, const spinor& b, const Spin& spin) {
  matrix sum{};
  for (int r = 0; r < 4; ++r)
    for (int s = 0; s < 4; ++s) {
      matrix product{};
      add_outer_product(product, a.spin[r], b.spin[s]);
      sum = sum + spin(s, r) * product;
    }
  return sum;
}

/// Returns G_mu(x) of the hops.
template <class Fields>
LADDER_BOTH matrix hopping_loops(const Fields& f, int x, int mu) {
  const int ahead = f.neighbour(x, mu, +1);
  const auto projector = [mu](double sign) {
    return [mu, sign](int s, int r) { return complex{s == r ? 1.0 : 0.0, 0} + sign * gamma(mu, s, r); };
  };
  return f.link(x, mu) *
         (traced_over_spin(f.x(ahead), f.y(x), projector(-1)) + traced_over_spin(f.y(ahead), f.x(x), projector(+1)));
}

/// Returns Z of the plane (mu, nu), mu < nu.
template <class Fields>
LADDER_BOTH matrix leaf_at(const Fields& f, int x, int mu, int nu) {
  return leaf_of(traced_over_spin(f.x(x), f.y(x), [&](int s, int r) {
    complex sum{};
    for (int k = 0; k < 4; ++k) dirac::add_product(sum, gamma(mu, s, k), gamma(nu, k, r));
    return sum;
  }));
}

/// Returns G_mu(x) of the leaves: around six plaquettes, Z is put in once at each of four corners. Z of (nu, mu) is
/// that of (mu, nu) with the other sign, and so is that of a plaquette that turns the other way.
template <class Fields>
LADDER_BOTH matrix clover_loops(const Fields& f, int x, int mu) {
  matrix sum{};
  const int ahead = f.neighbour(x, mu, +1);
  for (int nu = 0; nu < 4; ++nu)
    for (int turn = +1; turn >= -1 && nu != mu; turn -= 2) {
      const int corner[5] = {x, ahead, f.neighbour(ahead, nu, turn), f.neighbour(x, nu, turn), x};
      const matrix path[4] = {f.link(x, mu), turn > 0 ? f.link(ahead, nu) : adjoint(f.link(corner[2], nu)),
                              adjoint(f.link(corner[3], mu)),
                              turn > 0 ? adjoint(f.link(x, nu)) : f.link(corner[3], nu)};
      for (int k = 0; k < 4; ++k) {
        matrix loop = path[0];
        for (int step = 0; step < 4; ++step) {
          if (step > 0) loop = loop * path[step];
          if (step == k) loop = loop * f.leaf(corner[step + 1], plane(mu, nu));
        }
        sum = sum + ((mu < nu) == (turn > 0) ? 1.0 : -1.0) * loop;
      }
    }
  return sum;
}

}  // namespace ladder::force
