// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "common/random/random_stream.hpp"
#include "validation/support/statistics.hpp"

namespace plaquette {
namespace {

TEST(Philox, GivesThePublishedKnownAnswers) {
  // The three vectors for ten rounds in the known-answer file of the Random123 library; the third one's input is pi.
  struct known_answer {
    philox_counter counter;
    philox_key key;
    philox_counter answer;
  };
  constexpr std::uint32_t ones = 0xffffffff;
  const known_answer known[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{ones, ones, ones, ones}, {ones, ones}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const auto& [counter, key, answer] : known) EXPECT_EQ(philox(counter, key), answer);
}

TEST(RandomStream, FirstNumberIsTheFirstPhiloxBlock) {
  // Holds the layout of the counter: changing it changes every configuration ever made from a seed.
  random_stream r(0x299f31d0a4093822, 0x0370734413198a2e, 0x2485a308d3);
  const philox_counter block = philox({0x24000000, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0});
  EXPECT_EQ(r.bits(), static_cast<std::uint64_t>(block[1]) << 32 | block[0]);
  EXPECT_EQ(r.bits(), static_cast<std::uint64_t>(block[3]) << 32 | block[2]);
  const philox_counter next = philox({0x24000001, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0});
  EXPECT_EQ(r.bits(), static_cast<std::uint64_t>(next[1]) << 32 | next[0]);
}

TEST(RandomStream, SeedStreamAndSiteAllMatter) {
  std::set<std::uint64_t> seen;
  const std::uint64_t values[] = {0, 1, 2, std::uint64_t{1} << 32, (std::uint64_t{1} << 32) + 1};
  int count = 0;
  for (std::uint64_t seed : values)
    for (std::uint64_t stream : values)
      for (std::uint64_t site : values) {
        random_stream r(seed, stream, site);
        for (int draw = 0; draw < 3; ++draw, ++count) seen.insert(r.bits());
      }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(count));
}

TEST(RandomStream, PurposesAndIndicesAreDifferentStreams) {
  EXPECT_NE(random_stream_id(random_purpose::spinor, 1), random_stream_id(random_purpose::heatbath, 1));
  EXPECT_NE(random_stream_id(random_purpose::spinor, 1), random_stream_id(random_purpose::spinor, 2));
}

TEST(RandomStream, UniformNumbersAreUniformAcrossSitesAndDraws) {
  for (std::uint64_t seed : {1, 2, 3}) {
    std::vector<double> sample;
    for (std::uint64_t site = 0; site < 10000; ++site) {
      random_stream r(seed, random_stream_id(random_purpose::test), site);
      for (int draw = 0; draw < 10; ++draw) {
        const double u = draw % 2 ? r.uniform() : r.uniform_above_zero();
        ASSERT_TRUE(draw % 2 ? u >= 0.0 && u < 1.0 : u > 0.0 && u <= 1.0);
        sample.push_back(u);
      }
    }
    EXPECT_LE(kolmogorov_smirnov(sample, [](double u) { return u; }), kolmogorov_bound);
  }
}

TEST(RandomStream, GaussianNumbersAreGaussianAndUncorrelated) {
  for (std::uint64_t seed : {1, 2, 3}) {
    std::vector<double> sample;
    double correlation = 0.0, neighbours = 0.0, previous = 0.0;
    const int n = 50000;
    for (std::uint64_t site = 0; site < n; ++site) {
      random_stream r(seed, random_stream_id(random_purpose::test), site);
      const auto [a, b] = r.gaussians();
      sample.push_back(a);
      sample.push_back(b);
      correlation += a * b;
      neighbours += a * previous;
      previous = a;
    }
    EXPECT_LE(kolmogorov_smirnov(sample, [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }),
              kolmogorov_bound);
    // A sum of n products of independent normal deviates has variance n; four standard deviations.
    EXPECT_LE(std::abs(correlation), 4.0 * std::sqrt(n));
    EXPECT_LE(std::abs(neighbours), 4.0 * std::sqrt(n));
  }
}

}  // namespace
}  // namespace plaquette
