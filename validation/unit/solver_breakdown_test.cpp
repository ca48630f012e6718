// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where a method cannot go on it says so, returns the best it had, and never claims to have converged.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "validation/unit/solver_support.hpp"

namespace plaquette::solver_tests {
namespace {

struct outcome {
  solve_report report;
  matrix x;
};

outcome run(const method& solver, const matrix& a, const matrix& b, const stopping_rule& rule) {
  mock::machine device(3);
  mock::field x = to_field(device, matrix::Zero(b.rows(), b.cols()));
  auto report = solver.run(to_operator(a), x, to_field(device, b), rule);
  return {std::move(report), to_matrix(x)};
}

method named(const std::string& name, int gcr_length = 7) {
  for (method& m : general_methods())
    if (m.name == name && name != "gcr") return m;
  return by_kind(solver_kind::gcr, 1, 1, {.restart_length = gcr_length});
}

/// A result is finite, and its residual is the one in the report.
void expect_honest(const outcome& o, const matrix& a, const matrix& b, const std::string& where) {
  for (Eigen::Index n = 0; n < b.cols(); ++n) {
    const auto& column = o.report.columns[static_cast<std::size_t>(n)];
    EXPECT_TRUE(o.x.col(n).allFinite()) << where;
    const double truth = relative_residual(a, o.x.col(n), b.col(n));
    EXPECT_TRUE(std::abs(truth - column.residual) <= 1e-9 * (1.0 + truth))
        << where << ' ' << truth << ' ' << column.why;
    EXPECT_TRUE(column.status == solve_status::converged || !column.why.empty()) << where;
  }
}

TEST(ConjugateGradients, SayThatAnOperatorIsNotPositive) {
  generator g(1);
  const method cg{"cg", 1, 1, [](const auto& a, auto& x, const auto& b, const auto& rule) {
                    return conjugate_gradients(a, x, b, rule);
                  }};
  vector spectrum = vector::LinSpaced(8, -2.0, -1.0);
  const matrix negative = with_spectrum(spectrum, g), b = random_matrix(8, 2, g);
  const auto o = run(cg, negative, b, {.tolerance = 1e-8, .limit = 50});
  for (const auto& column : o.report.columns) {
    EXPECT_EQ(column.status, solve_status::breakdown);
    EXPECT_EQ(column.iterations, 1);
    EXPECT_EQ(column.why, "<p, A p> is not above zero at iteration 1");
  }
  expect_honest(o, negative, b, "negative");
}

/// Real entries and sources: <v, A v> = 0 for every v that a method makes from them.
matrix skew(Eigen::Index n, generator& g) {
  const Eigen::MatrixXd m = random_matrix(n, n, g).real();
  return (m - m.transpose()).cast<std::complex<double>>();
}

TEST(BiCGstab, SaysThatItBrokeDownOnASkewMatrixAndThatItTriedTwice) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    generator g(seed);
    const matrix a = skew(8, g), b = random_matrix(8, 3, g).real().cast<std::complex<double>>();
    const auto o = run(named("bicgstab"), a, b, {.tolerance = 1e-8, .limit = 100});
    for (const auto& column : o.report.columns) {
      EXPECT_EQ(column.status, solve_status::breakdown);
      EXPECT_EQ(column.restarts, 1);
      EXPECT_NE(column.why.find("restarted from the true residual (<r0, A p> vanished at iteration 1)"),
                std::string::npos)
          << column.why;
      EXPECT_NE(column.why.find("then omega = <A s, s> / |A s|^2 vanished"), std::string::npos) << column.why;
    }
    expect_honest(o, a, b, "skew");
  }
}

TEST(BiCGstab, RestartsWhereRhoVanishesAndConverges) {
  // Lower block triangular, source along the first axis: after one step the residual is orthogonal to the first one.
  matrix a(4, 4);
  a << 2, 0, 0, 0,  //
      1, 3, 1, 0,   //
      1, -1, 4, 1,  //
      2, 0, 1, 5;
  matrix b = matrix::Zero(4, 1);
  b(0, 0) = 1.0;
  for (const int check_interval : {1, 10}) {
    const auto o = run(named("bicgstab"), a, b, {.tolerance = 1e-10, .limit = 100, .check_interval = check_interval});
    const auto& column = o.report.columns[0];
    EXPECT_EQ(column.status, solve_status::converged) << column.why;
    EXPECT_EQ(column.restarts, 1);
    EXPECT_EQ(column.why, "restarted from the true residual (rho = <r0, r> vanished at iteration 1)");
    EXPECT_EQ(std::ssize(o.report.history[0]), column.iterations + 1);
    expect_honest(o, a, b, "rho");
  }
}

