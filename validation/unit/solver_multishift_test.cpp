// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Multi-shift conjugate gradients: every shift as if it were solved alone, for the applications of one.
#include <gtest/gtest.h>

#include <cmath>

#include "common/krylov/multishift_cg.hpp"
#include "validation/unit/solver_support.hpp"

namespace plaquette::solver_tests {
namespace {

matrix positive_matrix(Eigen::Index n, double condition, generator& g) {
  vector spectrum(n);
  for (Eigen::Index i = 0; i < n; ++i)
    spectrum(i) = std::pow(condition, static_cast<double>(i) / static_cast<double>(n - 1));
  return with_spectrum(spectrum, g);
}

matrix shifted(const matrix& a, double sigma) { return a + sigma * matrix::Identity(a.rows(), a.cols()); }

template <class T>
std::vector<mock::basic_field<T>> solutions_like(const mock::basic_field<T>& b, std::size_t shifts) {
  std::vector<mock::basic_field<T>> x;
  for (std::size_t s = 0; s < shifts; ++s) x.push_back(like(b));  // poison: the guess is zero whatever they hold
  return x;
}

const std::vector<double> shifts{0.0, 0.01, 0.5, 3.0, 40.0};

TEST(MultishiftCg, SolutionsScaleWithTheirSources) {
  generator g(8);
  const matrix a = positive_matrix(30, 50.0, g);
  expect_solutions_scale(random_matrix(30, 3, g), [&](const matrix& b) {
    mock::machine device;
    const mock::field source = to_field(device, b);
    auto x = solutions_like(source, shifts.size());
    for (const auto& report :
         multishift_cg(to_operator(a), x, source, shifts, stopping_rule{.tolerance = 1e-10, .limit = 500}))
      EXPECT_TRUE(report.all_converged());
    matrix all(30, 0);
    for (const mock::field& of_shift : x) {
      all.conservativeResize(30, all.cols() + 3);
      all.rightCols(3) = to_matrix(of_shift);
    }
    return all;
  });
}

TEST(MultishiftCg, SolvesEveryShiftAsIfItWereAlone) {
  for (const std::uint64_t seed : {1, 2, 3})
    for (const int columns : {1, 3}) {
      generator g(seed);
      const matrix a = positive_matrix(30, 50.0, g), b = random_matrix(30, columns, g);
      const auto op = to_operator(a);
      for (const int check_interval : {1, 4}) {
        mock::machine device(seed);
        const mock::field source = to_field(device, b);
        auto x = solutions_like(source, shifts.size());
        const stopping_rule rule{.tolerance = 1e-9, .limit = 500, .check_interval = check_interval};
        const auto reports = multishift_cg(op, x, source, shifts, rule);
        for (std::size_t s = 0; s < shifts.size(); ++s) {
          const matrix a_s = shifted(a, shifts[s]);
          mock::field alone = to_field(device, matrix::Zero(30, columns));
          const auto expected = conjugate_gradients(shifted_operator(op, shifts[s]), alone, source, rule);
          for (int n = 0; n < columns; ++n) {
            const auto k = static_cast<std::size_t>(n);
            const auto& column = reports[s].columns[k];
            EXPECT_EQ(column.status, solve_status::converged) << shifts[s] << ' ' << column.why;
            EXPECT_TRUE(column.residual <= 1e-9);
            const double truth = relative_residual(a_s, to_matrix(x[s]).col(n), b.col(n));
            EXPECT_TRUE(std::abs(truth - column.residual) <= residual_gap(a_s, reports[s].history[k])) << shifts[s];
            // The same residuals, to rounding, and so the same number of steps, but where the tolerance lies between.
            EXPECT_NEAR(column.iterations, expected.columns[k].iterations, 1) << shifts[s];
            EXPECT_NEAR(reports[s].history[k][5] / expected.history[k][5], 1.0, 1e-8) << shifts[s];
            EXPECT_EQ(std::ssize(reports[s].history[k]), column.iterations + 1);
            if (s > 0) {
              EXPECT_LE(column.iterations, reports[s - 1].columns[k].iterations);
            }
          }
        }
        EXPECT_EQ(reports[0].operator_applications,
                  (reports[0].iterations() + check_interval - 1) / check_interval * check_interval)
            << "one an iteration, for all shifts";
      }
    }
}

TEST(MultishiftCg, TakesAsManyStepsAsThereAreDistinctEigenvalues) {
  for (const int k : {1, 2, 4}) {
    generator g(static_cast<std::uint64_t>(k));
    const matrix a = with_spectrum(distinct_values(16, k), g), b = random_matrix(16, 2, g);
    mock::machine device;
    const mock::field source = to_field(device, b);
    auto x = solutions_like(source, 3);
    const auto reports =
        multishift_cg(to_operator(a), x, source, std::vector{0.0, 0.1, 0.7}, {.tolerance = 1e-10, .limit = 50});
    for (const auto& report : reports)
      for (const auto& column : report.columns) EXPECT_EQ(column.iterations, k);
  }
}

TEST(MultishiftCg, GivesAColumnTheBitsThatItHasAloneHoweverOftenTheHostLooks) {
  generator g(7);
  const matrix a = positive_matrix(24, 30.0, g);
  const matrix u = random_unitary(24, g);
  matrix b = random_matrix(24, 4, g);
  b.col(1).setZero();
  b.col(2) = a * b.col(0) + b.col(0);
  mock::machine device;
  const mock::field source = to_field(device, b);
  auto together = solutions_like(source, shifts.size());
  multishift_cg(to_operator(a), together, source, shifts, {.tolerance = 1e-8, .limit = 500, .check_interval = 3});
  for (int n = 0; n < 4; ++n) {
    mock::machine other(static_cast<std::uint64_t>(20 + n));
    const mock::field one = to_field(other, b.col(n));
    auto alone = solutions_like(one, shifts.size());
    multishift_cg(to_operator(a), alone, one, shifts, {.tolerance = 1e-8, .limit = 500, .check_interval = 1});
    for (std::size_t s = 0; s < shifts.size(); ++s)
      EXPECT_EQ(to_matrix(alone[s]).col(0), to_matrix(together[s]).col(n)) << n << ' ' << shifts[s];
  }
}

TEST(MultishiftCg, ReadsAtLooksAlone) {
  generator g(9);
  const matrix a = positive_matrix(24, 30.0, g), b = random_matrix(24, 2, g);
  for (const int check_interval : {1, 5}) {
    mock::machine device;
    const mock::field source = to_field(device, b);
    auto x = solutions_like(source, shifts.size());
    const auto reports = multishift_cg(to_operator(a), x, source, shifts,
                                       {.tolerance = 1e-8, .limit = 500, .check_interval = check_interval});
    const long checks = (reports[0].iterations() + check_interval - 1) / check_interval;
    EXPECT_EQ(std::ssize(device.reads()), 1 + checks);
    EXPECT_EQ(reports[0].host_reads, 1 + checks);
  }
}

TEST(MultishiftCg, SaysWhatCannotBeSolvedAndAnswersZeroSources) {
  generator g(11);
  const matrix a = positive_matrix(12, 30.0, g);
  matrix b = random_matrix(12, 3, g);
  b.col(0).setZero();
  b(4, 2) = mock::poison;
  mock::machine device;
  const mock::field source = to_field(device, b);
  auto x = solutions_like(source, 2);
  const auto reports = multishift_cg(to_operator(a), x, source, std::vector{0.0, 1.0}, {.tolerance = 1e-8});
  for (std::size_t s = 0; s < 2; ++s) {
    EXPECT_EQ(reports[s].columns[0].status, solve_status::converged);
    EXPECT_EQ(reports[s].columns[1].status, solve_status::converged);
    EXPECT_EQ(reports[s].columns[2].status, solve_status::not_finite);
    for (const int n : {0, 2}) EXPECT_EQ(to_matrix(x[s]).col(n), vector::Zero(12));
  }
  // an operator that is not positive
  auto y = solutions_like(source, 2);
  const auto negative = multishift_cg(to_operator(-a), y, source, std::vector{0.0, 1.0}, {.tolerance = 1e-8});
  for (std::size_t s = 0; s < 2; ++s) EXPECT_EQ(negative[s].columns[1].status, solve_status::breakdown);

  EXPECT_THROW(multishift_cg(to_operator(a), x, source, std::vector{1.0, 0.0}, {}), input_error);
  EXPECT_THROW(multishift_cg(to_operator(a), x, source, std::vector{0.0, 1.0, 2.0}, {}), input_error);
}

}  // namespace
}  // namespace plaquette::solver_tests
