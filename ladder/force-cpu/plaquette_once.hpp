// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 4 brings: a plaquette serves its four links at once. Let P be the plaquette at x, and z1 to z4 the leaves
/// of its corners x, x+mu, x+mu+nu, x+nu, carried to x along its links: U z U^+. Then G of each link is a product of P
/// and their sum, up to the side of P on which a leaf stands. A change of side adds [z, P] = z P - P z, of which TA
/// keeps [z, P_a], P_a the anti-Hermitian part of P. Without the sign of the last two the forces are
///   third link   f3 = TA((z1 + z2 + z3 + z4) P)
///   fourth link  f4 = f3 - [z4, P_a],   first link f1 = f4 - [z1, P_a],   second link f2 = f1 - [z2, P_a]
/// f1 and f4 belong to links that begin at x. f2 and f3 are carried to x+mu and x+nu, where theirs begin.
#pragma once

#include "ladder/force-cpu/problem.hpp"

namespace ladder::force {

LADDER_BOTH inline matrix antihermitian_part(const matrix& a) { return 0.5 * (a - adjoint(a)); }
/// Returns [a, b] of two anti-Hermitian matrices: b a is the adjoint of a b.
LADDER_BOTH inline matrix commutator(const matrix& a, const matrix& b) { return 2 * antihermitian_part(a * b); }
LADDER_BOTH inline matrix carried(const matrix& u, const matrix& z) { return u * z * adjoint(u); }

/// Calls take(number of the link, force) for the four links of a plaquette, in the order of the formula above. They are
/// U_mu(x), U_nu(x+mu), U_mu(x+nu) and U_nu(x). Forces keep their trace.
template <class Fields, class Take>
LADDER_BOTH void for_links_of_plaquette(const Fields& f, int x, int mu, int nu, const Take& take) {
  const int ahead = f.neighbour(x, mu, +1), above = f.neighbour(x, nu, +1), number = plane(mu, nu);
  const matrix u = f.link(x, mu), v = f.link(x, nu), corner = u * f.link(ahead, nu);
  const matrix p = corner * adjoint(v * f.link(above, mu)), p_a = antihermitian_part(p);
  const matrix z1 = f.leaf(x, number), z2 = carried(u, f.leaf(ahead, number)),
               z3 = carried(corner, f.leaf(f.neighbour(ahead, nu, +1), number)), z4 = carried(v, f.leaf(above, number));
  const matrix f3 = antihermitian_part((z1 + z2 + z3 + z4) * p), f4 = f3 - commutator(z4, p_a),
               f1 = f4 - commutator(z1, p_a), f2 = f1 - commutator(z2, p_a);
  take(1, f1), take(2, carried(adjoint(u), f2)), take(3, carried(adjoint(v), f3)), take(4, f4);
}

}  // namespace ladder::force
