// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Scalars of the device: the same numbers as the CPU's, bit by bit, however they are put together.
#include "gpu/fields/scalars.hpp"

#include <gtest/gtest.h>

#include "validation/gpu-vs-cpu/support/twin_fields.hpp"

namespace plaquette::validation {
namespace {

struct Scalars : testing::Test {
  lattice_geometry geometry{{4, 4, 4, 4}};
  gpu::context ctx{geometry, communicator()};

  static std::vector<complex<double>> random(int columns, std::uint64_t seed) {
    std::vector<complex<double>> numbers;
    random_stream stream(seed, 0, 0);
    for (int c = 0; c < columns; ++c) {
      const auto [re, im] = stream.gaussians();
      numbers.push_back({re, im});
    }
    return numbers;
  }
  /// Which NaN it is differs between processors.
  static std::vector<complex<double>> without_payload(std::vector<complex<double>> numbers) {
    const auto one_nan = [](double& x) { x = std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x; };
    for (auto& z : numbers) one_nan(z.re), one_nan(z.im);
    return numbers;
  }
  static void expect(const gpu::scalars& found, const cpu::scalars& expected, const char* what) {
    EXPECT_TRUE(same_bits(without_payload(host_values(found)), without_payload(host_values(expected)))) << what;
  }
};

TEST_F(Scalars, AreThoseOfTheCpu) {
  for (const int columns : {1, 5, 12, 16, 100}) {
    auto an = random(columns, 1), bn = random(columns, 2);
    if (columns > 3) bn[2] = {}, an[3] = {std::nan(""), 1.0};
    const cpu::scalars a(an), b(bn);
    const gpu::scalars a_gpu(ctx, an), b_gpu(ctx, bn);
    EXPECT_EQ(a_gpu.columns(), columns);
    expect(a_gpu, a, "a");
    expect(a_gpu + b_gpu, a + b, "+");
    expect(a_gpu - b_gpu, a - b, "-");
    expect(a_gpu * b_gpu, a * b, "*");
    expect(-a_gpu, -a, "negated");
    expect(conj(a_gpu), conj(a), "conj");
    expect(ratio(a_gpu, b_gpu), ratio(a, b), "ratio");
    std::vector<double> limits;
    for (int c = 0; c < columns; ++c) limits.push_back(0.1 * c - 0.5);
    expect(where_above(a_gpu, limits), where_above(a, limits), "where_above");
    expect(where_above(a_gpu, limits) * b_gpu, where_above(a, limits) * b, "masked");
    std::vector<int> keep;
    for (int c = 0; c < columns; c += 2) keep.push_back(c);
    const auto kept = compacted(a_gpu, keep);
    ASSERT_EQ(std::ssize(keep), kept.columns());
    expect(kept, compacted(a, keep), "compacted");
    expect(compacted(a_gpu * b_gpu, keep) + kept, compacted(a * b, keep) + compacted(a, keep), "compacted, then used");
    const int first[] = {0};
    expect(compacted(kept, first), compacted(compacted(a, keep), first), "compacted twice");
    // A step of BiCGstab's: shared parts, some used again after they have been computed.
    const auto alpha = ratio(where_above(a, limits) * a, conj(b)), beta = ratio(a, b) * ratio(alpha, b);
    const auto alpha_gpu = ratio(where_above(a_gpu, limits) * a_gpu, conj(b_gpu)),
               beta_gpu = ratio(a_gpu, b_gpu) * ratio(alpha_gpu, b_gpu);
    expect(-alpha_gpu, -alpha, "-alpha");
    expect(alpha_gpu, alpha, "alpha");
    expect(beta_gpu, beta, "beta");
  }
}

TEST_F(Scalars, MayBeExpressionsOfAnyLength) {
  const auto numbers = random(4, 3);
  cpu::scalars sum(numbers), deep(numbers);
  gpu::scalars sum_gpu(ctx, numbers), deep_gpu(ctx, numbers);
  for (int k = 0; k < 100; ++k) {
    const auto step = random(4, static_cast<std::uint64_t>(10 + k));
    sum = sum + cpu::scalars(step) * sum;
    sum_gpu = sum_gpu + gpu::scalars(ctx, step) * sum_gpu;
    deep = cpu::scalars(step) - deep;  // leans to the right: the stack of its evaluation is as deep as it
    deep_gpu = gpu::scalars(ctx, step) - deep_gpu;
    if (k % 7 == 0) {
      sum = ratio(sum, cpu::scalars(random(4, 999)) + sum);
      sum_gpu = ratio(sum_gpu, gpu::scalars(ctx, random(4, 999)) + sum_gpu);
    }
  }
  expect(sum_gpu, sum, "sum");
  expect(deep_gpu, deep, "deep");
}

TEST_F(Scalars, OfOneWaitAreThoseOfMany) {
  const gpu::scalars a(ctx, random(5, 4)), b(ctx, random(3, 5));
  const std::vector<gpu::scalars> list{a, b, a * a, ratio(b, b + b), a};
  const auto together = host_values(std::span<const gpu::scalars>(list));
  ASSERT_EQ(together.size(), list.size());
  for (std::size_t i = 0; i < list.size(); ++i) EXPECT_TRUE(same_bits(together[i], host_values(list[i]))) << i;
  EXPECT_TRUE(host_values(std::span<const gpu::scalars>()).empty());
}

TEST_F(Scalars, AreWorkedOutFromNumbersThatNobodyElseHolds) {
  // Their operands go back to the pool when they are computed, and the pool may give that memory to anyone.
  for (const int count : {2, 4, 6, 11})
    for (const int columns : {12, 64, 100}) {
      const gpu::context fresh(geometry, communicator());
      std::vector<gpu::scalars> squares, cubes;
      std::vector<cpu::scalars> squares_of_cpu, cubes_of_cpu;
      {
        std::vector<gpu::scalars> numbers;  // side by side in memory
        for (int k = 0; k < count; ++k)
          numbers.emplace_back(fresh, random(columns, static_cast<std::uint64_t>(70 + k)));
        for (int k = 0; k < count; ++k) {
          const cpu::scalars a(random(columns, static_cast<std::uint64_t>(70 + k)));
          const auto i = static_cast<std::size_t>(k);
          squares.push_back(numbers[i] * numbers[i]);
          squares_of_cpu.push_back(a * a);
          cubes.push_back(numbers[i] * numbers[i] * numbers[i]);
          cubes_of_cpu.push_back(a * a * a);
        }
      }
      const auto first = values_on_their_way(std::span<const gpu::scalars>(squares));
      const auto second = values_on_their_way(std::span<const gpu::scalars>(cubes));
      const auto of_squares = first(), of_cubes = second();
      for (int k = 0; k < count; ++k) {
        const auto i = static_cast<std::size_t>(k);
        EXPECT_TRUE(same_bits(of_squares[i], host_values(squares_of_cpu[i])))
            << k << " of " << count << ", " << columns;
        EXPECT_TRUE(same_bits(of_cubes[i], host_values(cubes_of_cpu[i]))) << k << " of " << count << ", " << columns;
      }
    }
}

TEST_F(Scalars, KeepTheirNumbersWhenTheFieldsChange) {
  const twin_machines<float> machines({4, 4, 4, 4});
  auto x = twins<float>(machines, {4, 3, site_subset::full, 2}, 6).on_gpu;
  const auto before = norm2(x);
  const auto twice = before + before;
  const auto values = host_values(before);
  scale(x, gpu::scalars(machines.gpu, std::vector<complex<double>>{{0.5, 0}, {3, 0}}));
  const auto after = norm2(x);
  EXPECT_TRUE(same_bits(host_values(before), values));
  for (std::size_t c = 0; c < 2; ++c) EXPECT_EQ(host_values(twice)[c].re, 2.0 * values[c].re);
  EXPECT_EQ(host_values(after)[0].re, 0.25 * values[0].re);
}

TEST_F(Scalars, OnTheirWayAreThoseOfTheCall) {
  const twin_machines<float> machines({4, 4, 4, 4});
  auto x = twins<float>(machines, {4, 3, site_subset::full, 2}, 6).on_gpu;
  const auto before = norm2(x);
  // More than travel with a launch, of two numbers of columns, among them expressions and some columns of others.
  std::vector<gpu::scalars> list;
  std::vector<std::vector<complex<double>>> expected;
  const int last[] = {2};
  for (int k = 0; k < 300; ++k) {
    const auto numbers = random(k % 7 == 0 ? 5 : 3, static_cast<std::uint64_t>(40 + k));
    const gpu::scalars a(ctx, numbers);
    list.push_back(k % 11 == 0 ? a * a : k % 13 == 0 ? compacted(a, last) : a);
    expected.push_back(host_values(list.back()));
  }
  list.push_back(before);
  expected.push_back(host_values(before));
  const auto first = values_on_their_way(std::span<const gpu::scalars>(list));
  scale(x, gpu::scalars(machines.gpu, std::vector<complex<double>>{{0.5, 0}, {3, 0}}));
  const auto second = values_on_their_way(std::vector{norm2(x), before});
  list.clear();
  const auto later = second(), found = first();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(same_bits(found[i], expected[i])) << i;
  EXPECT_TRUE(same_bits(later[1], expected.back()));
  EXPECT_EQ(later[0][0].re, 0.25 * expected.back()[0].re);
  EXPECT_TRUE(values_on_their_way(std::span<const gpu::scalars>())().empty());
}

TEST_F(Scalars, OfDifferentBatchesDoNotCombine) {
  const gpu::scalars a(ctx, random(5, 4)), b(ctx, random(3, 5));
  EXPECT_THROW(a + b, std::logic_error);
  const double limits[] = {0.0};
  EXPECT_THROW(where_above(a, limits), std::logic_error);
}

}  // namespace
}  // namespace plaquette::validation
