// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The projectors 1 +- gamma_mu in the time-diagonal basis (spin_basis.hpp), as what a hop needs: a half-spinor of two
/// spins, and what it adds to all four. In time that is one half of a spinor, doubled, and nothing in the other half.
#pragma once

#include "common/algebra/gamma.hpp"

namespace plaquette {

/// A Dirac matrix of a chiral basis links each upper spin a (0, 1) with one lower spin, by a phase that is a power of
/// i: gamma_mu(a, lower[a]) = i^power[a].
struct chiral_links {
  int lower[2];
  int power[2];
};

/// Of DeGrand-Rossi's matrices, read off `gamma_matrix` so that they are defined once. In the time-diagonal basis
/// gamma_x, gamma_y and gamma_z are minus these.
constexpr chiral_links links_of_gamma(int mu) {
  const spin_matrix g = gamma_matrix(mu);
  chiral_links links{};
  for (int a = 0; a < 2; ++a)
    for (int b = 2; b < spins; ++b) {
      const complex<double> v = g(a, b);
      if (v == complex<double>{}) continue;
      links.lower[a] = b;
      links.power[a] = v.re > 0 ? 0 : v.im > 0 ? 1 : v.re < 0 ? 2 : 3;
    }
  return links;
}

/// Returns a + i^power b, for any complex number type with parts re and im.
template <int power, class Complex>
constexpr Complex add_rotated(const Complex& a, const Complex& b) {
  if constexpr ((power & 3) == 0) return {a.re + b.re, a.im + b.im};
  if constexpr ((power & 3) == 1) return {a.re - b.im, a.im + b.re};
  if constexpr ((power & 3) == 2) return {a.re - b.re, a.im - b.im};
  if constexpr ((power & 3) == 3) return {a.re + b.im, a.im - b.re};
}

/// Returns upper spin a of (1 + sign gamma_mu) psi, one colour, mu = x, y or z: psi_a - sign i^power psi_lower.
template <int mu, int sign, int a, class Complex>
constexpr Complex project_spin(const Complex& upper, const Complex& lower) {
  static_assert(mu < 3);
  return add_rotated<links_of_gamma(mu).power[a] + (sign > 0 ? 2 : 0)>(upper, lower);
}

/// Adds to the lower spin that goes with upper spin a what (1 + sign gamma_mu) puts there, given the upper one:
/// -sign conj(i^power) h_a.
template <int mu, int sign, int a, class Complex>
constexpr Complex add_reconstructed(const Complex& sum, const Complex& h) {
  static_assert(mu < 3);
  return add_rotated<4 - links_of_gamma(mu).power[a] + (sign > 0 ? 2 : 0)>(sum, h);
}

/// Returns the first of the two spins that (1 + sign gamma_t) keeps, and doubles; the other two it makes zero.
constexpr int spin_kept_in_time(int sign) { return sign > 0 ? 0 : 2; }

/// Returns the sign in 1 +- gamma_mu of hop 2 mu, forwards, and 2 mu + 1, backwards, of the hopping term.
constexpr int sign_of_hop(int direction) { return direction % 2 == 0 ? -1 : +1; }

}  // namespace plaquette
