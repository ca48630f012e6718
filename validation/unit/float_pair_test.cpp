// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Pairs of floats against double, number by number and in the hopping term.
#include "common/algebra/float_pair.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "cpu_ref/dirac/pair_hopping.hpp"
#include "cpu_ref/dirac/wilson_textbook.hpp"
#include "validation/support/actions.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette::validation {
namespace {

constexpr double bound = 0x1p-44;

/// Pairs as they come: any sign, over twenty orders of magnitude.
float_pair random_pair(std::mt19937_64& random) {
  std::uniform_real_distribution<double> mantissa(1.0, 2.0), power(-30.0, 30.0);
  const double value = mantissa(random) * std::exp2(power(random));
  return float_pair(random() % 2 == 0 ? value : -value);
}

TEST(FloatPair, HoldsFortyEightBitsOfADouble) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const double value = std::uniform_real_distribution<double>(-1.0, 1.0)(random);
    const float_pair pair(value);
    EXPECT_LE(std::abs(static_cast<double>(pair) - value), 0x1p-48 * std::abs(value));
    EXPECT_LE(std::abs(pair.low), 0x1p-24f * std::abs(pair.high));
  }
  EXPECT_EQ(static_cast<double>(float_pair(1.0 + 0x1p-40)), 1.0 + 0x1p-40);
  EXPECT_NE(static_cast<float>(1.0 + 0x1p-40), 1.0 + 0x1p-40);
}

TEST(FloatPair, IsMadeOfADoubleWithoutDoubles) {
  std::mt19937_64 random(4);
  const auto expect_pair = [](double value, double allowed) {
    const float_pair pair = pair_without_doubles(value);
    EXPECT_LE(std::abs(static_cast<double>(pair) - value), allowed * std::abs(value)) << value;
    EXPECT_LE(std::abs(pair.low), 0x1p-24f * std::abs(pair.high)) << value;
  };
  std::uniform_real_distribution<double> mantissa(1.0, 2.0), power(-62.0, 126.0);
  for (int i = 0; i < 200'000; ++i) {
    const double value = std::ldexp(mantissa(random), static_cast<int>(power(random)));
    expect_pair(random() % 2 == 0 ? value : -value, 0x1p-47);
  }
  for (const double value : {0.0, -0.0, 1.0, -1.0, 1.0 + 0x1p-52, 2.0 - 0x1p-52, -(1.0 - 0x1p-53), 1.0 + 0x1p-24,
                             1.0 + 0x1p-23, 0x1p-63, 0x1p-64, 0x1.8p-80, 0x1p126})
    expect_pair(value, 0x1p-47);
  EXPECT_TRUE(std::isnan(pair_without_doubles(std::numeric_limits<double>::quiet_NaN()).high));
  EXPECT_TRUE(std::isinf(pair_without_doubles(std::numeric_limits<double>::infinity()).high));
}

TEST(FloatPair, SumsAndProductsOfTwoFloatsAreExact) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100'000; ++i) {
    const float a = random_pair(random).high, b = random_pair(random).high;
    EXPECT_EQ(static_cast<double>(two_product(a, b)), static_cast<double>(a) * static_cast<double>(b));
    const float_pair sum = two_sum(a, b);
    if (std::abs(std::log2(std::abs(a / b))) < 28.0) {  // else double has no room for it
      EXPECT_EQ(static_cast<double>(sum), static_cast<double>(a) + static_cast<double>(b));
    }
    EXPECT_EQ(sum.high, a + b);
  }
}

TEST(FloatPair, ArithmeticErrsByItsBound) {
  std::mt19937_64 random(3);
  double worst_sum = 0.0, worst_product = 0.0;
  for (int i = 0; i < 200'000; ++i) {
    const float_pair a = random_pair(random);
    // Every second time what nearly cancels.
    const float_pair b =
        i % 2 == 0 ? random_pair(random) : float_pair(-static_cast<double>(a) * (1.0 + 1e-4 * (i % 7)));
    const long double x = static_cast<long double>(a.high) + a.low, y = static_cast<long double>(b.high) + b.low;
    const auto error = [](const float_pair& found, long double expected) {
      const long double value = static_cast<long double>(found.high) + found.low;
      return expected == 0.0L ? static_cast<double>(std::abs(value))
                              : static_cast<double>(std::abs((value - expected) / expected));
    };
    worst_sum = std::max({worst_sum, error(a + b, x + y), error(a - b, x - y)});
    worst_product = std::max(worst_product, error(a * b, x * y));
  }
  EXPECT_LE(worst_sum, float_pair_roundoff);
  EXPECT_LE(worst_product, float_pair_roundoff);
  EXPECT_GT(worst_sum, 0x1p-53);  // it is not double
  EXPECT_LT(float_pair_roundoff, bound);
}

class pair_hopping : public testing::TestWithParam<named_action> {};

TEST_P(pair_hopping, is_that_of_the_textbook_to_44_bits) {
  const extents lattice{4, 6, 2, 8};
  const gauge_configuration links = random_links(lattice, 1);
  const spinor_configuration psi = random_spinor(lattice, 2);
  const fermion_action& action = GetParam().action;
  const cpu::pair_links pairs = cpu::pairs_of(links, action);
  const cpu::pair_spinors spinors = cpu::pairs_of(psi);
  double worst = 0.0;
  for (const bool dagger : {false, true})
    visit_sites(links.geometry(), [&](const coordinate& x) {
      spinor<double> expected;
      for (int mu = 0; mu < dimensions; ++mu)
        for (const int sign : {+1, -1}) expected += cpu::textbook::hop(x, mu, sign, psi, links, action, dagger);
      const spinor<double> found = cpu::to_double(cpu::hopping_at_site(x, spinors, pairs, dagger));
      worst = std::max(worst, std::sqrt(norm2(found - expected) / norm2(expected)));
    });
  EXPECT_TRUE(worst <= bound) << worst;
  EXPECT_GT(worst, 0x1p-53);
}

INSTANTIATE_TEST_SUITE_P(actions, pair_hopping, testing::ValuesIn(typical_actions()),
                         [](const auto& action) { return action.param.name; });

}  // namespace
}  // namespace plaquette::validation
