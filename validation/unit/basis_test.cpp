// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Products of a basis with small matrices, and the chiralities of spinors, of either library against plain loops.
#include "validation/support/overlap_backend.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

namespace plaquette::validation {
namespace {

using backend::context;
using backend::field;
using matrix = std::vector<complex<double>>;

const std::vector<extents> lattices = {{2, 2, 2, 2}, {4, 6, 2, 4}};
/// Columns of the basis and of the other factor.
constexpr std::pair<int, int> sizes[] = {{1, 1}, {3, 12}, {12, 3}, {5, 1}, {137, 13}, {1, 20}, {70, 70}};

/// The error allowed to a sum of products, in units of its terms. The products of a site are summed in groups in the
/// precision of the field; groups are summed in double. Errors add up with random signs.
template <class T>
constexpr double roundings = 8.0 * unit_roundoff<T>;

matrix random_matrix(int rows, int columns, std::uint64_t seed) {
  matrix m;
  random_stream random(seed, 0, 0);
  for (int k = 0; k < rows * columns; ++k) {
    const auto [re, im] = random.gaussians();
    m.push_back({re, im});
  }
  return m;
}

double magnitude(const complex<double>& z) { return std::sqrt(norm2(z)); }

/// start + factor V C by plain loops; and the sum of the sizes of the added terms.
std::pair<spinor_configuration, double> expected_sum(const spinor_configuration* start, double factor,
                                                     const std::vector<spinor_configuration>& v, const matrix& c,
                                                     std::size_t column) {
  spinor_configuration sum(v.front().geometry());
  double size = 0.0;
  const auto add = [&](complex<double> z, const spinor_configuration& x) {
    size += magnitude(z) * norm(x);
    for (std::int64_t s = 0; s < sum.geometry().local_volume(); ++s) sum.at_site(s) = sum.at_site(s) + z * x.at_site(s);
  };
  if (start != nullptr) add({1.0, 0.0}, *start);
  for (std::size_t i = 0; i < v.size(); ++i) add(factor * c[i + column * v.size()], v[i]);
  return {sum, size};
}

template <class T>
void expect_near(const field<T>& found, int column, const std::pair<spinor_configuration, double>& expected,
                 double tolerance) {
  const auto canonical = canonical_column(found, column);
  double distance = 0.0;
  for (std::int64_t s = 0; s < canonical.geometry().local_volume(); ++s)
    distance += norm2(canonical.at_site(s) - expected.first.at_site(s));
  ASSERT_TRUE(std::sqrt(distance) <= tolerance * expected.second)
      << std::sqrt(distance) / (tolerance * expected.second) << " of the tolerance, column " << column;
}

template <class T>
struct Basis : testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(Basis, precisions);

TYPED_TEST(Basis, InnerProductsAreThoseOfPlainLoops) {
  std::uint64_t seed = 1;
  for (const extents& lattice : lattices)
    for (const auto& [rows, columns] : sizes) {
      const context ctx = backend::context_with_threads(lattice_geometry(lattice), communicator(), 2);
      const stored_columns<TypeParam> v(ctx, rows, ++seed), w(ctx, columns, ++seed);
      const matrix found = inner_products(v.packed, w.packed);
      ASSERT_EQ(found.size(), static_cast<std::size_t>(rows * columns));
      for (int j = 0; j < columns; ++j)
        for (int i = 0; i < rows; ++i) {
          const auto &x = v.canonical[static_cast<std::size_t>(i)], &y = w.canonical[static_cast<std::size_t>(j)];
          const double error = magnitude(found[static_cast<std::size_t>(i + j * rows)] - dot(x, y));
          ASSERT_TRUE(error <= roundings<TypeParam> * norm(x) * norm(y))
              << error / (roundings<TypeParam> * norm(x) * norm(y)) << " of the tolerance, " << to_string(lattice)
              << ' ' << rows << " x " << columns << " element " << i << ' ' << j;
        }
    }
}

/// Fields of one parity, and the same bits again.
TYPED_TEST(Basis, InnerProductsOfTheParitiesAddUp) {
  const context ctx = backend::context_with_threads(lattice_geometry({4, 6, 2, 8}), communicator(), 2);
  const stored_columns<TypeParam> v(ctx, 19, 3), w(ctx, 5, 4);
  const matrix all = inner_products(v.packed, w.packed), again = inner_products(v.packed, w.packed);
  const matrix even = inner_products(v.packed.parity(0), w.packed.parity(0)),
               odd = inner_products(v.packed.parity(1), w.packed.parity(1));
  for (std::size_t k = 0; k < all.size(); ++k) {
    EXPECT_TRUE(all[k] == again[k]);
    EXPECT_TRUE(magnitude(all[k] - (even[k] + odd[k])) <=
                roundings<TypeParam> * norm(v.canonical[k % 19]) * norm(w.canonical[k / 19]));
  }
}

TYPED_TEST(Basis, CombinationsAreThoseOfPlainLoops) {
  std::uint64_t seed = 100;
  for (const extents& lattice : lattices)
    for (const auto& [rows, columns] : sizes) {
      const context ctx = backend::context_with_threads(lattice_geometry(lattice), communicator(), 2);
      const stored_columns<TypeParam> v(ctx, rows, ++seed), w(ctx, columns, ++seed);
      const matrix c = random_matrix(rows, columns, ++seed);
      auto out = inner_columns<TypeParam>(ctx, columns), less = like(out), more = like(out);
      combine(out, v.packed, c);
      copy(less, w.packed), copy(more, w.packed);
      subtract_combinations(less, v.packed, c);
      add_combinations(more, v.packed, c);
      for (int j = 0; j < columns; ++j) {
        const auto k = static_cast<std::size_t>(j);
        expect_near(out, j, expected_sum(nullptr, 1.0, v.canonical, c, k), roundings<TypeParam>);
        expect_near(less, j, expected_sum(&w.canonical[k], -1.0, v.canonical, c, k), roundings<TypeParam>);
        expect_near(more, j, expected_sum(&w.canonical[k], 1.0, v.canonical, c, k), roundings<TypeParam>);
      }
    }
}

TYPED_TEST(Basis, RotatesItsFirstColumnsInPlace) {
  std::uint64_t seed = 200;
  for (const extents& lattice : lattices)
    for (const auto& [rows, count] : {std::pair{1, 1}, {9, 4}, {37, 30}, {12, 12}, {5, 0}}) {
      const context ctx = backend::context_with_threads(lattice_geometry(lattice), communicator(), 2);
      const stored_columns<TypeParam> v(ctx, rows, ++seed);
      const matrix q = random_matrix(rows, count, ++seed);
      field<TypeParam> rotated = v.packed;  // shares the storage
      rotate(rotated, q, count);
      for (int j = 0; j < rows; ++j) {
        const auto k = static_cast<std::size_t>(j);
        if (j < count)
          expect_near(rotated, j, expected_sum(nullptr, 1.0, v.canonical, q, k), roundings<TypeParam>);
        else
          EXPECT_TRUE(same_bits(canonical_column(rotated, j), v.canonical[k])) << "column " << j;
      }
    }
}

/// Vectors of one chirality, 2 x 3 numbers a site, are a basis like any other.
TYPED_TEST(Basis, WorksOnVectorsOfOneChirality) {
  const context ctx = backend::context_with_threads(lattice_geometry({4, 6, 2, 8}), communicator(), 2);
  const stored_columns<TypeParam> v(ctx, 13, 7), w(ctx, 5, 8);
  for (const int sign : {+1, -1}) {
    const auto halves = [&](const field<TypeParam>& full) {
      field<TypeParam> result(ctx, {spins / 2, colours, site_subset::full, full.columns()});
      poison(result);
      take_chirality(result, full, sign);
      return result;
    };
    auto v_half = halves(v.packed), w_half = halves(w.packed);
    const matrix found = inner_products(v_half, w_half);
    const matrix c = random_matrix(13, 5, 9);
    subtract_combinations(w_half, v_half, c);
    auto back = inner_columns<TypeParam>(ctx, 5);
    put_chirality(back, w_half, sign);
    std::vector<spinor_configuration> v_part, w_part;
    for (const auto& x : v.canonical) v_part.push_back(chirality_of(x, sign));
    for (const auto& x : w.canonical) w_part.push_back(chirality_of(x, sign));
    for (std::size_t j = 0; j < 5; ++j) {
      for (std::size_t i = 0; i < 13; ++i)
        EXPECT_TRUE(magnitude(found[i + 13 * j] - dot(v_part[i], w_part[j])) <=
                    roundings<TypeParam> * norm(v_part[i]) * norm(w_part[j]));
      expect_near(back, static_cast<int>(j), expected_sum(&w_part[j], -1.0, v_part, c, j), roundings<TypeParam>);
    }
  }
}

TYPED_TEST(Basis, RefusesShapesThatDoNotFit) {
  const context ctx = backend::context_with_threads(lattice_geometry({2, 2, 2, 2}), communicator(), 1);
  field<TypeParam> v(ctx, {spins, colours, site_subset::full, 3}), w = like(v, 2);
  field<TypeParam> halves(ctx, {spins / 2, colours, site_subset::full, 3});
  EXPECT_THROW(inner_products(v, halves), std::logic_error);
  EXPECT_THROW(inner_products(v, w.parity(0)), std::logic_error);
  EXPECT_THROW(combine(w, v, matrix(5)), std::logic_error);
  EXPECT_THROW(subtract_combinations(w, v, matrix(7)), std::logic_error);
  EXPECT_THROW(rotate(v, matrix(12), 4), std::logic_error);
  EXPECT_THROW(rotate(v, matrix(5), 2), std::logic_error);
  EXPECT_THROW(gamma5(halves, halves), std::logic_error);
  EXPECT_THROW(take_chirality(v, v, 1), std::logic_error);
  EXPECT_THROW(chirality_part(v, v, 2), std::logic_error);
}

template <class T>
struct Chirality : testing::Test {};
using all_precisions = testing::Types<half, float, double>;
TYPED_TEST_SUITE(Chirality, all_precisions);

TYPED_TEST(Chirality, Gamma5AndItsProjectorsAreTheTextbooks) {
  for (const extents& lattice : lattices) {
    const context ctx = backend::context_with_threads(lattice_geometry(lattice), communicator(), 2);
    const stored_columns<TypeParam> in(ctx, 3, 31);
    auto out = inner_columns<TypeParam>(ctx, 3), in_place = like(out);
    gamma5(out, in.packed);
    copy(in_place, in.packed);
    gamma5(in_place, in_place);
    // Only an exchange of numbers: exact, but for the way to the canonical basis.
    for (int c = 0; c < 3; ++c) {
      const auto expected = times_gamma5(in.canonical[static_cast<std::size_t>(c)]);
      EXPECT_TRUE(relative_distance(canonical_column(out, c), expected, communicator()) <= 8 * unit_roundoff<double>);
      EXPECT_TRUE(same_bits(canonical_column(out, c), canonical_column(in_place, c)));
    }
    for (const int sign : {+1, -1}) {
      chirality_part(out, in.packed, sign);
      copy(in_place, in.packed);
      chirality_part(in_place, in_place, sign);
      field<TypeParam> halves(ctx, {spins / 2, colours, site_subset::full, 3});
      poison(halves);
      take_chirality(halves, in.packed, sign);
      auto back = inner_columns<TypeParam>(ctx, 3);
      put_chirality(back, halves, sign);
      for (int c = 0; c < 3; ++c) {
        const auto expected = chirality_of(in.canonical[static_cast<std::size_t>(c)], sign);
        const double tolerance = 8 * unit_roundoff<TypeParam>;
        EXPECT_TRUE(relative_distance(canonical_column(out, c), expected, communicator()) <= tolerance);
        EXPECT_TRUE(relative_distance(canonical_column(back, c), expected, communicator()) <= tolerance);
        EXPECT_TRUE(same_bits(canonical_column(out, c), canonical_column(in_place, c)));
      }
    }
  }
}

}  // namespace
}  // namespace plaquette::validation
