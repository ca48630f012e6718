// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Dirac matrices in the DeGrand-Rossi basis, the suite's public one, and the way to and from the bases of other codes.
#pragma once

#include <array>
#include <string_view>

#include "common/algebra/spinor.hpp"

namespace plaquette {

/// A 4x4 spin matrix, row-major.
struct spin_matrix {
  complex<double> e[spins][spins]{};

  constexpr complex<double>& operator()(int i, int j) { return e[i][j]; }
  constexpr const complex<double>& operator()(int i, int j) const { return e[i][j]; }

  static constexpr spin_matrix identity() {
    spin_matrix m;
    for (int i = 0; i < spins; ++i) m(i, i) = {1.0, 0.0};
    return m;
  }
  friend constexpr spin_matrix operator*(const spin_matrix& a, const spin_matrix& b) {
    spin_matrix r;
    for (int i = 0; i < spins; ++i)
      for (int j = 0; j < spins; ++j)
        for (int k = 0; k < spins; ++k) r(i, j) += a(i, k) * b(k, j);
    return r;
  }
  friend constexpr spin_matrix operator*(const complex<double>& s, spin_matrix a) {
    for (auto& row : a.e)
      for (auto& v : row) v = s * v;
    return a;
  }
  friend constexpr spin_matrix operator+(spin_matrix a, const spin_matrix& b) {
    for (int i = 0; i < spins; ++i)
      for (int j = 0; j < spins; ++j) a(i, j) += b(i, j);
    return a;
  }
  friend constexpr spin_matrix operator-(const spin_matrix& a, const spin_matrix& b) {
    return a + complex<double>{-1.0, 0.0} * b;
  }
  friend constexpr bool operator==(const spin_matrix&, const spin_matrix&) = default;
  /// Acts on spin, the same for every colour.
  friend constexpr spinor<double> operator*(const spin_matrix& m, const spinor<double>& a) {
    spinor<double> r;
    for (int i = 0; i < spins; ++i)
      for (int j = 0; j < spins; ++j) {
        if (m(i, j) == complex<double>{}) continue;  // most are zero
        for (int c = 0; c < colours; ++c) r(i, c) += m(i, j) * a(j, c);
      }
    return r;
  }
};

constexpr spin_matrix adjoint(const spin_matrix& a) {
  spin_matrix r;
  for (int i = 0; i < spins; ++i)
    for (int j = 0; j < spins; ++j) r(i, j) = conj(a(j, i));
  return r;
}

/// Returns gamma_mu for mu = 0..3 (x, y, z, t) and gamma_5 = gamma_x gamma_y gamma_z gamma_t = diag(1, 1, -1, -1) for
/// mu = 4. DeGrand and Rossi, Comput. Phys. Commun. 60 (1990) 211.
constexpr spin_matrix gamma_matrix(int mu) {
  constexpr complex<double> one{1.0, 0.0}, i{0.0, 1.0};
  spin_matrix g;
  const auto set = [&](complex<double> g03, complex<double> g12, complex<double> g21, complex<double> g30) {
    g(0, 3) = g03, g(1, 2) = g12, g(2, 1) = g21, g(3, 0) = g30;
  };
  switch (mu) {
    case 0:
      set(i, i, -i, -i);
      break;
    case 1:
      set(-one, one, one, -one);
      break;
    case 2:
      g(0, 2) = i, g(1, 3) = -i, g(2, 0) = -i, g(3, 1) = i;
      break;
    case 3:
      g(0, 2) = one, g(1, 3) = one, g(2, 0) = one, g(3, 1) = one;
      break;
    default:
      g(0, 0) = one, g(1, 1) = one, g(2, 2) = -one, g(3, 3) = -one;
      break;
  }
  return g;
}

/// Spin bases of other programs' spinor files. A spinor goes there by psi' = R psi and a propagator by S' = R S R^+.
enum class gamma_basis {
  degrand_rossi,    ///< Chroma, QDP++, MILC, this suite
  nonrelativistic,  ///< gamma_t = diag(1, 1, -1, -1), gamma_k = [[0, i sigma_k], [-i sigma_k, 0]]: QUDA's UKQCD basis
  dirac_pauli,      ///< the same gamma_t, gamma_k = [[0, -i sigma_k], [i sigma_k, 0]]: Chroma's DiracToDRMat
  openqcd,          ///< openQCD: gamma_y (DeGrand-Rossi) gamma_y
  tmlqcd            ///< tmLQCD: gamma_t = -[[0,1],[1,0]], gamma_k = [[0, -i sigma_k], [i sigma_k, 0]]
};

/// Returns the unitary R with gamma'_mu = R gamma_mu R^+ and psi' = R psi.
spin_matrix basis_rotation(gamma_basis to);
/// Parses "degrand-rossi", "nonrelativistic", "dirac-pauli", "openqcd", "tmlqcd"; throws input_error for anything
/// else.
gamma_basis parse_gamma_basis(std::string_view name);

}  // namespace plaquette
