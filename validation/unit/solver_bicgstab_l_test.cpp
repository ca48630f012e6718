// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// BiCGstab(l): right in one precision and in two, and where BiCGstab stalls.
#include <gtest/gtest.h>

#include <cmath>

#include "common/krylov/bicgstab_l.hpp"
#include "common/krylov/mixed_solve.hpp"
#include "validation/unit/solver_support.hpp"

namespace plaquette::solver_tests {
namespace {

TEST(BiCGstabL, AgreesWithTheDenseSolution) {
  for (const int l : {1, 2, 4})
    for (const std::uint64_t seed : {1, 2, 3})
      for (const int columns : {1, 3}) {
        generator g(seed);
        const matrix a = well_behaved(30, g);
        matrix b = random_matrix(30, columns, g);
        if (columns > 1) b.col(1).setZero();
        for (const int check_interval : {1, 3, 10}) {
          mock::machine device(seed);
          mock::field x = to_field(device, matrix::Zero(30, columns));
          const auto report = bicgstab_l(to_operator(a), x, to_field(device, b),
                                         {.tolerance = 1e-10, .limit = 300, .check_interval = check_interval}, l);
          const matrix found = to_matrix(x);
          for (int n = 0; n < columns; ++n) {
            const auto& c = report.columns[static_cast<std::size_t>(n)];
            EXPECT_EQ(c.status, solve_status::converged) << l << ' ' << c.why;
            if (columns > 1 && n == 1) {
              EXPECT_EQ(found.col(n), vector::Zero(30));
              continue;
            }
            const double gap = residual_gap(a, report.history[static_cast<std::size_t>(n)], 2 * l);
            EXPECT_TRUE(relative_residual(a, found.col(n), b.col(n)) <= 1e-10 + gap) << l;
            EXPECT_TRUE(std::abs(relative_residual(a, found.col(n), b.col(n)) - c.residual) <= gap) << l;
          }
        }
      }
}

TEST(BiCGstabL, TakesAsManyStepsAsThereAreDistinctEigenvalues) {
  for (const int l : {2, 4})
    for (const int k : {1, 2, 3, 5}) {
      generator g(static_cast<std::uint64_t>(10 + k));
      const matrix a = with_spectrum(distinct_values(20, k), g), b = random_matrix(20, 2, g);
      mock::machine device;
      mock::field x = to_field(device, matrix::Zero(20, 2));
      const auto report = bicgstab_l(to_operator(a), x, to_field(device, b), {.tolerance = 1e-10, .limit = 100}, l);
      // A step of BiCG counts for one, as a minimisation over l powers finds l eigenvalues at once.
      for (const auto& c : report.columns) {
        EXPECT_EQ(c.status, solve_status::converged) << c.why;
        EXPECT_LE(c.iterations, k);
      }
    }
}

/// Eigenvalues near the imaginary axis: a real minimisation over one power of A brings nothing.
matrix nearly_skew(Eigen::Index n, generator& g) {
  const Eigen::MatrixXd m = random_matrix(n, n, g).real();
  const Eigen::MatrixXd skew = (m - m.transpose()) / std::sqrt(static_cast<double>(n));
  return (skew + 0.02 * Eigen::MatrixXd::Identity(n, n)).cast<std::complex<double>>();
}

TEST(BiCGstabL, ConvergesWhereBiCGstabStalls) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    generator g(seed);
    const matrix a = nearly_skew(40, g), b = random_matrix(40, 1, g).real().cast<std::complex<double>>();
    const auto op = to_operator(a);
    mock::machine device;
    const mock::field source = to_field(device, b);
    const stopping_rule rule{.tolerance = 1e-8, .limit = 400};
    mock::field x = to_field(device, matrix::Zero(40, 1)), y = to_field(device, matrix::Zero(40, 1));
    const auto one = bicgstab(op, x, source, rule);
    const auto four = bicgstab_l(op, y, source, rule, 4);
    EXPECT_TRUE(four.all_converged()) << four.columns[0].why;
    EXPECT_TRUE(relative_residual(a, to_matrix(y).col(0), b.col(0)) <= 1e-7);
    EXPECT_TRUE(!one.all_converged() || one.iterations() > four.iterations()) << one.iterations();
  }
}

