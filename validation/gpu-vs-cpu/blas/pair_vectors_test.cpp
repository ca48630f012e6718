// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Vector operations, sums and conversions by pairs of floats against the same fields in double: 44 bits, for every
/// operation, odd shapes, several columns.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "common/algebra/float_pair.hpp"
#include "validation/gpu-vs-cpu/support/twin_fields.hpp"

namespace plaquette::validation {
namespace {

constexpr double bound = 0x1p-44;

struct pair_case {
  extents lattice;
  field_shape shape;
};
std::vector<pair_case> cases() {
  return {{{2, 2, 2, 2}, {4, 3, site_subset::full, 1}},  {{4, 6, 2, 8}, {4, 3, site_subset::even, 5}},
          {{2, 4, 6, 10}, {4, 3, site_subset::odd, 12}}, {{4, 6, 2, 8}, {2, 3, site_subset::full, 3}},
          {{2, 4, 6, 10}, {2, 7, site_subset::odd, 2}},  {{4, 2, 2, 6}, {2, 24, site_subset::full, 2}}};
}

gpu::field<double> random_field(const gpu::context& ctx, const field_shape& shape, std::uint64_t seed) {
  gpu::field<double> x(ctx, shape);
  for (int c = 0; c < shape.columns; ++c)
    set_numbers(x, c,
                random_numbers(sites_of(ctx.geometry(), shape), x.components(), seed, static_cast<std::uint64_t>(c)));
  return x;
}
/// Random numbers that pairs hold; the padding is NaN.
gpu::field<double> field_of_pairs(const gpu::context& ctx, const field_shape& shape, std::uint64_t seed) {
  gpu::field<double> x(ctx, shape);
  gpu::field<float_pair> rounded(ctx, shape);
  convert(rounded, random_field(ctx, shape, seed));
  poison(x);
  convert(x, rounded);
  return x;
}

/// The fields of an operation. Fields in pairs have the same numbers as fields in double.
template <class T>
struct operands {
  gpu::field<T> x, y, z, u, v;

  explicit operands(const gpu::field<double>& shape_of)
      : x(like(shape_of, shape_of.columns(), as<gpu::field<T>>)), y(like(x)), z(like(x)), u(like(x)), v(like(x)) {}

