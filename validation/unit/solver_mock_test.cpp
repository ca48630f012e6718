// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The mock backend itself: it must be late, poisoned, watchful and right, or the tests of the solvers show nothing.
#include <gtest/gtest.h>

#include <cmath>

#include "validation/unit/solver_support.hpp"

namespace plaquette::solver_tests {
namespace {

using mock::number;

TEST(MockBackend, ComputesNothingBeforeItIsAskedUnlessByChance) {
  int late = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    mock::machine device(seed);
    mock::field u(device, 4, 3);
    zero(u);
    for (int i = 0; i < 5; ++i) scale(u, norm2(u));
    if (device.waiting() > 0) ++late;
    EXPECT_TRUE(device.reads().empty());
  }
  EXPECT_GE(late, 5);
}

TEST(MockBackend, GivesTheSameBitsInEveryOrderOfExecution) {
  const auto run = [](mock::machine& device) {
    generator g(11);
    const auto a = to_operator(random_matrix(6, 6, g));
    mock::field x = to_field(device, random_matrix(6, 4, g)), y = like(x), z = like(x);
    a.apply(y, x);
    copy(z, y);
    auto s = ratio(dot(x, y), norm2(y));
    axpy_pair(z, s, x, conj(s), y);
    const std::vector<int> keep{0, 2, 3};
    compact(z, keep);
    compact(y, keep);
    s = compacted(s, keep);
    xpay(z, y, s);
    a.apply_dagger(y, z);
    return to_matrix(y);
  };
  mock::machine eager(1, false);
  const matrix expected = run(eager);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    mock::machine device(seed);
    EXPECT_EQ(run(device), expected) << seed;
  }
}

TEST(MockBackend, PoisonsNewStorageAndTheColumnsThatACompactionFrees) {
  mock::machine device;
  mock::field u(device, 2, 3);
  for (const number& z : u.get()) EXPECT_TRUE(std::isnan(z.re) && std::isnan(z.im));
  for (const number& z : like(u, 5).get()) EXPECT_TRUE(std::isnan(z.re));
  u.set({{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}});
  const mock::field whole = u;
  compact(u, std::vector<int>{1});
  const auto numbers = whole.get();
  EXPECT_EQ(numbers[0].re, 3.0);
  EXPECT_EQ(numbers[1].re, 4.0);
  for (std::size_t i = 2; i < 6; ++i) EXPECT_TRUE(std::isnan(numbers[i].re));
}

TEST(MockBackend, ViewsShareTheirColumns) {
  mock::machine device;
  mock::field u(device, 2, 4);
  zero(u);
  mock::field middle = view(u, 1, 2);
  middle.set({{1, 0}, {2, 0}, {3, 0}, {4, 0}});
  const matrix m = to_matrix(u);
  EXPECT_EQ(m(0, 0), 0.0);
  EXPECT_EQ(m(0, 1), 1.0);
  EXPECT_EQ(m(1, 2), 4.0);
  EXPECT_EQ(m(1, 3), 0.0);
}

TEST(MockBackend, RecordsEachReadOnceHoweverManyNumbersItBrings) {
  mock::machine device;
  generator g(3);
  const auto a = to_operator(random_matrix(4, 4, g));
  mock::field u = to_field(device, random_matrix(4, 2, g)), v = like(u);
  a.apply(v, u);
  const std::vector<mock::scalars> handles{norm2(u), norm2(v), dot(u, v)};
  EXPECT_EQ(host_values_of(handles).size(), 3u);
  a.apply(v, u);
  host_values(norm2(v));
  ASSERT_EQ(device.reads().size(), 2u);
  EXPECT_EQ(device.reads()[0].applications, 1);
  EXPECT_EQ(device.reads()[1].applications, 2);
}

TEST(MockBackend, FollowsTheContractOfScalars) {
  mock::machine device;
  const mock::field u(device, 1, 3);
  const std::vector<number> a{{1, 2}, {-3, 1}, {mock::poison, 0}}, b{{2, -1}, {0, 0}, {1, 0}};
  const auto x = make_scalars(u, a), y = make_scalars(u, b);
  const auto quotient = host_values(ratio(x, y));
  EXPECT_EQ(quotient[0], a[0] / b[0]);
  EXPECT_EQ(quotient[1], number{});
  const std::vector<double> limits{0.5, -3.0, 0.0};
  const auto mask = host_values(where_above(x, limits));
  EXPECT_EQ(mask[0].re, 1.0);
  EXPECT_EQ(mask[1].re, 0.0) << "not above the limit but at it";
  EXPECT_EQ(mask[2].re, 0.0) << "NaN is above nothing";
}

TEST(MockBackend, RefusesWhatTheContractForbids) {
  mock::machine device;
  mock::field u(device, 4, 2), v(device, 4, 3), w = u;
  const auto s = norm2(u), t = norm2(v);
  EXPECT_THROW(axpy(u, s, v), mock::contract_violation);
  EXPECT_THROW(axpy(u, s, w), mock::contract_violation) << "one storage under two names";
  EXPECT_THROW(scale(u, t), mock::contract_violation);
  EXPECT_THROW(s + t, mock::contract_violation);
  EXPECT_THROW(view(u, 1, 2), mock::contract_violation);
  EXPECT_THROW(compact(u, std::vector<int>{1, 0}), mock::contract_violation);
}

}  // namespace
}  // namespace plaquette::solver_tests
