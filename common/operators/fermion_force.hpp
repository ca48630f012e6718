// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The force of Wilson-clover quarks on one link, for both libraries, on host and device. Links are read as
/// common/gauge/staples.hpp has them, momenta are those of common/gauge/force.hpp.
///
/// An action whose differential is dS = -2 Re Y^+ dM X, M = A - D / 2, has the differential dS = Re tr(dA G) for links
/// that move as dU = dA U, and the force dA/dt = TA(G) / 2.
///
/// Hops: G_mu(x) = c_mu U_mu(x) sum_spin [X(x+mu) Y(x)^+ (1 - gamma_mu) + (1 + gamma_mu) Y(x+mu) X(x)^+], times the
/// boundary phase.
///
/// Clover term: dS = Re sum_x sum_{mu<nu} tr(dQ_munu(x) Z_munu(x)), Q the sum of the four plaquettes around x. The
/// leaves are Z_munu = (c_munu / 8) (L - L^+), L = sum_spin X Y^+ gamma_mu gamma_nu, with their trace. For
/// S = -2 log det A, A^-1 stands in the place of X Y^+. Leaves of several terms are added up, and links gather them
/// once.
#pragma once

#include <cmath>
#include <limits>

#include "common/algebra/hermitian_6x6.hpp"
#include "common/algebra/matrix_parts.hpp"
#include "common/algebra/projector.hpp"
#include "common/gauge/force.hpp"
#include "common/lattice/fermion_action.hpp"

namespace plaquette {

// --- Hops ------------------------------------------------------------------------------------------------------------

/// Two spins of (1 + sign gamma_mu) psi, psi in the time-diagonal basis: they fix the other two. In time without the
/// factor 2.
template <int mu, int sign>
struct projected_spinor {
  colour_vector<double> spin[2];

