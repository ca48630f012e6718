// SPDX-License-Identifier: BSD-3-Clause
#include "common/algebra/gamma.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "common/algebra/projector.hpp"
#include "common/algebra/spin_basis.hpp"
#include "common/error.hpp"

namespace plaquette {
namespace {

double distance(const spin_matrix& a, const spin_matrix& b) {
  double worst = 0.0;
  for (int i = 0; i < spins; ++i)
    for (int j = 0; j < spins; ++j) worst = std::max(worst, std::sqrt(norm2(a(i, j) - b(i, j))));
  return worst;
}

TEST(GammaMatrices, AnticommuteAndAreHermitian) {
  for (int mu = 0; mu < 5; ++mu) {
    EXPECT_EQ(adjoint(gamma_matrix(mu)), gamma_matrix(mu));
    for (int nu = 0; nu < 5; ++nu) {
      const spin_matrix sum = gamma_matrix(mu) * gamma_matrix(nu) + gamma_matrix(nu) * gamma_matrix(mu);
      const complex<double> two{mu == nu ? 2.0 : 0.0, 0.0};
      EXPECT_EQ(distance(sum, two * spin_matrix::identity()), 0.0) << mu << ' ' << nu;
    }
  }
}

TEST(GammaMatrices, Gamma5IsTheProductOfTheFour) {
  EXPECT_EQ(distance(gamma_matrix(0) * gamma_matrix(1) * gamma_matrix(2) * gamma_matrix(3), gamma_matrix(4)), 0.0);
}

/// (1 + sign gamma_mu) psi as the kernels make it, of a unit vector of the time-diagonal basis.
template <int mu, int sign>
void expect_projection() {
  for (int column = 0; column < spins; ++column) {
    complex<double> psi[spins] = {}, expected[spins] = {}, found[spins] = {}, unit[spins] = {};
    psi[column] = unit[column] = {1.0, 0.0};
    rotate_spin_basis(psi, 1);
    for (int i = 0; i < spins; ++i) {
      expected[i] = psi[i];
      for (int j = 0; j < spins; ++j) expected[i] += static_cast<double>(sign) * gamma_matrix(mu)(i, j) * psi[j];
    }
    rotate_spin_basis(expected, 1);
    if constexpr (mu == 3) {
      for (int a = 0; a < 2; ++a) {
        const int kept = spin_kept_in_time(sign) + a;
        found[kept] = 2.0 * unit[kept];
      }
    } else {
      constexpr chiral_links pair = links_of_gamma(mu);
      found[0] = project_spin<mu, sign, 0>(unit[0], unit[pair.lower[0]]);
      found[1] = project_spin<mu, sign, 1>(unit[1], unit[pair.lower[1]]);
      found[pair.lower[0]] = add_reconstructed<mu, sign, 0>(complex<double>{}, found[0]);
      found[pair.lower[1]] = add_reconstructed<mu, sign, 1>(complex<double>{}, found[1]);
    }
    // Two rotations of numbers up to 2, each of two roundings and the rounding of its factor.
    for (int i = 0; i < spins; ++i)
      EXPECT_TRUE(std::sqrt(norm2(found[i] - expected[i])) <= 12 * 0x1p-53) << mu << ' ' << sign << ' ' << column;
  }
}

TEST(Projectors, AreThoseOfTheMatricesInTheTimeDiagonalBasis) {
  const auto both = []<int mu>() {
    expect_projection<mu, +1>();
    expect_projection<mu, -1>();
  };
  [&]<int... mu>(std::integer_sequence<int, mu...>) {
    (both.template operator()<mu>(), ...);
  }(std::make_integer_sequence<int, 4>{});
}

/// The matrices of another program as its own documents define them.
spin_matrix gamma_of(gamma_basis basis, int mu) {
  const complex<double> i{0.0, 1.0}, one{1.0, 0.0};
  spin_matrix pauli[3];  // embedded in the upper left 2x2 block
  pauli[0](0, 1) = one, pauli[0](1, 0) = one;
  pauli[1](0, 1) = -i, pauli[1](1, 0) = i;
  pauli[2](0, 0) = one, pauli[2](1, 1) = -one;
  const auto off_diagonal = [&](complex<double> upper, complex<double> lower, const spin_matrix& block) {
    spin_matrix g;
    for (int a = 0; a < 2; ++a)
      for (int b = 0; b < 2; ++b) g(a, b + 2) = upper * block(a, b), g(a + 2, b) = lower * block(a, b);
    return g;
  };
  switch (basis) {
    case gamma_basis::tmlqcd:
      return mu < 3 ? off_diagonal(-i, i, pauli[mu]) : off_diagonal(-one, -one, spin_matrix::identity());
    case gamma_basis::openqcd:
      return gamma_matrix(1) * gamma_matrix(mu) * gamma_matrix(1);
    case gamma_basis::nonrelativistic: {
      spin_matrix g;
      if (mu == 3) {
        g(0, 0) = g(1, 1) = one, g(2, 2) = g(3, 3) = -one;
        return g;
      }
      return off_diagonal(i, -i, pauli[mu]);
    }
    case gamma_basis::dirac_pauli:
      return mu < 3 ? off_diagonal(-i, i, pauli[mu]) : gamma_of(gamma_basis::nonrelativistic, mu);
    default:
      return gamma_matrix(mu);
  }
}

TEST(GammaBasis, RotationIsUnitaryAndTakesOurMatricesToTheOther) {
  for (const gamma_basis basis : {gamma_basis::degrand_rossi, gamma_basis::nonrelativistic, gamma_basis::dirac_pauli,
                                  gamma_basis::openqcd, gamma_basis::tmlqcd}) {
    const spin_matrix r = basis_rotation(basis);
    EXPECT_LT(distance(r * adjoint(r), spin_matrix::identity()), 1e-15);
    for (int mu = 0; mu < 4; ++mu)
      EXPECT_LT(distance(r * gamma_matrix(mu) * adjoint(r), gamma_of(basis, mu)), 1e-15)
          << static_cast<int>(basis) << ' ' << mu;
  }
}

TEST(GammaBasis, NonrelativisticHasDiagonalTimeAndOffDiagonalGamma5) {
  const spin_matrix r = basis_rotation(gamma_basis::nonrelativistic);
  EXPECT_LT(distance(r * adjoint(r), spin_matrix::identity()), 1e-15);
  EXPECT_LT(distance(r * gamma_matrix(3) * adjoint(r), gamma_of(gamma_basis::nonrelativistic, 3)), 1e-15);
  spin_matrix minus_off_diagonal;
  for (int a = 0; a < 4; ++a) minus_off_diagonal(a, (a + 2) % 4) = {-1.0, 0.0};
  // gamma_5 of that basis' users has the opposite index order, hence the sign
  EXPECT_LT(std::min(distance(r * gamma_matrix(4) * adjoint(r), minus_off_diagonal),
                     distance(complex<double>{-1.0, 0.0} * (r * gamma_matrix(4) * adjoint(r)), minus_off_diagonal)),
            1e-15);
}

TEST(GammaBasis, IsParsedByNameAndNothingElse) {
  EXPECT_EQ(parse_gamma_basis("tmlqcd"), gamma_basis::tmlqcd);
  EXPECT_EQ(parse_gamma_basis("dirac-pauli"), gamma_basis::dirac_pauli);
  EXPECT_THROW(parse_gamma_basis("dirac"), input_error);
}

}  // namespace
}  // namespace plaquette
