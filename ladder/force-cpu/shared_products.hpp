// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 3 brings: products that insertions share. Behind U_mu(x) a plaquette is V1 V2 V3, and its four loops are
/// (Z V1 + V1 Z) V2 V3 + V1 V2 (Z V3 + V3 Z): 8 products for 17. The link itself is multiplied once a plane.
#pragma once

#include "ladder/force-cpu/problem.hpp"

namespace ladder::force {

/// Returns G_mu(x) of the leaves.
template <class Fields>
LADDER_BOTH matrix clover_loops_of_shared_products(const Fields& f, int x, int mu) {
  matrix sum{};
  const int ahead = f.neighbour(x, mu, +1);
  for (int nu = 0; nu < 4; ++nu)
    for (int turn = +1; turn >= -1 && nu != mu; turn -= 2) {
      const int corner = f.neighbour(ahead, nu, turn), above = f.neighbour(x, nu, turn), p = plane(mu, nu);
      const matrix v1 = turn > 0 ? f.link(ahead, nu) : adjoint(f.link(corner, nu)), v2 = adjoint(f.link(above, mu)),
                   v3 = turn > 0 ? adjoint(f.link(x, nu)) : f.link(above, nu);
      const matrix loops = (f.leaf(ahead, p) * v1 + v1 * f.leaf(corner, p)) * (v2 * v3) +
                           (v1 * v2) * (f.leaf(above, p) * v3 + v3 * f.leaf(x, p));
      sum = sum + ((mu < nu) == (turn > 0) ? 1.0 : -1.0) * loops;
    }
  return f.link(x, mu) * sum;
}

}  // namespace ladder::force
