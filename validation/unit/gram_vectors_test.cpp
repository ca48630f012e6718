// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Leading singular vectors from inner products, against a singular value decomposition of the columns themselves.
#include "common/algebra/gram_vectors.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <barrier>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

namespace plaquette {
namespace {

using matrix = Eigen::MatrixXcd;

matrix random_matrix(Eigen::Index rows, Eigen::Index columns, std::uint64_t seed) {
  std::mt19937_64 g(seed);
  std::normal_distribution<double> normal;
  return matrix::NullaryExpr(rows, columns, [&] { return std::complex<double>(normal(g), normal(g)); });
}

struct leading {
  matrix vectors;  ///< of length 1, or zero
  Eigen::VectorXd sizes;
};

/// Returns the leading vectors of columns times scales, from columns.
leading leading_of(const matrix& columns, const std::vector<double>& scales, int kept) {
  const int n = static_cast<int>(columns.cols());
  const auto size = [](int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); };
  const matrix products = columns.adjoint() * columns;
  std::vector<complex<double>> gram(size(n, n)), sums(size(n, kept));
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i)
      gram[size(j, n) + static_cast<std::size_t>(i)] = {products(i, j).real(), products(i, j).imag()};
  std::vector<double> sizes(static_cast<std::size_t>(kept)), workspace(static_cast<std::size_t>(n));
  std::vector<int> order(static_cast<std::size_t>(n));
  leading_combinations(lone_thread{}, gram.data(), n, scales.data(), kept, sizes.data(), sums.data(), workspace.data(),
                       order.data());
  matrix q(n, kept);
  for (int k = 0; k < kept; ++k)
    for (int i = 0; i < n; ++i) {
      const auto z = sums[size(k, n) + static_cast<std::size_t>(i)];
      q(i, k) = {z.re, z.im};
    }
  return {columns * q, Eigen::Map<Eigen::VectorXd>(sizes.data(), kept)};
}

matrix scaled(const matrix& columns, const std::vector<double>& scales) {
  return columns * Eigen::Map<const Eigen::VectorXd>(scales.data(), columns.cols()).asDiagonal();
}

/// |P - Q| of the projectors onto the columns of u and v.
double distance_of_spans(const matrix& u, const matrix& v) { return (u * u.adjoint() - v * v.adjoint()).norm(); }

struct shape {
  int rows, columns, kept;
};

/// Singular values over five decades, as scales of stages make them.
TEST(GramVectors, AreTheLeadingSingularVectors) {
  for (const auto& [rows, columns, kept] : {shape{1536, 48, 24}, {200, 13, 5}, {96, 96, 48}, {30, 1, 1}, {30, 2, 2}})
    for (const std::uint64_t seed : {1, 2}) {
      const matrix a = random_matrix(rows, columns, seed);
      std::vector<double> scales;
      for (int k = 0; k < columns; ++k) scales.push_back(std::pow(10.0, -4.0 * k / columns) * (k % 3 + 1));
      const auto found = leading_of(a, scales, kept);
      const Eigen::JacobiSVD<matrix> svd(scaled(a, scales), Eigen::ComputeThinU);
      const double largest = svd.singularValues()(0);
      // Sums of products in double: squares of singular values to 1e-16 of the largest, times the length of sums.
      for (int k = 0; k < kept; ++k) {
        const double expected = svd.singularValues()(k);
        EXPECT_TRUE(std::abs(found.sizes(k) - expected) <= 1e-13 * largest * largest / expected) << k;
      }
      const matrix gram = found.vectors.adjoint() * found.vectors;
      EXPECT_TRUE((gram - matrix::Identity(kept, kept)).norm() <= 1e-6) << (gram - matrix::Identity(kept, kept)).norm();
      EXPECT_TRUE(distance_of_spans(found.vectors, svd.matrixU().leftCols(kept)) <= 1e-5)
          << distance_of_spans(found.vectors, svd.matrixU().leftCols(kept));
    }
}

/// Columns that repeat others, zero columns and equal singular values.
TEST(GramVectors, OfDegenerateColumnsAreThoseThatThereAre) {
  const matrix u = Eigen::HouseholderQR<matrix>(random_matrix(100, 6, 3)).householderQ() * matrix::Identity(100, 6);
  matrix a(100, 12);
  a << u, -3.0 * u.col(2), u.col(0) + u.col(1), matrix::Zero(100, 2), u.rightCols(2);
  const std::vector<double> ones(12, 1.0);
  const auto found = leading_of(a, ones, 8);
  for (int k = 0; k < 8; ++k) EXPECT_EQ(found.sizes(k) > 0.0, k < 6) << k << ' ' << found.sizes(k);
  EXPECT_TRUE(found.vectors.rightCols(2).norm() == 0.0);
  EXPECT_TRUE(distance_of_spans(found.vectors.leftCols(6), u) <= 1e-12);
  // All singular values are one: any basis of the span is right, and stays orthonormal.
  const auto equal = leading_of(u, std::vector<double>(6, 1.0), 6);
  for (int k = 0; k < 6; ++k) EXPECT_NEAR(equal.sizes(k), 1.0, 1e-14);
  EXPECT_TRUE((equal.vectors.adjoint() * equal.vectors - matrix::Identity(6, 6)).norm() <= 1e-13);
  // Nothing at all, and NaN.
  EXPECT_EQ(leading_of(matrix::Zero(20, 4), std::vector<double>(4, 1.0), 4).sizes.maxCoeff(), 0.0);
  EXPECT_EQ(leading_of(u, std::vector<double>(6, 0.0), 6).sizes.maxCoeff(), 0.0);
  EXPECT_EQ(leading_of(u, std::vector<double>(6, std::nan("")), 6).sizes.maxCoeff(), 0.0);
}

