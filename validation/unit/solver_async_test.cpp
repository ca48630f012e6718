// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// On a device that answers late: the host reads where it decides and nowhere else. Neither the interval of its
/// convergence checks nor the company in a batch changes a bit of a solution.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "validation/unit/solver_support.hpp"

namespace plaquette::solver_tests {
namespace {

/// Compares the reads with an algorithm that checks convergence every `check_interval` iterations. It reads before the
/// first iteration, then after each interval, and the last time within an interval of the end. Returns an empty text,
/// or the mistake.
std::string wrong_reads(const mock::machine& device, const method& solver, int check_interval, int iterations) {
  const auto& reads = device.reads();
  const long checks = (iterations + check_interval - 1) / check_interval;
  if (std::ssize(reads) != checks + 1)
    return std::to_string(reads.size()) + " reads, expected " + std::to_string(checks + 1);
  const long first = reads.front().applications;
  if (first != 1) return "the first read came after " + std::to_string(first) + " applications, expected 1";
  for (long k = 1; k <= checks; ++k) {
    const long expected = solver.applications_before + k * check_interval * solver.applications_per_iteration;
    const long found = reads[static_cast<std::size_t>(k)].applications;
    if (found != expected)
      return "read " + std::to_string(k) + " came after " + std::to_string(found) + " applications, expected " +
             std::to_string(expected);
  }
  return "";
}

TEST(HostReads, AreAsManyAsLooksWhateverTheNumberOfIterations) {
  generator g(1);
  vector spectrum(30);
  for (Eigen::Index i = 0; i < 30; ++i) spectrum(i) = std::pow(20.0, static_cast<double>(i) / 29.0);
  const auto op = to_operator(with_spectrum(spectrum, g));
  const matrix b = random_matrix(30, 3, g);
  for (const method& solver : all_methods())
    for (const int check_interval : {1, 2, 5, 7, 50})
      for (const double tolerance : {1e-2, 1e-8}) {
        mock::machine device(static_cast<std::uint64_t>(check_interval));
        mock::field x = to_field(device, matrix::Zero(30, 3));
        const mock::field source = to_field(device, b);
        const auto report =
            solver.run(op, x, source, {.tolerance = tolerance, .limit = 3000, .check_interval = check_interval});
        ASSERT_TRUE(report.all_converged()) << solver.name;
        EXPECT_EQ(wrong_reads(device, solver, check_interval, report.iterations()), "")
            << solver.name << ", a check every " << check_interval << ", tolerance " << tolerance;
        EXPECT_EQ(report.host_reads, std::ssize(device.reads())) << solver.name;
        EXPECT_EQ(report.operator_applications, device.applications()) << solver.name;
      }
}

/// Conjugate gradients as it should not be written: the host waits for every step length.
solve_report impatient_conjugate_gradients(const mock::dense_operator& a, mock::field& x, const mock::field& b,
                                           const stopping_rule& rule) {
  convergence_watch<mock::field> watch("impatient", x, b, rule);
  mock::field y = like(b), r = like(b);
  copy(y, x);
  auto rr = residual(r, a, y, b);
  watch.begin(rr, y, r, rr);
  mock::field p = like(r), ap = like(r);
  copy(p, r);
  while (watch.running()) {
    a.apply(ap, p);
    const auto pap = dot(p, ap);
    std::vector<mock::number> step = host_values(pap);
    const auto alpha = ratio(watch.unconverged(rr) * rr, make_scalars(r, step));
    const auto rr_new = cg_update(y, r, alpha, p, ap);
    xpay(p, r, ratio(rr_new, rr));
    rr = rr_new;
    watch.record(rr, {});
    watch.check_convergence(y, r, p, ap, rr);
  }
  return watch.report();
}

TEST(HostReads, OfAnAlgorithmThatReadsInEveryIterationAreCaught) {
  generator g(2);
  const auto op = to_operator(with_spectrum(vector::LinSpaced(12, 1.0, 5.0), g));
  const matrix b = random_matrix(12, 2, g);
  const method impatient{"impatient", 1, 1, impatient_conjugate_gradients};
  for (const int check_interval : {1, 5}) {
    mock::machine device;
    mock::field x = to_field(device, matrix::Zero(12, 2));
    const auto report =
        impatient.run(op, x, to_field(device, b), {.tolerance = 1e-8, .check_interval = check_interval});
    ASSERT_TRUE(report.all_converged());
    EXPECT_NE(wrong_reads(device, impatient, check_interval, report.iterations()), "");
  }
}

TEST(LookInterval, DoesNotChangeABitOfSolutionHistoryOrCount) {
  generator g(3);
  const matrix a = with_spectrum(vector::LinSpaced(26, 1.0, 8.0), g), b = random_matrix(26, 5, g);
  const auto op = to_operator(a);
  for (const method& solver : all_methods()) {
    matrix expected;
    solve_report reference;
    for (const int check_interval : {1, 2, 3, 5, 10, 1000}) {
      mock::machine device(static_cast<std::uint64_t>(100 + check_interval));
      mock::field x = to_field(device, matrix::Zero(26, 5));
      const auto report = solver.run(
          op, x, to_field(device, b),
          {.limit = 1000, .check_interval = check_interval, .column_tolerances = {1e-6, 1e-2, 1e-9, 1e-4, 1e-7}});
      ASSERT_TRUE(report.all_converged()) << solver.name;
      if (check_interval == 1) expected = to_matrix(x), reference = report;
      EXPECT_EQ(to_matrix(x), expected) << solver.name << ", a check every " << check_interval;
      EXPECT_EQ(report.history, reference.history) << solver.name << ", a check every " << check_interval;
      for (std::size_t n = 0; n < 5; ++n)
        EXPECT_EQ(report.columns[n].iterations, reference.columns[n].iterations) << solver.name;
    }
  }
}

TEST(Batch, GivesEachColumnTheBitsThatItHasAlone) {
  for (const int columns : {2, 5, 12}) {
    generator g(static_cast<std::uint64_t>(columns));
    const matrix a = well_behaved(17, g), b = random_matrix(17, columns, g), guess = random_matrix(17, columns, g);
    const auto op = to_operator(a);
    const stopping_rule rule{.tolerance = 1e-8, .limit = 1000, .check_interval = 4};
    for (const method& solver : general_methods()) {
      mock::machine device(5);
      mock::field x = to_field(device, guess);
      const auto together = solver.run(op, x, to_field(device, b), rule);
      const matrix solutions = to_matrix(x);
      for (int n = 0; n < columns; ++n) {
        mock::machine other(static_cast<std::uint64_t>(50 + n));
        mock::field y = to_field(other, guess.col(n));
        const auto alone = solver.run(op, y, to_field(other, b.col(n)), rule);
        EXPECT_EQ(to_matrix(y).col(0), solutions.col(n)) << solver.name << ' ' << n;
        EXPECT_EQ(alone.history[0], together.history[static_cast<std::size_t>(n)]) << solver.name << ' ' << n;
      }
    }
  }
}

TEST(Batch, LosesItsColumnsInAnyOrderAndPutsEachSolutionInItsPlace) {
  // Column n is a sum of k_n eigenvectors of different eigenvalues: the Krylov methods end it at step k_n. The order of
  // the k_n is random, some are equal, one source is zero.
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    generator g(seed);
    const Eigen::Index size = 10;
    vector values(size);
    for (Eigen::Index i = 0; i < size; ++i) values(i) = 1.0 + 0.5 * static_cast<double>(i);
    const matrix u = random_unitary(size, g), a = rotated(u, values);
    std::vector<int> steps{0, 1, 1, 2, 3, 4, 4, 5, 6, 3, 2, 1};
    std::shuffle(steps.begin(), steps.end(), g);
    const int columns = static_cast<int>(steps.size());
    matrix b(size, columns);
    for (int n = 0; n < columns; ++n) {
      vector weights = vector::Zero(size);
      for (int i = 0; i < steps[static_cast<std::size_t>(n)]; ++i)
        weights((3 * i + n) % size) = random_matrix(1, 1, g)(0, 0) + 1.0;
      b.col(n) = u * weights;
    }
    for (const method& solver : all_methods()) {
      if (solver.name == "mr") continue;
      for (const int check_interval : {1, 3}) {
        mock::machine device(seed);
        mock::field x = to_field(device, matrix::Constant(size, columns, 0.0));
        const auto report = solver.run(to_operator(a), x, to_field(device, b),
                                       {.tolerance = 1e-9, .limit = 100, .check_interval = check_interval});
        EXPECT_TRUE(report.all_converged()) << solver.name;
        long applied = 0;
        for (int n = 0; n < columns; ++n) {
          const int expected = steps[static_cast<std::size_t>(n)];
          const auto& column = report.columns[static_cast<std::size_t>(n)];
          EXPECT_EQ(column.iterations, expected) << solver.name << ' ' << n << ' ' << column.why;
          const vector exact = solution_of(a, b.col(n));
          EXPECT_TRUE((to_matrix(x).col(n) - exact).norm() <= 2e-9 * b.col(n).norm()) << solver.name << ' ' << n;
          // a column rides along to the next convergence check and no further; the zero source does not ride at all
          const int ridden = (expected + check_interval - 1) / check_interval * check_interval;
          applied += 1 + ridden * solver.applications_per_iteration;
          if (expected > 0) applied += solver.applications_before - 1;
        }
        EXPECT_EQ(report.column_applications, applied) << solver.name;
      }
    }
  }
}

TEST(Looks, TellTheProgressAndAskWhetherToGoOn) {
  generator g(7);
  const matrix a = well_behaved(20, g), b = random_matrix(20, 3, g);
  for (const method& solver : general_methods()) {
    mock::machine device;
    std::vector<int> told;
    int requested = 0;
    stopping_rule rule{.tolerance = 1e-13, .limit = 1000, .check_interval = 2};
    rule.progress = [&](int iteration, double worst) {
      told.push_back(iteration);
      EXPECT_TRUE(worst > 0.0 && std::isfinite(worst));
    };
    rule.interrupted = [&] { return ++requested == 3; };
    mock::field x = to_field(device, matrix::Zero(20, 3));
    const auto report = solver.run(to_operator(a), x, to_field(device, b), rule);
    EXPECT_EQ(told, (std::vector<int>{2, 4, 6})) << solver.name;
    for (std::size_t n = 0; n < 3; ++n) {
      const auto& column = report.columns[n];
      EXPECT_EQ(column.status, solve_status::interrupted) << solver.name;
      EXPECT_EQ(column.iterations, 6);
      const auto place = static_cast<Eigen::Index>(n);
      EXPECT_NEAR(relative_residual(a, to_matrix(x).col(place), b.col(place)), column.residual,
                  residual_gap(a, report.history[n], 8))
          << solver.name;
    }
    EXPECT_FALSE(report.all_converged());
  }
}

}  // namespace
}  // namespace plaquette::solver_tests
