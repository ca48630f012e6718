// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "common/random/su2_sampler.hpp"
#include "validation/support/statistics.hpp"

namespace plaquette {
namespace {

constexpr int sample_size = 100000;

/// The integral of sqrt(1 - a^2) exp(k a) from -1, as the fraction of all of it: with a = cos(t), of
/// sin^2(t) exp(k (cos(t) - 1)) by the trapezoidal rule, tabulated in t.
class real_part_distribution {
 public:
  explicit real_part_distribution(double k) : from_above_(points + 1, 0.0) {
    const auto density = [k](double t) { return std::pow(std::sin(t), 2) * std::exp(k * (std::cos(t) - 1.0)); };
    for (int i = 1; i <= points; ++i)
      from_above_[i] = from_above_[i - 1] + 0.5 * step * (density((i - 1) * step) + density(i * step));
  }
  double operator()(double a) const {
    const double at = std::acos(std::clamp(a, -1.0, 1.0)) / step;
    const int i = std::min(static_cast<int>(at), points - 1);
    const double above = from_above_[i] + (at - i) * (from_above_[i + 1] - from_above_[i]);
    return 1.0 - above / from_above_[points];
  }

 private:
  static constexpr int points = 200000;  // interpolation errs by 1e-9, far below 1 / sqrt(sample_size)
  static constexpr double step = std::numbers::pi / points;
  std::vector<double> from_above_;
};

TEST(Su2Sampler, RealPartHasItsDistribution) {
  for (const double strength : {0.0, 1e-12, 0.1, 0.5, 1.0, 1.6, kennedy_pendleton_threshold,
                                kennedy_pendleton_threshold + 1e-9, 2.0, 3.0, 7.0, 20.0, 100.0, 1e4})
    for (const std::uint64_t seed : {1, 2}) {
      std::vector<double> sample;
      for (std::uint64_t site = 0; site < sample_size; ++site) {
        random_stream random(seed, random_stream_id(random_purpose::test, 1), site);
        double a0;
        ASSERT_TRUE(draw_su2_real_part(strength, random, a0));
        ASSERT_LE(std::abs(a0), 1.0);
        sample.push_back(a0);
      }
      EXPECT_LE(kolmogorov_smirnov(sample, real_part_distribution(strength)), kolmogorov_bound) << strength;
    }
}

TEST(Su2Sampler, TheComparisonSeesAStrengthThatIsOffByThreePerCent) {
  std::vector<double> sample;
  for (std::uint64_t site = 0; site < sample_size; ++site) {
    random_stream random(1, random_stream_id(random_purpose::test, 1), site);
    double a0;
    ASSERT_TRUE(draw_su2_real_part(3.0, random, a0));
    sample.push_back(a0);
  }
  EXPECT_GT(kolmogorov_smirnov(sample, real_part_distribution(3.0 * 1.03)), kolmogorov_bound);
}

TEST(Su2Sampler, ElementsAreInSU2AndPointEverywhereAlike) {
  for (const double strength : {0.0, 1.0, 10.0}) {
    std::vector<double> heights, angles;
    double real_part_with_height = 0.0;
    for (std::uint64_t site = 0; site < sample_size; ++site) {
      random_stream random(3, random_stream_id(random_purpose::test, 2), site);
      quaternion<double> g;
      ASSERT_TRUE(draw_su2(strength, random, g));
      ASSERT_NEAR(norm2(g), 1.0, 8 * 0x1p-52);
      const double length = std::sqrt(g.r1 * g.r1 + g.r2 * g.r2 + g.r3 * g.r3);
      heights.push_back(g.r3 / length);
      angles.push_back(std::atan2(g.r2, g.r1));
      real_part_with_height += g.r0 * g.r3;
    }
    // On a sphere the height is uniform (Archimedes), and so is the longitude.
    EXPECT_LE(kolmogorov_smirnov(heights, [](double z) { return 0.5 * (z + 1.0); }), kolmogorov_bound);
    EXPECT_LE(kolmogorov_smirnov(angles, [](double phi) { return 0.5 + 0.5 * phi / std::numbers::pi; }),
              kolmogorov_bound);
    // A product of two numbers of at most 1: variance below 1. Four standard deviations.
    EXPECT_LE(std::abs(real_part_with_height), 4.0 * std::sqrt(sample_size));
  }
}

TEST(Su2Sampler, GivesUpOnANaN) {
  random_stream random(1, random_stream_id(random_purpose::test), 0);
  quaternion<double> g;
  EXPECT_FALSE(draw_su2(std::nan(""), random, g));
}

TEST(Su2Sampler, GivesTheIdentityAtInfiniteStrength) {
  random_stream random(1, random_stream_id(random_purpose::test), 0);
  quaternion<double> g;
  ASSERT_TRUE(draw_su2(INFINITY, random, g));
  EXPECT_EQ(g.r0, 1.0);
  EXPECT_EQ(g.r1, 0.0);
}

TEST(Su2Subgroup, ProjectionIsWhatTheTraceSees) {
  // Re tr(g w) = 2 (g0 r0 - g1 r1 - g2 r2 - g3 r3) + Re of the element that g leaves alone.
  for (std::uint64_t site = 0; site < 20; ++site) {
    random_stream random(4, random_stream_id(random_purpose::test), site);
    su3<double> w;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const auto [re, im] = random.gaussians();
        w(i, j) = {re, im};
      }
    for (const su2_subgroup& s : su2_subgroups) {
      quaternion<double> g;
      ASSERT_TRUE(draw_su2(0.5, random, g));
      const quaternion<double> r = projected(w, s);
      su3<double> gw = w;
      multiply_from_left(gw, g, s);
      const int other = 3 - s.i - s.j;
      // Some twenty products of numbers below 4.
      EXPECT_NEAR(trace(gw).re, 2.0 * (g * r).r0 + w(other, other).re, 20 * 16 * 0x1p-52);
      su3<double> g3 = su3<double>::identity();
      multiply_from_left(g3, g, s);
      EXPECT_LE(distance_from_su3(g3), 20 * 0x1p-52);
      const su3<double> product = g3 * w;
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) EXPECT_NEAR(product(i, j).re, gw(i, j).re, 20 * 4 * 0x1p-52);
    }
  }
}

TEST(Quaternion, ProductIsThatOfTheMatrices) {
  random_stream random(5, random_stream_id(random_purpose::test), 0);
  quaternion<double> a, b;
  ASSERT_TRUE(draw_su2(0.3, random, a));
  ASSERT_TRUE(draw_su2(0.3, random, b));
  for (const su2_subgroup& s : su2_subgroups) {
    su3<double> one_by_one = su3<double>::identity(), at_once = one_by_one;
    multiply_from_left(one_by_one, b, s);
    multiply_from_left(one_by_one, a, s);
    multiply_from_left(at_once, a * b, s);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        EXPECT_NEAR(one_by_one(i, j).re, at_once(i, j).re, 8 * 0x1p-52);
        EXPECT_NEAR(one_by_one(i, j).im, at_once(i, j).im, 8 * 0x1p-52);
      }
  }
  EXPECT_NEAR((a * adjoint(a)).r0, 1.0, 8 * 0x1p-52);
  EXPECT_NEAR((a * adjoint(a)).r2, 0.0, 8 * 0x1p-52);
}

}  // namespace
}  // namespace plaquette
