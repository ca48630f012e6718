// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The force of a gauge action on one link, and the link's motion, for both libraries, on host and device. Links are
/// read as staples.hpp has them.
///
/// Momenta are traceless, anti-Hermitian matrices A = i a_k T_k, tr T_k T_l = 1/2, with the kinetic energy
/// sum a_k^2 / 2 = -sum tr A^2, and dU/dt = A U. Then dA/dt = -(beta/6) TA(U S): TA is the traceless anti-Hermitian
/// part, and S are the staples that close U to the loops of the action, with their weights.
#pragma once

#include "common/algebra/antihermitian.hpp"
#include "common/algebra/su3_exponential.hpp"
#include "common/gauge/staples.hpp"

namespace plaquette {

inline constexpr int planes = dimensions * (dimensions - 1) / 2;

/// Returns the number of the plane (mu, nu), in any order: xy, xz, xt, yz, yt, zt.
PLAQUETTE_HOST_DEVICE constexpr int plane_number(int mu, int nu) {
  const int low = mu < nu ? mu : nu, high = mu < nu ? nu : mu;
  return low == 0 ? high - 1 : low + high;
}
/// Return the directions of a plane, mu < nu.
PLAQUETTE_HOST_DEVICE constexpr int first_of_plane(int plane) { return plane < 3 ? 0 : plane < 5 ? 1 : 2; }
PLAQUETTE_HOST_DEVICE constexpr int second_of_plane(int plane) { return plane < 3 ? plane + 1 : plane == 3 ? 2 : 3; }

/// Forces on the links of the plaquette (mu, nu) at x, mu < nu, traces not yet removed.
struct forces_of_plaquette {
  antihermitian first, last;    ///< of U_mu(x) and U_nu(x)
  antihermitian second, third;  ///< of U_nu(x+mu) and U_mu(x+nu)
};

/// Returns TA(U S), S from plaquettes alone.
template <class Links, class Site, class Weight>
PLAQUETTE_HOST_DEVICE su3<double> plaquette_force(const Links& links, const Site& x, int mu, const Weight& weight) {
  return traceless_antihermitian_part(links(x, mu) * closing_staples(links, x, mu, weight));
}

/// Returns exp(step A) U. The same bits on CPU and GPU.
PLAQUETTE_HOST_DEVICE inline su3<double> moved_link(const su3<double>& u, const su3<double>& momentum, double step) {
  return fused_product(exponential(step * momentum), u);
}

// Rectangles of a plane (mu, nu) are plaquettes one of whose links is bent outwards: it gives way to the three links
// around its neighbour plaquette. All bent links of a plane are a field of four matrices a site, with ghosts of its
// own, so that nothing is read more than one step outside.

/// Returns the bent links of U_mu(x) and U_nu(x): U_mu by way of +nu and -nu, U_nu by way of +mu and -mu, for `which` 0
/// to 3.
template <class Links, class Site>
PLAQUETTE_HOST_DEVICE su3<double> bent_link(const Links& links, const Site& x, int mu, int nu, int which) {
  const int along = which < 2 ? mu : nu, across = which < 2 ? nu : mu;
  return which % 2 == 0 ? upper_staple_along(links, x, along, across, along, across)
                        : lower_staple_along(links, x, along, across, along, across);
}

/// Returns Re tr of the loops of a plane that begin at x, with their weights: the plaquette, and the two rectangles
/// where their weight is not 0.
/// \param bent  reads the bent links as `links` are read; not used where the weight of rectangles is 0
template <class Links, class Bent, class Site>
PLAQUETTE_HOST_DEVICE double loops_of_plane(const Links& links, const Bent& bent, const Site& x, int mu, int nu,
                                            double plaquette_weight, double rectangle_weight) {
  const Site right = links.moved(x, mu, +1), above = links.moved(x, nu, +1);
  const su3<double> there = links(x, mu) * links(right, nu), here = links(x, nu) * links(above, mu);
  const double plaquette = plaquette_weight * real_trace_with_adjoint(there, here);
  if (rectangle_weight == 0.0) return plaquette;
  return plaquette + rectangle_weight * (real_trace_with_adjoint(links(x, mu) * bent(right, 2), here) +
                                         real_trace_with_adjoint(there, links(x, nu) * bent(above, 0)));
}

/// Returns TA(U S), S the staples in a plane that close U_mu(x), or the U_nu(x) of the same plane, to loops: two of
/// plaquettes and six of rectangles, with their weights. A rectangle's staple is a plaquette's with one link bent, and
/// those with two links in common share their product: 11 products for 19.
/// \param bent   reads the bent links as `links` are read
/// \param first  true for the first direction of the plane, mu; false for nu
template <class Links, class Bent, class Site>
PLAQUETTE_HOST_DEVICE su3<double> loop_force_of_plane(const Links& links, const Bent& bent, const Site& x, int mu,
                                                      int nu, bool first, double plaquette_weight,
                                                      double rectangle_weight) {
  const int along = first ? mu : nu, across = first ? nu : mu;
  const int outer = first ? 0 : 2, side = first ? 2 : 0;  // of the bent links, those by way of +
  const Site ahead = links.moved(x, along, +1), above = links.moved(x, across, +1);
  su3<double> sum;
  {  // staples above are corner * U_nu(x)^+
    const su3<double> right = links(ahead, across), top = adjoint(links(above, along));
    const su3<double> corner = right * top;
    const su3<double> bent_corner = bent(ahead, side) * top + right * adjoint(bent(above, outer));
    sum = (plaquette_weight * corner + rectangle_weight * bent_corner) * adjoint(links(x, across)) +
          rectangle_weight * (corner * adjoint(bent(x, side + 1)));
  }
  {  // staples below are corner^+ * U_nu(x - nu)
    const Site below = links.moved(x, across, -1), below_ahead = links.moved(ahead, across, -1);
    const su3<double> bottom = links(below, along), right = links(below_ahead, across);
    const su3<double> corner = adjoint(bottom * right);
    const su3<double> bent_corner = adjoint(bottom * bent(below_ahead, side) + bent(below, outer + 1) * right);
    sum += (plaquette_weight * corner + rectangle_weight * bent_corner) * links(below, across) +
           rectangle_weight * (corner * bent(below, side + 1));
  }
  return traceless_antihermitian_part(links(x, along) * sum);
}

// A plaquette for its four links. Let P be the plaquette at x that begins with U_mu(x), and A and D its neighbours at
// x-mu and x-nu, as loops that begin at x. The rectangle of P and A is P A as a loop that begins with U_mu(x), and A P
// as one that serves U_mu(x+nu), once it is carried there along U_nu(x). Likewise D P ends with U_nu(x)^+, and P D
// serves U_nu(x+mu). All other rectangles around P are these of its neighbours at x+mu and x+nu, carried to x by
// U_mu(x) and U_nu(x): loops can be carried along their own links alone.

/// Numbers of the loops of a plane at x, of which anti-Hermitian parts are kept, with their weights: P, P A, D P,
/// P + P A + P D for U_nu(x+mu), P + A P + D P for U_mu(x+nu).
enum class plane_loop { plaquette, left, below, second, third };
inline constexpr int plane_loops = 5;

/// Makes them. Nine products of matrices and four anti-Hermitian parts of products: 1.3 kFMA.
/// \param take  take(plane_loop, loop), for each of them
template <class Links, class Site, class Take>
PLAQUETTE_HOST_DEVICE void make_plane_loops(const Links& links, const Site& x, int mu, int nu, double plaquette_weight,
                                            double rectangle_weight, const Take& take) {
  const su3<double> p =
      (links(x, mu) * links(links.moved(x, mu, +1), nu)) * adjoint(links(x, nu) * links(links.moved(x, nu, +1), mu));
  const antihermitian plaquette = plaquette_weight * antihermitian_part(p);
  take(plane_loop::plaquette, plaquette);
  antihermitian second, third;
  {
    const Site at = links.moved(x, mu, -1);
    const su3<double> around = adjoint(links(at, mu)) * links(at, nu) * links(links.moved(at, nu, +1), mu),
                      a = links(x, nu) * adjoint(around);
    const antihermitian left = rectangle_weight * antihermitian_part_of_product(p, a);
    take(plane_loop::left, left);
    second = plaquette + left;
    third = plaquette + rectangle_weight * antihermitian_part_of_product(a, p);
  }
  const Site at = links.moved(x, nu, -1);
  const su3<double> around = adjoint(links(at, nu)) * links(at, mu) * links(links.moved(at, mu, +1), nu),
                    d = around * adjoint(links(x, mu));
  const antihermitian below = rectangle_weight * antihermitian_part_of_product(d, p);
  take(plane_loop::below, below);
  take(plane_loop::third, third + below);
  take(plane_loop::second, second + rectangle_weight * antihermitian_part_of_product(p, d));
}

/// Returns what plaquette and rectangles add to the anti-Hermitian part of U S of the plaquette's links. Four matrices
/// carried along links: 0.6 kFMA.
/// \param loops  loops(x, plane_loop)
template <class Links, class Loops, class Site>
PLAQUETTE_HOST_DEVICE forces_of_plaquette loop_forces_of_plaquette(const Links& links, const Loops& loops,
                                                                   const Site& x, int mu, int nu) {
  const su3<double> u = links(x, mu), v = links(x, nu);
  const antihermitian right = carried(u, loops(links.moved(x, mu, +1), plane_loop::left)),
                      above = carried(v, loops(links.moved(x, nu, +1), plane_loop::below)),
                      here = loops(x, plane_loop::plaquette) + right + above;
  return {here + loops(x, plane_loop::left), -1.0 * (here + loops(x, plane_loop::below)),
          carried(adjoint(u), loops(x, plane_loop::second) + above),
          -1.0 * carried(adjoint(v), loops(x, plane_loop::third) + right)};
}

}  // namespace plaquette