TEST(BiCGstab, RestartsWhereOmegaVanishesAndConverges) {
  matrix a(2, 2);
  a << 1, 2, 3, 0;
  matrix b(2, 1);
  b << 1, 0;  // s = (0, -3), A s = (-6, 0)
  for (const int check_interval : {1, 10}) {
    const auto o = run(named("bicgstab"), a, b, {.tolerance = 1e-10, .limit = 100, .check_interval = check_interval});
    EXPECT_EQ(o.report.columns[0].status, solve_status::converged) << o.report.columns[0].why;
    EXPECT_EQ(o.report.columns[0].restarts, 1);
    EXPECT_NE(o.report.columns[0].why.find("omega = <A s, s> / |A s|^2 vanished at iteration 1"), std::string::npos);
    expect_honest(o, a, b, "omega");
  }
}

TEST(BiCGstab, RestartsOnlyTheColumnsThatBrokeDown) {
  matrix a(4, 4);
  a << 2, 0, 0, 0,  //
      1, 3, 1, 0,   //
      1, -1, 4, 1,  //
      2, 0, 1, 5;
  generator g(5);
  matrix b = random_matrix(4, 5, g);
  b.col(1) = vector::Unit(4, 0);
  b.col(3) = 2.0 * vector::Unit(4, 0);
  const auto o = run(named("bicgstab"), a, b, {.tolerance = 1e-10, .limit = 100, .check_interval = 1});
  EXPECT_TRUE(o.report.all_converged());
  for (std::size_t n = 0; n < 5; ++n) EXPECT_EQ(o.report.columns[n].restarts, n == 1 || n == 3 ? 1 : 0) << n;
  expect_honest(o, a, b, "some columns");
}

matrix rotation(double degrees) {
  const double angle = degrees * std::numbers::pi / 180.0;
  matrix a(2, 2);
  a << std::cos(angle), -std::sin(angle), std::sin(angle), std::cos(angle);
  return a;
}

TEST(Gcr, OfOneDirectionSaysThatItStagnates) {
  // Each step leaves sin(89.9 degrees) = 1 - 1.5e-6 of the residual: 50 steps 7.6e-5, less than the required progress.
  const matrix a = rotation(89.9), b = matrix::Constant(2, 1, 1.0);
  for (const method& solver : {named("gcr", 1), by_kind(solver_kind::mr, 1, 1)}) {
    const auto o = run(solver, a, b, {.tolerance = 1e-8, .limit = 1000, .stagnation_window = 50});
    EXPECT_EQ(o.report.columns[0].status, solve_status::stagnation) << solver.name;
    EXPECT_EQ(o.report.columns[0].iterations, 50);
    EXPECT_EQ(o.report.columns[0].why, "no progress over 50 iterations at iteration 50");
    expect_honest(o, a, b, solver.name);
  }
  EXPECT_TRUE(run(named("gcr", 2), a, b, {.tolerance = 1e-8, .limit = 10}).report.all_converged());
}

TEST(Gcr, SaysThatADirectionBringsNothing) {
  // a real rotation by 90 degrees: <A r, r> = 0 up to the rounding of its cosine
  const matrix a = rotation(90.0), b = matrix::Constant(2, 1, 1.0);
  for (const method& solver : {named("gcr", 1), named("gcr", 4), by_kind(solver_kind::mr, 1, 1)}) {
    const auto o = run(solver, a, b, {.tolerance = 1e-8, .limit = 100});
    EXPECT_EQ(o.report.columns[0].status, solve_status::breakdown) << solver.name;
    EXPECT_EQ(o.report.columns[0].iterations, 1) << solver.name;
    expect_honest(o, a, b, solver.name);
  }
}

TEST(Solvers, SayWhenANumberIsNoLongerFiniteAndReturnTheBestBefore) {
  generator g(11);
  const matrix a = well_behaved(30, g), b = random_matrix(30, 4, g);
  for (const method& solver : general_methods())
    for (const int check_interval : {1, 3, 10}) {
      const stopping_rule rule{.tolerance = 1e-12, .limit = 300, .check_interval = check_interval};
      mock::machine device(9);
      mock::field x = to_field(device, matrix::Zero(30, 4));
      const mock::field source = to_field(device, b);
      // bad from the fifteenth iteration on, before any column has converged
      const mock::failing_operator bad(to_operator(a),
                                       14 * solver.applications_per_iteration + solver.applications_before, 2);
      const any_operator<mock::field> hidden(bad);
      const solver_parameters parameters{.restart_length = 7, .relaxation = 0.9};
      outcome o{solve(parse_solver_kind(solver.name), hidden, x, source, rule, parameters), to_matrix(x)};
      const auto& column = o.report.columns[2];
      EXPECT_EQ(column.status, solve_status::not_finite) << solver.name << ' ' << column.why;
      EXPECT_EQ(column.why.substr(0, 30), "the residual became not finite") << column.why;
      EXPECT_EQ(column.iterations, 15) << solver.name;
      EXPECT_TRUE(column.residual < 1.0) << solver.name << ": the best before is better than nothing";
      EXPECT_TRUE(column.residual > 1e-12);
      expect_honest(o, a, b, solver.name);
    }
}