  PLAQUETTE_HOST_DEVICE explicit projected_spinor(const spinor<double>& psi) {
    for (int c = 0; c < colours; ++c) {
      if constexpr (mu == 3) {
        for (int a = 0; a < 2; ++a) spin[a][c] = psi(spin_kept_in_time(sign) + a, c);
      } else {
        constexpr chiral_links pair = links_of_gamma(mu);
        spin[0][c] = project_spin<mu, sign, 0>(psi(0, c), psi(pair.lower[0], c));
        spin[1][c] = project_spin<mu, sign, 1>(psi(1, c), psi(pair.lower[1], c));
      }
    }
  }
};

/// Adds a b^+ to m.
PLAQUETTE_HOST_DEVICE constexpr void add_outer_product(su3<double>& m, const colour_vector<double>& a,
                                                       const colour_vector<double>& b) {
  for (int i = 0; i < colours; ++i)
    for (int j = 0; j < colours; ++j) m(i, j) += a[i] * conj(b[j]);
}

/// Returns sum_spin [X(x+mu) Y(x)^+ (1 - gamma_mu) + (1 + gamma_mu) Y(x+mu) X(x)^+], summed over columns. As
/// (1 +- gamma)^2 = 2 (1 +- gamma), and half of its trace comes from two spins, it is the sum of four outer products.
/// \param x, y  x(site, column) is a spinor in the time-diagonal basis
template <int mu, class Spinors, class Site>
PLAQUETTE_HOST_DEVICE su3<double> hopping_outer_product(const Spinors& x, const Spinors& y, const Site& here,
                                                        const Site& ahead, int columns) {
  su3<double> sum;
  PLAQUETTE_ROLLED
  for (int column = 0; column < columns; ++column) {
    {
      const projected_spinor<mu, -1> to(x(ahead, column)), from(y(here, column));
      for (int a = 0; a < 2; ++a) add_outer_product(sum, to.spin[a], from.spin[a]);
    }
    const projected_spinor<mu, +1> to(y(ahead, column)), from(x(here, column));
    for (int a = 0; a < 2; ++a) add_outer_product(sum, to.spin[a], from.spin[a]);
  }
  return mu == 3 ? 2.0 * sum : sum;
}

/// Returns what a step adds to the momentum of a link U_mu.
/// \param factor  half the step, times c_mu and the link's boundary phase
PLAQUETTE_HOST_DEVICE inline su3<double> hopping_force(const su3<double>& u, const su3<double>& outer_product,
                                                       const complex<double>& factor) {
  return traceless_antihermitian_part(factor * (u * outer_product));
}

// --- Leaves ----------------------------------------------------------------------------------------------------------

/// What stands in the place of X Y^+ in leaves: of one chirality, a colour matrix for each pair of its two spins.
struct spin_pairs {
  su3<double> of[2][2];
};

/// Returns sum_ss' T_ss' (sigma_k)_s's, k = 1, 2, 3.
template <int k>
PLAQUETTE_HOST_DEVICE constexpr su3<double> pauli_trace(const spin_pairs& t) {
  if constexpr (k == 1) return t.of[0][1] + t.of[1][0];
  if constexpr (k == 2) return complex<double>{0.0, 1.0} * (t.of[0][1] - t.of[1][0]);
  if constexpr (k == 3) return t.of[0][0] - t.of[1][1];
}

/// Returns the spinor of the DeGrand-Rossi basis, given that of the time-diagonal one (spin_basis.hpp).
PLAQUETTE_HOST_DEVICE constexpr spinor<double> in_degrand_rossi_basis(const spinor<double>& psi) {
  constexpr double factor = 0.70710678118654752440;
  spinor<double> result;
  for (int s = 0; s < 2; ++s)
    for (int c = 0; c < colours; ++c) {
      result(s, c) = factor * (psi(s, c) + psi(s + 2, c));
      result(s + 2, c) = factor * (psi(s, c) - psi(s + 2, c));
    }
  return result;
}

/// Adds pauli_trace<k> of X Y^+ in one chirality; spinors of the DeGrand-Rossi basis.
template <int k>
PLAQUETTE_HOST_DEVICE constexpr void add_pauli_trace(su3<double>& sum, const spinor<double>& x, const spinor<double>& y,
                                                     int chirality) {
  const int s = 2 * chirality;
  colour_vector<double> upper = x[s], lower = x[s + 1];
  for (int c = 0; c < colours; ++c) {
    if constexpr (k == 2) upper[c] = {-upper[c].im, upper[c].re}, lower[c] = {lower[c].im, -lower[c].re};
    if constexpr (k == 3) lower[c] = -lower[c];
  }
  add_outer_product(sum, upper, k == 3 ? y[s] : y[s + 1]);
  add_outer_product(sum, lower, k == 3 ? y[s + 1] : y[s]);
}

PLAQUETTE_HOST_DEVICE constexpr spin_pairs spin_pairs_of(const hermitian_6x6& block) {
  spin_pairs t;
  for (int s = 0; s < 2; ++s)
    for (int r = 0; r < 2; ++r)
      for (int i = 0; i < colours; ++i)
        for (int j = 0; j < colours; ++j) t.of[s][r](i, j) = block(colours * s + i, colours * r + j);
  return t;
}

/// What multiplies L - L^+ in a plane of space, and in one with time.
struct leaf_weights {
  double spatial, temporal;

