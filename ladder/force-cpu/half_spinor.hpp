// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 2 brings: few outer products. (1 +- gamma)^2 = 2 (1 +- gamma), so a hop takes the two upper spins of both
/// projected spinors, and half of their trace is the trace. Each row of gamma_mu gamma_nu has one number, which keeps
/// chirality: a leaf takes four outer products.
#pragma once

#include "ladder/force-cpu/formula.hpp"

namespace ladder::force {

/// Returns G_mu(x) of the hops.
template <int mu, class Fields>
LADDER_BOTH matrix hopping_loops_of_two_spins(const Fields& f, int site) {
  const int ahead = f.neighbour(site, mu, +1);
  dirac::half_spinor<double> to, from;
  matrix sum{};
  dirac::project<mu, +1>(to, f.x(ahead).spin);
  dirac::project<mu, +1>(from, f.y(site).spin);
  for (int spin = 0; spin < 2; ++spin) add_outer_product(sum, to[spin], from[spin]);
  dirac::project<mu, -1>(to, f.y(ahead).spin);
  dirac::project<mu, -1>(from, f.x(site).spin);
  for (int spin = 0; spin < 2; ++spin) add_outer_product(sum, to[spin], from[spin]);
  return f.link(site, mu) * sum;
}

/// Calls take(mu, G) for the four links of a site.
template <class Fields, class Take>
LADDER_BOTH void for_hops_of_site(const Fields& f, int site, const Take& take) {
  take(0, hopping_loops_of_two_spins<0>(f, site));
  take(1, hopping_loops_of_two_spins<1>(f, site));
  take(2, hopping_loops_of_two_spins<2>(f, site));
  take(3, hopping_loops_of_two_spins<3>(f, site));
}

/// Returns Z of the plane (mu, nu), mu < nu.
template <class Fields>
LADDER_BOTH matrix leaf_of_four_products(const Fields& f, int site, int mu, int nu) {
  const int column_of[4][4] = {{3, 2, 1, 0}, {3, 2, 1, 0}, {2, 3, 0, 1}, {2, 3, 0, 1}};
  const spinor x = f.x(site), y = f.y(site);
  matrix sum{};
  for (int row = 0; row < 4; ++row) {
    const int between = column_of[mu][row], column = column_of[nu][between];
    const complex number = gamma(mu, row, between) * gamma(nu, between, column);
    vector rotated;
    for (int c = 0; c < 3; ++c) rotated[c] = number * x.spin[column][c];
    add_outer_product(sum, rotated, y.spin[row]);
  }
  return leaf_of(sum);
}

}  // namespace ladder::force
