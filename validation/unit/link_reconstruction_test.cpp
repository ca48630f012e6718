// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links from few real numbers, and 16-bit fixed point, on numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "common/algebra/fixed_point.hpp"
#include "common/algebra/largest.hpp"
#include "common/algebra/link_reconstruction.hpp"

namespace plaquette::validation {
namespace {

/// A random matrix in SU(3): near one for small eps, anywhere for a large one.
su3<double> random_su3(std::mt19937& generator, double eps) {
  std::normal_distribution<double> normal;
  su3<double> u = su3<double>::identity();
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < colours; ++j) u(i, j) += eps * complex<double>{normal(generator), normal(generator)};
  for (int i = 0; i < 2; ++i) {
    if (i == 1) {
      complex<double> overlap;
      for (int j = 0; j < colours; ++j) overlap += conj(u(0, j)) * u(1, j);
      for (int j = 0; j < colours; ++j) u(1, j) -= overlap * u(0, j);
    }
    double size = 0.0;
    for (int j = 0; j < colours; ++j) size += norm2(u(i, j));
    for (int j = 0; j < colours; ++j) u(i, j) = (1.0 / std::sqrt(size)) * u(i, j);
  }
  complete_third_row(u);
  return u;
}

template <class T>
double round_trip_error(const su3<double>& u) {
  double exact[8];
  parameters_of_matrix(exact, u);
  T p[8];
  for (int k = 0; k < 8; ++k) {
    EXPECT_TRUE(std::abs(exact[k]) <= 1.0 + 1e-15);
    p[k] = static_cast<T>(exact[k]);
  }
  complex<T> v[3][3];
  matrix_of_parameters(v, p, complex<T>{static_cast<T>(frame_phase_cos), static_cast<T>(frame_phase_sin)}, T(1));
  double worst = 0.0;
  for (int k = 0; k < 9; ++k) {
    const auto wrong = complex_cast<double>(v[k / 3][k % 3]) - u(k / 3, k % 3);
    for (const double part : {wrong.re, wrong.im}) keep_largest(worst, std::abs(part));
  }
  return worst;
}

/// Four times the roundoff of the parameters, and a few dozen operations on numbers up to 1; digits lost as 1 / |1 +
/// alpha| come on top, which among 10^4 random matrices stays above 0.05.
template <class T>
constexpr double round_trip_bound = 64 * std::numeric_limits<T>::epsilon();

TEST(EightReals, GiveTheMatrixBack) {
  std::mt19937 generator(5);
  for (const double eps : {1e9, 1.0, 0.1, 1e-3, 1e-8})
    for (int i = 0; i < 2000; ++i) {
      const auto u = random_su3(generator, eps);
      ASSERT_TRUE(round_trip_error<double>(u) <= round_trip_bound<double>);
      ASSERT_TRUE(round_trip_error<float>(u) <= round_trip_bound<float>);
    }
}

/// Where other parametrisations are singular: the unit matrix, permutations, signs, the centre.
TEST(EightReals, GiveSpecialMatricesBack) {
  std::vector<su3<double>> special;
  const complex<double> third{-0.5, std::sqrt(0.75)}, i{0, 1};
  for (const complex<double>& phase : {complex<double>{1, 0}, third, conj(third)}) {
    special.push_back(phase * su3<double>::identity());
    su3<double> cyclic;
    cyclic(0, 1) = cyclic(1, 2) = cyclic(2, 0) = phase;
    special.push_back(cyclic);
    su3<double> swap;
    swap(0, 1) = swap(1, 0) = phase;
    swap(2, 2) = -phase;
    special.push_back(swap);
    for (int a = 0; a < colours; ++a) {
      su3<double> signs = phase * su3<double>::identity(), turned = signs;
      signs(a, a) = -signs(a, a);
      signs((a + 1) % 3, (a + 1) % 3) = -signs((a + 1) % 3, (a + 1) % 3);
      special.push_back(signs);
      turned(a, a) = i * turned(a, a);
      turned((a + 1) % 3, (a + 1) % 3) = -i * turned((a + 1) % 3, (a + 1) % 3);
      special.push_back(turned);
    }
  }
  for (const auto& u : special) {
    EXPECT_TRUE(round_trip_error<double>(u) <= round_trip_bound<double>);
    EXPECT_TRUE(round_trip_error<float>(u) <= round_trip_bound<float>);
  }
}

TEST(ThirdRow, IsTheConjugateOfTheCrossProduct) {
  std::mt19937 generator(6);
  for (int n = 0; n < 100; ++n) {
    const auto u = random_su3(generator, 1e9);
    for (int column = 0; column < colours; ++column) {
      const int j = (column + 1) % 3, k = (column + 2) % 3;
      const auto wrong = conjugate_minor(u(0, j), u(1, k), u(0, k), u(1, j)) - u(2, column);
      EXPECT_TRUE(norm2(wrong) <= 1e-30);
    }
  }
}

TEST(FixedPoint, RoundsToTheNearestOf32767Steps) {
  // Half a step, and what rounding the number and the sum of both halves to float adds.
  const float bound = 0.501F / 32767.0F;
  for (int q = -32767; q <= 32767; ++q) {
    const float x = static_cast<float>(q) / 32767.0F, y = static_cast<float>((q * 7919LL) % 32768) / 32767.0F;
    const auto back = unpack_fixed_point(pack_fixed_point({x, y}));
    ASSERT_EQ(back.re, static_cast<float>(q) * (1.0F / 32767.0F));
    ASSERT_TRUE(std::abs(back.im - y) <= bound);
  }
  std::mt19937 generator(7);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  for (int n = 0; n < 10000; ++n) {
    const complex<float> z{uniform(generator), uniform(generator)};
    const auto back = unpack_fixed_point(pack_fixed_point(z));
    ASSERT_TRUE(std::abs(back.re - z.re) <= bound && std::abs(back.im - z.im) <= bound);
  }
}

}  // namespace
}  // namespace plaquette::validation