/// The memory that members of a team share.
struct team_board {
  std::barrier<> barrier;
  std::vector<double> numbers;
  explicit team_board(int members) : barrier(members), numbers(static_cast<std::size_t>(members)) {}
};
/// A thread of a team, two of which share a column.
struct board_member {
  static constexpr int lanes = 2;
  team_board* board;
  int own;

  int member() const { return own; }
  int members() const { return static_cast<int>(board->numbers.size()); }
  void wait() const { board->barrier.arrive_and_wait(); }
  double sum(double number) const { return over(number, own / lanes * lanes, lanes); }
  bool any(bool yes) const { return over(yes ? 1.0 : 0.0, 0, members()) > 0.0; }

 private:
  double over(double number, int first, int count) const {
    board->numbers[static_cast<std::size_t>(own)] = number;
    wait();
    double all = 0.0;
    for (int k = 0; k < count; ++k) all += board->numbers[static_cast<std::size_t>(first + k)];
    wait();
    return all;
  }
};

/// As the threads of a block do it: members agree on the next step, and none runs ahead.
TEST(GramVectors, AreTheSameByATeam) {
  constexpr int n = 5, kept = 3, members = 4;
  const matrix a = random_matrix(40, n, 8), products = a.adjoint() * a;
  const std::vector<double> scales(n, 1.0);
  struct {
    std::vector<complex<double>> gram = std::vector<complex<double>>(n * n),
                                 sums = std::vector<complex<double>>(n * kept);
    std::vector<double> sizes = std::vector<double>(kept), workspace = std::vector<double>(n);
    std::vector<int> order = std::vector<int>(n);
  } team, alone;
  const auto run = [&](const auto& member, auto& at) {
    leading_combinations(member, at.gram.data(), n, scales.data(), kept, at.sizes.data(), at.sums.data(),
                         at.workspace.data(), at.order.data());
  };
  for (int k = 0; k < n * n; ++k) {
    const auto z = products(k % n, k / n);
    team.gram[static_cast<std::size_t>(k)] = alone.gram[static_cast<std::size_t>(k)] = {z.real(), z.imag()};
  }
  run(lone_thread{}, alone);
  team_board board(members);
  {
    std::vector<std::jthread> threads;
    for (int m = 0; m < members; ++m) threads.emplace_back([&, m] { run(board_member{&board, m}, team); });
  }
  for (std::size_t k = 0; k < kept; ++k) EXPECT_NEAR(team.sizes[k], alone.sizes[k], 1e-12 * alone.sizes[0]);
  for (std::size_t k = 0; k < n * kept; ++k) {
    EXPECT_NEAR(team.sums[k].re, alone.sums[k].re, 1e-12);
    EXPECT_NEAR(team.sums[k].im, alone.sums[k].im, 1e-12);
  }
}

/// Two halves, one after the other, with the kept vectors of the first, lead to nearly the vectors of all together.
TEST(GramVectors, OfAPoolThatIsFilledInStagesAreThoseOfAll) {
  // Twelve strong directions with noise: the stages have them in other mixtures.
  const matrix strong = random_matrix(300, 12, 5);
  const auto stage = [&](std::uint64_t seed) -> matrix {
    return strong * random_matrix(12, 16, seed) + 0.05 * random_matrix(300, 16, seed + 10);
  };
  const matrix first = stage(6), second = stage(7);
  const auto kept = leading_of(first, std::vector<double>(16, 1.0), 16);
  matrix pool(300, 32), all(300, 32);
  pool << kept.vectors, second;
  all << first, second;
  std::vector<double> scales(kept.sizes.data(), kept.sizes.data() + 16);
  scales.resize(32, 1.0);
  const auto streamed = leading_of(pool, scales, 12);
  const Eigen::JacobiSVD<matrix> svd(all, Eigen::ComputeThinU);
  EXPECT_TRUE(distance_of_spans(streamed.vectors, svd.matrixU().leftCols(12)) <= 1e-6);  // nothing was left out
}

}  // namespace
}  // namespace plaquette