TEST(AutomaticSolver, FallsBackWhereBiCGstabFailsAndSaysSo) {
  using low = mock::basic_field<float>;
  generator g(2);
  Eigen::MatrixXd m = random_matrix(40, 40, g).real();
  m = (m - m.transpose()).eval() / std::sqrt(40.0) + 1e-3 * Eigen::MatrixXd::Identity(40, 40);
  const matrix a = m.cast<std::complex<double>>(), b = random_matrix(40, 2, g).real().cast<std::complex<double>>();
  const auto op = to_operator(a);
  mock::machine device;
  const mock::field source = to_field(device, b);
  for (const bool mixed : {false, true}) {
    mock::field x = to_field(device, matrix::Zero(40, 2));
    const stopping_rule rule{.tolerance = 1e-9, .limit = 20000};
    const auto report = mixed ? solve_mixed<low>(solver_kind::automatic, mixed_scheme::reliable, op, op, x, source,
                                                 rule, {.delta = 1e-2, .longest_interval = 20})
                              : solve(solver_kind::automatic, op, x, source, rule);
    for (int n = 0; n < 2; ++n) {
      const auto& c = report.columns[static_cast<std::size_t>(n)];
      EXPECT_EQ(c.status, solve_status::converged) << mixed << ' ' << c.why;
      EXPECT_EQ(c.why.find("bicgstab gave way to cgnr after "), 0u) << mixed << ' ' << c.why;
      EXPECT_TRUE(relative_residual(a, to_matrix(x).col(n), b.col(n)) <= 1e-8) << mixed;
    }
  }
  const matrix easy = well_behaved(20, g), c = random_matrix(20, 1, g);
  mock::field y = to_field(device, matrix::Zero(20, 1));
  const auto report = solve(solver_kind::automatic, to_operator(easy), y, to_field(device, c), {.tolerance = 1e-9});
  EXPECT_TRUE(report.all_converged());
  EXPECT_EQ(report.columns[0].restarts, 0);
}

TEST(AutomaticSolver, EndsWithCgneWhereTheIterationIsInHalfPrecision) {
  const auto tried = [&]<class InnerField>() {
    std::string all;
    for (const int seed : {1, 2, 3, 4}) {
      generator g(seed);
      Eigen::MatrixXd m = random_matrix(100, 100, g).real();
      m = (m - m.transpose()).eval() / std::sqrt(100.0) + 1e-4 * Eigen::MatrixXd::Identity(100, 100);
      const matrix a = m.cast<std::complex<double>>(), b = random_matrix(100, 1, g).real().cast<std::complex<double>>();
      const auto op = to_operator(a);
      mock::machine device;
      mock::field x = to_field(device, matrix::Zero(100, 1));
      all += solve_mixed<InnerField>(solver_kind::automatic, mixed_scheme::reliable, op, op, x, to_field(device, b),
                                     {.tolerance = 1e-9, .limit = 1500}, {.delta = 0.1, .longest_interval = 20})
                 .columns[0]
                 .why;
    }
    return all;
  };
  const std::string in_half = tried.operator()<mock::basic_field<half>>(),
                    in_single = tried.operator()<mock::basic_field<float>>();
  EXPECT_NE(in_half.find("gave way to cgne"), std::string::npos) << in_half;
  EXPECT_EQ(in_half.find("cgnr"), std::string::npos) << in_half;
  EXPECT_NE(in_single.find("gave way to cgnr"), std::string::npos) << in_single;
  EXPECT_EQ(in_single.find("cgne"), std::string::npos) << in_single;
}

/// Eigenvalues around zero, of absolute values from 1 to 5: BiCGstab gets nowhere, CGNR sees the absolute values alone.
matrix around_zero(int n, std::uint64_t seed) {
  generator g(seed);
  const Eigen::HouseholderQR<matrix> q(random_matrix(n, n, g));
  const matrix u = q.householderQ();
  vector values(n);
  for (int k = 0; k < n; ++k) values(k) = std::polar(1.0 + 4.0 * k / (n - 1), 2.399963 * k);
  return u * values.asDiagonal() * u.adjoint();
}

TEST(AutomaticSolver, TakesLittleMoreThanCgnrWhereBiCGstabGetsNowhere) {
  using low = mock::basic_field<float>;
  for (const std::uint64_t seed : {1, 2, 3}) {
    generator g(seed + 100);
    const matrix a = around_zero(120, seed), b = random_matrix(120, 2, g);
    const auto op = to_operator(a);
    const auto applications = [&](solver_kind kind, bool mixed) {
      mock::machine device;
      mock::field x = to_field(device, matrix::Zero(120, 2));
      const stopping_rule rule{.tolerance = 1e-10};
      const auto report = mixed
                              ? solve_mixed<low>(kind, mixed_scheme::reliable, op, op, x, to_field(device, b), rule, {})
                              : solve(kind, op, x, to_field(device, b), rule);
      EXPECT_TRUE(report.all_converged()) << name(kind) << ' ' << report.columns[0].why;
      return static_cast<double>(report.column_applications);
    };
    for (const bool mixed : {false, true})
      EXPECT_LE(applications(solver_kind::automatic, mixed), 1.3 * applications(solver_kind::cgnr, mixed)) << mixed;
  }
}

