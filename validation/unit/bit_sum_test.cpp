// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums over bits: the judged fields are the ones that are used.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "common/app/bit_sum.hpp"

namespace plaquette {
namespace {

std::uint64_t sum_of(const std::vector<unsigned char>& bytes) {
  bit_sum sum;
  sum.add(std::span(bytes));
  return sum.value();
}

TEST(BitSum, EveryFlippedBitChangesIt) {
  for (const std::size_t size : {1U, 7U, 8U, 31U, 32U, 33U, 100U}) {
    std::vector<unsigned char> bytes(size);
    std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(size));
    std::set<std::uint64_t> sums{sum_of(bytes)};
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      auto flipped = bytes;
      flipped[bit / 8] = static_cast<unsigned char>(flipped[bit / 8] ^ (1U << bit % 8));
      EXPECT_TRUE(sums.insert(sum_of(flipped)).second) << "bit " << bit << " of " << size << " bytes";
    }
  }
}

TEST(BitSum, ExchangedNumbersAndMissingZerosChangeIt) {
  EXPECT_NE(sum_of({1, 0, 0, 0, 0, 0, 0, 0, 2}), sum_of({2, 0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_NE(sum_of({0, 0, 0}), sum_of({0, 0}));
  EXPECT_NE(sum_of({}), sum_of({0}));
}

TEST(BitSum, TheCheckFailsWhereABitWasTurned) {
  std::vector<double> solution{1.0, -2.0, 3.0};
  bit_sum judged, same, other;
  judged.add(std::span(solution));
  same.add(std::span(solution));
  solution[1] = std::nextafter(solution[1], 0.0);
  other.add(std::span(solution));
  verification passes, fails;
  check_same_bits(passes, "solutions", judged, same, communicator());
  check_same_bits(fails, "solutions", judged, other, communicator());
  EXPECT_TRUE(passes.passed());
  EXPECT_FALSE(fails.passed());
}

}  // namespace
}  // namespace plaquette