  template <class From>
  void take(const operands<From>& from) {
    for (const auto& [to, one] : {std::pair{&x, &from.x}, std::pair{&y, &from.y}, std::pair{&z, &from.z},
                                  std::pair{&u, &from.u}, std::pair{&v, &from.v}}) {
      poison(*to);
      convert(*to, *one);
    }
  }
};

std::vector<complex<double>> coefficients(int columns, std::uint64_t seed) {
  std::vector<complex<double>> numbers;
  random_stream random(seed, 0, 0);
  for (int c = 0; c < columns; ++c) {
    const auto [re, im] = random.gaussians();
    numbers.push_back({re, im});
  }
  return numbers;
}

const std::vector<std::string>& operations() {
  static const std::vector<std::string> all{"scale",      "axpy",      "xpay",           "dot",       "norm2",
                                            "axpy_norm2", "axpy_pair", "subtract_norm2", "cg_update", "direction",
                                            "step",       "dot_norm2", "axpy_dot_norm2"};
  return all;
}

/// Applies an operation; returns its sums.
template <class T>
std::vector<gpu::scalars> apply(const std::string& name, operands<T>& o, std::uint64_t seed) {
  const auto number = [&](std::uint64_t which) { return make_scalars(o.x, coefficients(o.x.columns(), seed + which)); };
  const gpu::scalars a = number(0), b = number(1), c = number(2);
  const auto both = [](const std::pair<gpu::scalars, gpu::scalars>& sums) {
    return std::vector{sums.first, sums.second};
  };
  if (name == "scale") return scale(o.x, a), std::vector<gpu::scalars>{};
  if (name == "axpy") return axpy(o.x, a, o.u), std::vector<gpu::scalars>{};
  if (name == "xpay") return xpay(o.x, o.u, a), std::vector<gpu::scalars>{};
  if (name == "dot") return {dot(o.u, o.v)};
  if (name == "norm2") return {norm2(o.u)};
  if (name == "axpy_norm2") return {axpy_norm2(o.x, a, o.u)};
  if (name == "axpy_pair") return axpy_pair(o.x, a, o.u, b, o.v), std::vector<gpu::scalars>{};
  if (name == "subtract_norm2") return {subtract_norm2(o.x, o.u, o.v)};
  if (name == "cg_update") return {cg_update(o.x, o.y, a, o.u, o.v)};
  if (name == "direction") return bicgstab_direction(o.x, o.u, a, b, o.v), std::vector<gpu::scalars>{};
  if (name == "step") return {bicgstab_step(o.x, o.y, o.z, a, b, c, o.u, o.v)};
  if (name == "dot_norm2") return both(dot_norm2(o.u, o.v));
  return both(axpy_dot_norm2(o.x, a, o.u, o.v));
}

/// Returns |a - b| / |b| of each column.
std::vector<double> distances(const gpu::field<float_pair>& a, const gpu::field<double>& b) {
  gpu::field<double> found = like(b);
  convert(found, a);
  const auto all = host_values(norm2(b)), difference = host_values(subtract_norm2(found, found, b));
  std::vector<double> result;
  for (std::size_t c = 0; c < all.size(); ++c) result.push_back(std::sqrt(difference[c].re / all[c].re));
  return result;
}

TEST(PairVectors, UpdatesAndSumsAreThoseOfDoubleToFortyFourBits) {
  std::uint64_t seed = 300;
  double worst_number = 0.0, worst_sum = 0.0;
  for (const pair_case& now : cases()) {
    const gpu::context ctx(lattice_geometry(now.lattice), communicator());
    const auto u = field_of_pairs(ctx, now.shape, ++seed);
    operands<double> given(u), exact(u);
    operands<float_pair> pairs(u);
    given.u = u;
    for (gpu::field<double>* f : {&given.x, &given.y, &given.z, &given.v}) *f = field_of_pairs(ctx, now.shape, ++seed);
    for (const std::string& name : operations()) {
      SCOPED_TRACE(name + ", " + describe(now.lattice, now.shape));
      exact.take(given);
      pairs.take(given);
      if (name == "subtract_norm2") poison(pairs.x);  // x is not read
      const auto expected = apply(name, exact, seed), found = apply(name, pairs, seed);
      ASSERT_EQ(found.size(), expected.size());
      for (const auto& list : {distances(pairs.x, exact.x), distances(pairs.y, exact.y), distances(pairs.z, exact.z)})
        for (const double d : list) {
          EXPECT_TRUE(d <= bound) << d;
          worst_number = std::max(worst_number, d);
        }
      std::vector<double> size(static_cast<std::size_t>(now.shape.columns));  // of the vectors that are multiplied
      for (const auto& f : {exact.x, exact.y, exact.u, exact.v}) {
        const auto squares = host_values(norm2(f));
        for (std::size_t c = 0; c < size.size(); ++c) size[c] = std::max(size[c], squares[c].re);
      }
      for (std::size_t k = 0; k < found.size(); ++k) {
        const auto a = host_values(found[k]), b = host_values(expected[k]);
        for (std::size_t c = 0; c < size.size(); ++c) {
          const double error = std::sqrt(norm2(a[c] - b[c])) / size[c];
          EXPECT_TRUE(error <= bound) << "sum " << k << ": " << error;
          worst_sum = std::max(worst_sum, error);
        }
      }
    }
  }
  EXPECT_GT(worst_number, 0x1p-53);  // they were pairs
  EXPECT_GT(worst_sum, 0.0);
}

TEST(PairVectors, HaveTheSameBitsAloneAndInABatch) {
  const gpu::context ctx(lattice_geometry({4, 6, 2, 8}), communicator());
  const auto u = field_of_pairs(ctx, {4, 3, site_subset::full, 5}, 7);
  auto x = like(u, 5, as<gpu::field<float_pair>>), y = like(x);
  convert(x, u);
  convert(y, field_of_pairs(ctx, {4, 3, site_subset::full, 5}, 8));
  const auto together = host_values(dot(x, y));
  for (int c = 0; c < 5; ++c) {
    const auto alone = host_values(dot(view(x, c, 1), view(y, c, 1)));
    EXPECT_EQ(alone[0], together[static_cast<std::size_t>(c)]);
  }
}

TEST(PairVectors, ConvertToEveryPrecision) {
  for (const pair_case& now : cases()) {
    SCOPED_TRACE(describe(now.lattice, now.shape));
    const gpu::context ctx(lattice_geometry(now.lattice), communicator());
    const gpu::field<double> exact = random_field(ctx, now.shape, 50);
    gpu::field<float_pair> pairs = like(exact, now.shape.columns, as<gpu::field<float_pair>>);
    poison(pairs);
    convert(pairs, exact);
    gpu::field<double> back = like(exact);
    poison(back);
    convert(back, pairs);
    double worst = 0.0;
    const auto compare = [&](const auto& found, const auto& expected, double of_number, double of_site = 0.0) {
      for (int c = 0; c < now.shape.columns; ++c) {
        const site_numbers a = numbers_of(found, c), b = numbers_of(expected, c);
        const std::vector<double> largest = largest_of_sites(b, exact.components());
        for (std::size_t i = 0; i < a.size(); ++i) {
          const double allowed = of_site * largest[i / static_cast<std::size_t>(exact.components())];
          for (const auto& [x, y] : {std::pair{a[i].re, b[i].re}, std::pair{a[i].im, b[i].im}}) {
            ASSERT_TRUE(std::abs(x - y) <= of_number * std::abs(y) + allowed) << x << " and " << y;
            worst = std::max(worst, std::abs(x - y) / std::abs(y));
          }
        }
      }
    };
    compare(back, exact, 0x1p-48);
    EXPECT_GT(worst, 0x1p-53);
    const auto there_and_back = [&]<class T>(std::type_identity<gpu::field<T>> type, double of_number, double of_site) {
      auto of_pairs = like(pairs, now.shape.columns, type), of_double = like(of_pairs);
      poison(of_pairs);
      convert(of_pairs, pairs);
      convert(of_double, exact);
      compare(of_pairs, of_double, of_number, of_site);
      auto wide = like(pairs);
      poison(wide);
      convert(wide, of_pairs);
      compare(wide, of_pairs, 0x1p-48);
    };
    there_and_back(as<gpu::field<float>>, 0x1p-23, 0.0);
    there_and_back(as<gpu::field<half>>, 0x1p-23, 1.01 / 32767.0);
  }
}

}  // namespace
}  // namespace plaquette::validation
