// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The iterative solvers give the solution, in the number of steps that theory says, and tell the truth about it.
#include <gtest/gtest.h>

#include <cmath>

#include "validation/unit/solver_support.hpp"

namespace plaquette::solver_tests {
namespace {

/// Solves from zero and holds every column to Eigen's solution and to its own claim.
void expect_solution(const method& solver, const matrix& a, const matrix& b, double tolerance) {
  mock::machine device(7);
  const auto op = to_operator(a);
  mock::field x = to_field(device, matrix::Zero(b.rows(), b.cols()));
  const mock::field source = to_field(device, b);
  const solve_report report = solver.run(op, x, source, {.tolerance = tolerance, .limit = 2000, .check_interval = 3});
  const matrix found = to_matrix(x), expected = solution_of(a, b);
  const double inverse = norm_of_inverse(a);
  ASSERT_EQ(std::ssize(report.columns), b.cols());
  for (Eigen::Index n = 0; n < b.cols(); ++n) {
    const auto& column = report.columns[static_cast<std::size_t>(n)];
    const auto& history = report.history[static_cast<std::size_t>(n)];
    EXPECT_EQ(column.status, solve_status::converged) << solver.name << ' ' << n << ' ' << column.why;
    EXPECT_TRUE(column.residual <= tolerance) << solver.name << ' ' << column.residual;
    ASSERT_EQ(std::ssize(history), column.iterations + 1) << solver.name;
    EXPECT_EQ(history.back(), column.residual);
    const double gap = residual_gap(a, history, solver.name == "gcr" ? 8 : 1);
    const double truth = relative_residual(a, found.col(n), b.col(n));
    EXPECT_TRUE(std::abs(truth - column.residual) <= gap) << solver.name << ' ' << truth << ' ' << column.residual;
    // |x - A^-1 b| <= |A^-1| |b - A x|; the direct solution itself is off by less than the gap allows
    EXPECT_TRUE((found.col(n) - expected.col(n)).norm() <= inverse * b.col(n).norm() * (tolerance + 2.0 * gap))
        << solver.name << ' ' << n;
  }
}

TEST(Solvers, AgreeWithTheDenseSolution) {
  for (const std::uint64_t seed : {1, 2, 3})
    for (const int columns : {1, 2, 5, 12}) {
      generator g(seed);
      const matrix a = well_behaved(19, g), b = random_matrix(19, columns, g);
      for (const method& solver : general_methods())
        for (const double tolerance : {1e-4, 1e-10}) expect_solution(solver, a, b, tolerance);
    }
}

TEST(Solvers, AgreeWithTheDenseSolutionOfHermitianPositiveSystems) {
  for (const std::uint64_t seed : {4, 5}) {
    generator g(seed);
    vector spectrum(24);
    for (Eigen::Index i = 0; i < 24; ++i) spectrum(i) = std::pow(30.0, static_cast<double>(i) / 23.0);
    const matrix a = with_spectrum(spectrum, g), b = random_matrix(24, 5, g);
    for (const method& solver : all_methods()) expect_solution(solver, a, b, 1e-9);
  }
}

TEST(Solvers, TakeAsManyStepsAsThereAreDistinctEigenvalues) {
  // In exact arithmetic the residual vanishes at step k and, for a generic source, not before. The spectrum lies in
  // [1, 5] and k <= 5, so that rounding stays below 1e-10.
  for (const int k : {1, 2, 3, 5}) {
    generator g(static_cast<std::uint64_t>(10 + k));
    const matrix a = with_spectrum(distinct_values(20, k), g), b = random_matrix(20, 2, g);
    const auto op = to_operator(a);
    for (const method& solver : all_methods()) {
      if (solver.name == "mr") continue;  // not a Krylov method: it forgets its directions
      mock::machine device;
      mock::field x = to_field(device, matrix::Zero(20, 2));
      const auto report = solver.run(op, x, to_field(device, b), {.tolerance = 1e-10, .limit = 100});
      for (const auto& column : report.columns) {
        EXPECT_EQ(column.status, solve_status::converged) << solver.name << ' ' << k << ' ' << column.why;
        EXPECT_EQ(column.iterations, k) << solver.name;
      }
    }
  }
}

TEST(Solvers, OfTheNormalEquationsTakeAsManyStepsAsThereAreDistinctSingularValues) {
  for (const int k : {1, 3, 4}) {
    generator g(static_cast<std::uint64_t>(20 + k));
    const matrix a = with_spectrum(distinct_values(15, k), g) * random_unitary(15, g), b = random_matrix(15, 3, g);
    for (const method& solver : general_methods()) {
      if (solver.name != "cgne" && solver.name != "cgnr") continue;
      mock::machine device;
      mock::field x = to_field(device, matrix::Zero(15, 3));
      const auto report = solver.run(to_operator(a), x, to_field(device, b), {.tolerance = 1e-10, .limit = 100});
      for (const auto& column : report.columns) EXPECT_EQ(column.iterations, k) << solver.name << ' ' << column.why;
    }
  }
}

TEST(Cgnr, LowersTheResidualInEveryStepAndCgneTheError) {
  generator g(31);
  const matrix a = random_matrix(16, 16, g), b = random_matrix(16, 1, g);  // condition of some tens
  const vector expected = solution_of(a, b.col(0));
  double error = expected.norm();
  for (int steps = 1; steps <= 10; ++steps) {
    mock::machine device;
    mock::field x = to_field(device, matrix::Zero(16, 1)), y = to_field(device, matrix::Zero(16, 1));
    const auto report = cgnr(to_operator(a), x, to_field(device, b), {.tolerance = 1e-14, .limit = steps});
    EXPECT_LT(report.history[0].back(), report.history[0][static_cast<std::size_t>(steps) - 1]);
    // The solution of cgne after this number of steps is the last iterate of a solve stopped there. Its residual may be
    // larger than the guess's, which is then the returned solution. Hence a guess whose residual is larger still.
    const matrix far = matrix::Constant(16, 1, 1e3);
    y = to_field(device, far);
    cgne(to_operator(a), y, to_field(device, b), {.tolerance = 1e-14, .limit = steps});
    const double now = (to_matrix(y).col(0) - expected).norm();
    if (steps == 1) error = (far.col(0) - expected).norm();
    EXPECT_LT(now, error) << steps;
    error = now;
  }
}

TEST(MinimalResidual, FollowsItsRelaxationFactor) {
  // A = 2: each step leaves 1 - omega of the residual, whatever the source
  generator g(41);
  const matrix a = 2.0 * matrix::Identity(9, 9), b = random_matrix(9, 4, g);
  for (const double omega : {0.5, 0.8, 1.0, 1.5}) {
    mock::machine device;
    mock::field x = to_field(device, matrix::Zero(9, 4));
    const auto report =
        minimal_residual(to_operator(a), x, to_field(device, b), {.tolerance = 1e-6, .limit = 100}, omega);
    const int expected = omega == 1.0 ? 1 : static_cast<int>(std::ceil(std::log(1e-6) / std::log(std::abs(1 - omega))));
    for (const auto& column : report.columns) EXPECT_EQ(column.iterations, expected) << omega;
  }
}

TEST(Gcr, WithMoreDirectionsNeedsNoMoreIterations) {
  generator g(43);
  const matrix a = well_behaved(40, g), b = random_matrix(40, 3, g);
  int before = 1 << 20;
  for (const int length : {1, 2, 4, 16, 40}) {
    mock::machine device;
    mock::field x = to_field(device, matrix::Zero(40, 3));
    const auto report = gcr(to_operator(a), x, to_field(device, b), {.tolerance = 1e-10, .limit = 400}, length);
    EXPECT_TRUE(report.all_converged());
    EXPECT_LE(report.iterations(), before) << length;
    before = report.iterations();
  }
}

TEST(Solvers, UseTheInitialGuess) {
  generator g(51);
  const matrix a = with_spectrum(vector::LinSpaced(40, 1.0, 3.0), g), b = random_matrix(40, 3, g);
  const matrix exact = solution_of(a, b);
  for (const method& solver : all_methods()) {
    mock::machine device;
    const auto op = to_operator(a);
    const mock::field source = to_field(device, b);
    const stopping_rule rule{.tolerance = 1e-8, .limit = 2000, .check_interval = 1};
    mock::field cold = to_field(device, matrix::Zero(40, 3));
    // of the first column the solution, of the second close to it, of the third something else
    matrix guess = exact;
    guess.col(1) += 1e-6 * random_matrix(40, 1, g);
    guess.col(2) = random_matrix(40, 1, g);
    mock::field warm = to_field(device, guess);
    const auto from_zero = solver.run(op, cold, source, rule), from_guess = solver.run(op, warm, source, rule);
    EXPECT_TRUE(from_guess.all_converged()) << solver.name;
    EXPECT_EQ(from_guess.columns[0].iterations, 0) << solver.name;
    EXPECT_EQ(to_matrix(warm).col(0), guess.col(0)) << solver.name;
    EXPECT_LT(from_guess.columns[1].iterations, from_zero.columns[1].iterations) << solver.name;
    EXPECT_NEAR(from_guess.history[2][0], relative_residual(a, guess.col(2), b.col(2)), 1e-12) << solver.name;
    EXPECT_TRUE(relative_residual(a, to_matrix(warm).col(2), b.col(2)) <=
                1e-8 + residual_gap(a, from_guess.history[2], 8))
        << solver.name;
  }
}

TEST(Solvers, SpareAnApplicationWhereTheyAreToldThatTheGuessIsZero) {
  generator g(52);
  const matrix a = with_spectrum(vector::LinSpaced(20, 1.0, 3.0), g), b = random_matrix(20, 3, g);
  for (const method& solver : all_methods()) {
    mock::machine device;
    const mock::field source = to_field(device, b);
    mock::field x = to_field(device, matrix::Zero(20, 3)), told = to_field(device, matrix::Zero(20, 3));
    const auto report = solver.run(to_operator(a), x, source, {.tolerance = 1e-8, .limit = 2000});
    const auto shorter =
        solver.run(to_operator(a), told, source, {.tolerance = 1e-8, .limit = 2000, .guess_is_zero = true});
    EXPECT_EQ(to_matrix(told), to_matrix(x)) << solver.name;
    EXPECT_EQ(shorter.history, report.history) << solver.name;
    EXPECT_EQ(shorter.operator_applications, report.operator_applications - 1) << solver.name;
  }
}

TEST(Solvers, AnswerAZeroSourceWithZero) {
  generator g(61);
  const matrix a = with_spectrum(vector::LinSpaced(10, 1.0, 4.0), g);
  matrix b = random_matrix(10, 4, g);
  b.col(1).setZero();
  b.col(3).setZero();
  for (const method& solver : all_methods()) {
    mock::machine device;
    mock::field x = to_field(device, matrix::Constant(10, 4, {2.0, 1.0}));
    const auto report = solver.run(to_operator(a), x, to_field(device, b), {.tolerance = 1e-9, .limit = 2000});
    EXPECT_TRUE(report.all_converged()) << solver.name;
    for (const int n : {1, 3}) {
      EXPECT_EQ(to_matrix(x).col(n), vector::Zero(10)) << solver.name;
      EXPECT_EQ(report.columns[static_cast<std::size_t>(n)].iterations, 0);
      EXPECT_EQ(report.columns[static_cast<std::size_t>(n)].residual, 0.0);
    }
    for (const int n : {0, 2}) EXPECT_LT(relative_residual(a, to_matrix(x).col(n), b.col(n)), 2e-9) << solver.name;

    mock::field all_zero = to_field(device, matrix::Constant(10, 2, 1.0));
    const auto nothing = solver.run(to_operator(a), all_zero, to_field(device, matrix::Zero(10, 2)), {});
    EXPECT_TRUE(nothing.all_converged());
    EXPECT_EQ(to_matrix(all_zero), matrix::Zero(10, 2));
  }
}

TEST(Solvers, TakeOneToleranceForEachColumn) {
  generator g(71);
  const matrix a = well_behaved(20, g), source = random_matrix(20, 1, g);
  matrix b(20, 3);
  b << source, source, source;
  for (const method& solver : general_methods()) {
    mock::machine device;
    mock::field x = to_field(device, matrix::Zero(20, 3));
    const auto report =
        solver.run(to_operator(a), x, to_field(device, b), {.limit = 2000, .column_tolerances = {1e-8, 1e-2, 1e-5}});
    EXPECT_TRUE(report.all_converged());
    EXPECT_LT(report.columns[1].iterations, report.columns[2].iterations) << solver.name;
    EXPECT_LT(report.columns[2].iterations, report.columns[0].iterations) << solver.name;
    EXPECT_TRUE(report.columns[0].residual <= 1e-8);
    EXPECT_GT(report.columns[1].residual, 1e-5) << "a column that has converged stands still";
  }
}

TEST(Solvers, RefuseRulesThatMakeNoSense) {
  mock::machine device;
  generator g(81);
  const auto op = to_operator(well_behaved(4, g));
  const mock::field b = to_field(device, random_matrix(4, 2, g));
  mock::field x = like(b), narrow = like(b, 1);
  zero(x);
  const auto run = [&](const stopping_rule& rule) { bicgstab(op, x, b, rule); };
  EXPECT_THROW(run({.check_interval = 0}), input_error);
  EXPECT_THROW(run({.limit = -1}), input_error);
  EXPECT_THROW(run({.tolerance = -1e-3}), input_error);
  EXPECT_THROW(run({.tolerance = std::nan("")}), input_error);
  EXPECT_THROW(run({.column_tolerances = {1e-3}}), input_error);
  EXPECT_THROW(bicgstab(op, narrow, b, {}), input_error);
  EXPECT_THROW(gcr(op, x, b, {}, 0), input_error);
  EXPECT_THROW(minimal_residual(op, x, b, {}, 0.0), input_error);
  EXPECT_THROW(minimal_residual(op, x, b, {}, std::nan("")), input_error);
}

TEST(SolverChoice, ReadsTheNamesItWritesAndNoOthers) {
  for (const auto& [kind, text] : solver_names) {
    EXPECT_EQ(parse_solver_kind(text), kind);
    EXPECT_EQ(name(kind), text);
  }
  try {
    parse_solver_kind("CG");
    FAIL() << "an unknown name was accepted";
  } catch (const input_error& e) {
    EXPECT_STREQ(e.what(),
                 "solver: expected one of cgne, cgnr, bicgstab, gcr, mr, bicgstab2, bicgstab4, auto, found 'CG'");
  }
}

TEST(AnyOperator, IsAsGoodAsTheOperatorItHides) {
  generator g(91);
  const matrix a = well_behaved(12, g), b = random_matrix(12, 2, g);
  mock::machine device;
  const any_operator<mock::field> hidden(to_operator(a));
  const mock::field source = to_field(device, b);
  mock::field x = to_field(device, matrix::Zero(12, 2)), y = to_field(device, matrix::Zero(12, 2));
  bicgstab(hidden, x, source, {.tolerance = 1e-9});
  bicgstab(to_operator(a), y, source, {.tolerance = 1e-9});
  EXPECT_EQ(to_matrix(x), to_matrix(y));
}

}  // namespace
}  // namespace plaquette::solver_tests