  leaf_weights(const fermion_action& action, double factor)
      : spatial(factor / 8.0 * action.clover_coefficient(0, 1)),
        temporal(factor / 8.0 * action.clover_coefficient(0, 3)) {}
};

/// Adds the leaves of the plane of space without direction k, and of the plane (k, t), k from 1; `first` and `second`
/// are pauli_trace<k> of the two chiralities. In the DeGrand-Rossi basis gamma_y gamma_z, gamma_x gamma_z and
/// gamma_x gamma_y are -i sigma_k, and gamma_k gamma_t are i s_k and -i s_k, s = (sigma_1, -sigma_2, sigma_3).
/// \param add  add(plane, change)
template <int k, class Add>
PLAQUETTE_HOST_DEVICE void add_leaves_of(const su3<double>& first, const su3<double>& second, const leaf_weights& w,
                                         const Add& add) {
  const auto leaf = [](double weight, double sign, const su3<double>& l) {
    const su3<double> turned = complex<double>{0.0, sign * weight} * l;
    return turned - adjoint(turned);
  };
  add(k == 1   ? plane_number(1, 2)
      : k == 2 ? plane_number(0, 2)
               : plane_number(0, 1),
      leaf(w.spatial, -1.0, first + second));
  add(plane_number(k - 1, 3), leaf(w.temporal, k == 2 ? -1.0 : 1.0, first - second));
}

/// Adds the leaves of X Y^+ of a site, summed over columns.
/// \param x, y  x(site, column) is a spinor in the time-diagonal basis
template <int k, class Spinors, class Site, class Add>
PLAQUETTE_HOST_DEVICE void add_spinor_leaves(const Spinors& x, const Spinors& y, const Site& site, int columns,
                                             const leaf_weights& w, const Add& add) {
  su3<double> first, second;
  PLAQUETTE_ROLLED
  for (int column = 0; column < columns; ++column) {
    const spinor<double> a = in_degrand_rossi_basis(x(site, column)), b = in_degrand_rossi_basis(y(site, column));
    add_pauli_trace<k>(first, a, b, 0);
    add_pauli_trace<k>(second, a, b, 1);
  }
  add_leaves_of<k>(first, second, w, add);
}

/// Adds the leaves of A^-1 of a site, given its two chiralities.
template <int k, class Add>
PLAQUETTE_HOST_DEVICE void add_determinant_leaves(const hermitian_6x6& first, const hermitian_6x6& second,
                                                  const leaf_weights& w, const Add& add) {
  add_leaves_of<k>(pauli_trace<k>(spin_pairs_of(first)), pauli_trace<k>(spin_pairs_of(second)), w, add);
}

// --- Gather ----------------------------------------------------------------------------------------------------------

/// Returns what closes U_mu(x) to G_mu(x) of the leaves of one plane. Around each of its two plaquettes the leaves are
/// put in once at each corner: (Z V1 + V1 Z) V2 V3 + V1 V2 (Z V3 + V3 Z), 8 products for 12.
/// \param leaves  leaves(x, plane_number(mu, nu)) is Z_munu(x), mu < nu; read as links are
/// \param ahead   moved(x, mu, +1)
template <class Links, class Leaves, class Site>
PLAQUETTE_HOST_DEVICE su3<double> clover_gather_of_plane(const Links& links, const Leaves& leaves, const Site& x,
                                                         const Site& ahead, int mu, int nu) {
  const int plane = plane_number(mu, nu);
  const auto around = [&](const su3<double>& a, const su3<double>& b, const su3<double>& c, const Site& before_a,
                          const Site& after_a, const Site& before_c, const Site& after_c) {
    return (leaves(before_a, plane) * a + a * leaves(after_a, plane)) * (b * c) +
           (a * b) * (leaves(before_c, plane) * c + c * leaves(after_c, plane));
  };
  su3<double> sum;
  {  // from x + mu up, back and down to x
    const Site above = links.moved(x, nu, +1), corner = links.moved(ahead, nu, +1);
    sum = around(links(ahead, nu), adjoint(links(above, mu)), adjoint(links(x, nu)), ahead, corner, above, x);
  }
  // From x down, along and up to x + mu: the plaquette turns the other way, so this is the adjoint of its staple.
  const Site below = links.moved(x, nu, -1), corner = links.moved(ahead, nu, -1);
  sum += adjoint(around(adjoint(links(below, nu)), links(below, mu), links(corner, nu), x, below, corner, ahead));
  return (mu < nu ? 1.0 : -1.0) * sum;
}

/// Returns G_mu(x) of the leaves, of all planes.
template <class Links, class Leaves, class Site>
PLAQUETTE_HOST_DEVICE su3<double> clover_gather(const Links& links, const Leaves& leaves, const Site& x, int mu) {
  const Site ahead = links.moved(x, mu, +1);
  su3<double> sum;
  PLAQUETTE_ROLLED
  for (int nu = 0; nu < dimensions; ++nu)
    if (nu != mu) sum += clover_gather_of_plane(links, leaves, x, ahead, mu, nu);
  return links(x, mu) * sum;
}

/// Returns what a step adds to the momentum of U_mu(x).
template <class Links, class Leaves, class Site>
PLAQUETTE_HOST_DEVICE su3<double> clover_force(const Links& links, const Leaves& leaves, const Site& x, int mu,
                                               double step) {
  return (0.5 * step) * traceless_antihermitian_part(clover_gather(links, leaves, x, mu));
}

// --- A plaquette for its four links ----------------------------------------------------------------------------------

// Let P be the plaquette at x, and z1 to z4 the leaves of its corners x, x+mu, x+mu+nu, x+nu, carried to x along its
// links: U z U^+. Then G of each link is a product of P and their sum, up to the side of P on which a leaf stands. A
// change of side adds [z, P], of which TA keeps [z, P_a], P_a the anti-Hermitian part of P. So a plaquette serves all
// of its links for 1.3 kFMA of real numbers; `clover_gather_of_plane` takes 3.7, as it multiplies a plaquette once a
// link.

/// Returns what the leaves of the plane (mu, nu), mu < nu, add to the anti-Hermitian part of G of the plaquette's
/// links.
/// \param leaves  leaves(x, plane_number(mu, nu)) is Z_munu(x), of which the lower triangle is read; read as links are
template <class Links, class Leaves, class Site>
PLAQUETTE_HOST_DEVICE forces_of_plaquette clover_forces_of_plaquette(const Links& links, const Leaves& leaves,
                                                                     const Site& x, int mu, int nu) {
  const Site ahead = links.moved(x, mu, +1), above = links.moved(x, nu, +1);
  const auto leaf = [&](const Site& at) { return antihermitian_of_lower(leaves(at, plane_number(mu, nu))); };
  const su3<double> u = links(x, mu), v = links(x, nu), corner = u * links(ahead, nu);
  const su3<double> p = corner * adjoint(v * links(above, mu));
  antihermitian all = carried(corner, leaf(links.moved(ahead, nu, +1)));
  const antihermitian z1 = leaf(x), z2 = carried(u, leaf(ahead)), z4 = carried(v, leaf(above));
  all += z1 + z2 + z4;
  const antihermitian twice_p_a = 2.0 * antihermitian_part(p);
  const antihermitian third = antihermitian_part_of_product(all, p), last = third - half_commutator(z4, twice_p_a),
                      first = last - half_commutator(z1, twice_p_a), second = first - half_commutator(z2, twice_p_a);
  return {first, -1.0 * last, carried(adjoint(u), second), -1.0 * carried(adjoint(v), third)};
}

// --- Determinants ----------------------------------------------------------------------------------------------------

/// Returns ln det A for a Hermitian A, by elimination with the largest number of a column as pivot. NaN where A is
/// singular (a pivot below 6 epsilon times the largest), has a negative determinant, or holds a NaN.
PLAQUETTE_HOST_DEVICE inline double log_determinant(const hermitian_6x6& block) {
  constexpr double threshold = chiral_rows * std::numeric_limits<double>::epsilon();
  complex<double> a[chiral_rows][chiral_rows];
  for (int i = 0; i < chiral_rows; ++i)
    for (int j = 0; j < chiral_rows; ++j) a[i][j] = block(i, j);
  complex<double> phase{1.0, 0.0};
  double product = 1.0, largest = 0.0;
  bool regular = true;
  for (int k = 0; k < chiral_rows; ++k) {
    int pivot = k;
    for (int i = k + 1; i < chiral_rows; ++i)
      if (norm2(a[i][k]) > norm2(a[pivot][k])) pivot = i;
    if (pivot != k) phase = -phase;
    for (int j = k; j < chiral_rows; ++j) {
      const complex<double> old = a[k][j];
      a[k][j] = a[pivot][j];
      a[pivot][j] = old;
    }
    const double square = norm2(a[k][k]), size = std::sqrt(square);
    largest = square > largest ? square : largest;
    regular = regular && square > threshold * threshold * largest;
    product *= size;
    phase = (1.0 / size) * (phase * a[k][k]);
    const complex<double> inverse = (1.0 / square) * conj(a[k][k]);
    for (int i = k + 1; i < chiral_rows; ++i) {
      const complex<double> factor = a[i][k] * inverse;
      for (int j = k + 1; j < chiral_rows; ++j) a[i][j] -= factor * a[k][j];
    }
  }
  return regular && phase.re > 0.0 ? std::log(product) : std::numeric_limits<double>::quiet_NaN();
}

/// Returns ln det of both chiralities.
PLAQUETTE_HOST_DEVICE inline double log_determinant(const clover_block& block) {
  return log_determinant(block.chirality[0]) + log_determinant(block.chirality[1]);
}

}  // namespace plaquette