TEST(AutomaticSolver, GoesBackToBiCGstabWhereCgnrIsNoBetter) {
  // Positive, condition 1000: CGNR sees 10^6. The source is mostly low modes, so BiCGstab starts slowly.
  constexpr int n = 300;
  matrix a = matrix::Zero(n, n);
  vector b(n);
  for (int k = 0; k < n; ++k) {
    a(k, k) = std::pow(10.0, -3.0 + 3.0 * k / (n - 1));
    b(k) = 1.0 / a(k, k).real();
  }
  mock::machine device;
  mock::field x = to_field(device, matrix::Zero(n, 1));
  const auto report = solve(solver_kind::automatic, to_operator(a), x, to_field(device, b), {.tolerance = 1e-8});
  EXPECT_TRUE(report.all_converged()) << report.columns[0].why;
  EXPECT_TRUE(relative_residual(a, to_matrix(x), b) <= 1e-7) << report.columns[0].why;
  EXPECT_NE(report.columns[0].why.find("cgnr gave way to bicgstab after "), std::string::npos) << report.columns[0].why;
}

TEST(AutomaticSolver, NoticesAStallOfTwoPrecisionsWithinItsPatience) {
  using low = mock::basic_field<float>;
  for (const int interval : {1, 20, 40, 200, 10000}) {
    generator g(2);
    Eigen::MatrixXd m = random_matrix(40, 40, g).real();
    m = (m - m.transpose()).eval() / std::sqrt(40.0) + 1e-3 * Eigen::MatrixXd::Identity(40, 40);
    const matrix a = m.cast<std::complex<double>>(), b = random_matrix(40, 1, g).real().cast<std::complex<double>>();
    const auto op = to_operator(a);
    mock::machine device;
    mock::field x = to_field(device, matrix::Zero(40, 1));
    const auto report = reliable_bicgstab<low>(
        op, op, x, to_field(device, b), {.tolerance = 1e-9, .limit = 20000},
        detail::noticing_a_stall({.delta = 1e-2, .longest_interval = interval, .restarts = 0}, 150));
    const auto& c = report.columns[0];
    ASSERT_EQ(c.status, solve_status::stagnation) << interval << ' ' << c.why;
    double best = 1.0;
    int progress = 0;  // the last update at which the true residual had fallen by a tenth
    for (const residual_update& u : c.updates)
      if (u.truth < 0.9 * best) best = u.truth, progress = u.iteration;
    EXPECT_LE(c.iterations, progress + 150) << interval;
  }
}

template <class T>
class BiCGstabLWithInner : public testing::Test {};
using inner_precisions = testing::Types<double, float, half>;
TYPED_TEST_SUITE(BiCGstabLWithInner, inner_precisions);

TYPED_TEST(BiCGstabLWithInner, BringsTheTrueResidualToADoubleTolerance) {
  using low = mock::basic_field<TypeParam>;
  for (const int l : {2, 4})
    for (const std::uint64_t seed : {1, 2, 3})
      for (const auto& [check_interval, check_lag] : {std::pair{1, 0}, {10, 2}}) {
        generator g(seed);
        const matrix a = well_behaved(40, g), b = random_matrix(40, 3, g);
        const auto op = to_operator(a);
        const auto run = [&](const matrix& some) {
          mock::machine device(seed);
          mock::field x = to_field(device, matrix::Zero(40, some.cols()));
          const auto report = reliable_bicgstab_l<low>(
              op, op, x, to_field(device, some),
              {.tolerance = 1e-12, .limit = 500, .check_interval = check_interval, .check_lag = check_lag}, {}, l);
          for (Eigen::Index n = 0; n < some.cols(); ++n) {
            const auto& c = report.columns[static_cast<std::size_t>(n)];
            EXPECT_EQ(c.status, solve_status::converged) << l << ' ' << c.why;
            EXPECT_EQ(c.restarts, 0);
            EXPECT_TRUE(relative_residual(a, to_matrix(x).col(n), some.col(n)) <= 1.01e-12);
          }
          return to_matrix(x);
        };
        const matrix together = run(b);
        EXPECT_EQ(run(b.col(1)), matrix(together.col(1))) << "another batch";
      }
}

}  // namespace
}  // namespace plaquette::solver_tests