TEST(Solvers, SayThatASourceOrAGuessIsNotFinite) {
  generator g(13);
  const matrix a = well_behaved(10, g);
  matrix b = random_matrix(10, 3, g), guess = matrix::Zero(10, 3);
  b(4, 0) = mock::poison;
  guess(2, 2) = mock::poison;
  for (const method& solver : general_methods()) {
    mock::machine device;
    mock::field x = to_field(device, guess);
    const auto report = solver.run(to_operator(a), x, to_field(device, b), {.tolerance = 1e-8, .limit = 500});
    const matrix found = to_matrix(x);
    for (const int n : {0, 2}) {
      EXPECT_EQ(report.columns[static_cast<std::size_t>(n)].status, solve_status::not_finite) << solver.name;
      EXPECT_EQ(found.col(n), vector::Zero(10)) << solver.name;
    }
    EXPECT_EQ(report.columns[1].status, solve_status::converged) << solver.name;
    EXPECT_LT(relative_residual(a, found.col(1), b.col(1)), 2e-8) << solver.name;
  }
}

TEST(Solvers, ReturnTheBestAtTheIterationLimit) {
  generator g(17);
  const matrix a = random_matrix(40, 40, g), b = random_matrix(40, 3, g);  // eigenvalues all round zero
  for (const method& solver : general_methods()) {
    if (solver.name == "mr") continue;  // here it stops before, and says so
    for (const int limit : {0, 1, 7, 25}) {
      const auto o = run(solver, a, b, {.tolerance = 1e-12, .limit = limit, .check_interval = 4});
      for (std::size_t n = 0; n < 3; ++n) {
        const auto& column = o.report.columns[n];
        EXPECT_EQ(column.status, solve_status::iteration_limit) << solver.name << ' ' << column.why;
        EXPECT_EQ(column.iterations, limit);
        EXPECT_TRUE(column.residual <= 1.0 && column.residual <= o.report.history[n].back())
            << solver.name << ": no worse than the guess and the last iterate";
      }
      expect_honest(o, a, b, solver.name);
    }
  }
}

TEST(Solvers, NeverClaimMoreThanTheTruth) {
  // Matrices on which methods fail in all ways: singular, skew, nilpotent, indefinite, of huge and of tiny size.
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    generator g(seed);
    const Eigen::Index n = 9;
    vector indefinite = vector::LinSpaced(n, -2.0, 2.5), singular = vector::LinSpaced(n, 0.0, 2.0);
    matrix nilpotent = matrix::Zero(n, n);
    for (Eigen::Index i = 0; i + 1 < n; ++i) nilpotent(i, i + 1) = 1.0;
    const std::vector<matrix> matrices{with_spectrum(indefinite, g),
                                       with_spectrum(singular, g),
                                       nilpotent,
                                       skew(n, g),
                                       matrix::Zero(n, n),
                                       1e60 * random_matrix(n, n, g),
                                       1e-60 * random_matrix(n, n, g),
                                       random_matrix(n, 1, g) * random_matrix(1, n, g)};
    const matrix b = random_matrix(n, 3, g);
    for (std::size_t k = 0; k < matrices.size(); ++k)
      for (const method& solver : all_methods()) {
        const auto o = run(solver, matrices[k], b, {.tolerance = 1e-6, .limit = 200, .stagnation_window = 60});
        for (Eigen::Index column = 0; column < b.cols(); ++column) {
          const auto& report = o.report.columns[static_cast<std::size_t>(column)];
          ASSERT_TRUE(o.x.col(column).allFinite()) << solver.name << ", matrix " << k;
          const double truth = relative_residual(matrices[k], o.x.col(column), b.col(column));
          // The recurrence drifts from the truth by the rounding of its largest residual; the claimed residual is below
          // that.
          const auto& history = o.report.history[static_cast<std::size_t>(column)];
          const double drift = 1e-12 * *std::max_element(history.begin(), history.end());
          if (report.status == solve_status::converged)
            EXPECT_TRUE(truth <= 1e-6 + 1e3 * drift) << solver.name << ", matrix " << k << ' ' << truth;
          else
            EXPECT_FALSE(report.why.empty()) << solver.name;
        }
        // no solution exists: a source outside the range of a singular matrix
        if (k == 1 || k == 2 || k == 4 || k == 7) {
          for (const auto& column : o.report.columns)
            EXPECT_NE(column.status, solve_status::converged) << solver.name << ", matrix " << k;
        }
      }
  }
}

}  // namespace
}  // namespace plaquette::solver_tests
