// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The way through the even sites and back: the report is true of the full system. It meets the tolerance or the report
/// says that it does not.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <tuple>

#include "common/krylov/mixed_solve.hpp"
#include "common/krylov/schur_solve.hpp"
#include "validation/unit/solver_support.hpp"

namespace plaquette::solver_tests {
namespace {

/// A dense full matrix, its first half the even sites, and one of its two Schur complements.
class dense_schur {
 public:
  dense_schur(const matrix& m, bool symmetric) : half_(m.rows() / 2) {
    const Eigen::Index h = half_;
    const matrix ee = m.topLeftCorner(h, h), eo = m.topRightCorner(h, h), oe = m.bottomLeftCorner(h, h),
                 oo_inverse = inverse_of(m.bottomRightCorner(h, h));
    const matrix left = symmetric ? inverse_of(ee) : matrix(matrix::Identity(h, h));
    complement_ = left * (ee - eo * oo_inverse * oe);
    matrix prepare(h, 2 * h), from_even(2 * h, h), from_source(2 * h, 2 * h);
    prepare << left, -left * eo * oo_inverse;
    from_even << matrix::Identity(h, h), -oo_inverse * oe;
    from_source << matrix::Zero(h, 2 * h), matrix::Zero(h, h), oo_inverse;
    even_ = std::make_shared<mock::dense_operator>(to_operator(complement_));
    prepare_ = std::make_shared<mock::dense_operator>(to_operator(prepare));
    from_even_ = std::make_shared<mock::dense_operator>(to_operator(from_even));
    from_source_ = std::make_shared<mock::dense_operator>(to_operator(from_source));
  }
  template <class Field>
  void apply(Field& out, const Field& in) const {
    even_->apply(out, in);
  }
  template <class Field>
  void apply_dagger(Field& out, const Field& in) const {
    even_->apply_dagger(out, in);
  }
  void prepare_source(mock::field& even, const mock::field& full) const { prepare_->apply(even, full); }
  void reconstruct_solution(mock::field& full, const mock::field& even, const mock::field& source) const {
    mock::field part = like(full);
    from_even_->apply(full, even);
    from_source_->apply(part, source);
    axpy(full, uniform_scalars(full, 1.0), part);
  }
  mock::field even_like(const mock::field& full) const {
    return {full.device(), static_cast<int>(half_), full.columns(), site_subset::even};
  }

 private:
  Eigen::Index half_;
  matrix complement_;
  std::shared_ptr<mock::dense_operator> even_, prepare_, from_even_, from_source_;
};
static_assert(schur_complement<dense_schur, mock::field>);

auto with(solver_kind kind) {
  return [kind](const auto& a, auto& x, const auto& b, const stopping_rule& rule) {
    return solve(kind, a, x, b, rule, {.restart_length = 8, .relaxation = 0.9});
  };
}

/// |x - x'| between the true residual as the mock computes it and as Eigen does: two evaluations of b - M x, each off
/// by 2 sqrt(2) (n + 3) u |abs M| |x|.
double evaluation_error(const matrix& m, const vector& x, const vector& b) {
  const double u = 0.5 * std::numeric_limits<double>::epsilon();
  return 4.0 * std::sqrt(2.0) * (static_cast<double>(m.rows()) + 3.0) * u * m.cwiseAbs().norm() * x.norm() / b.norm();
}

TEST(SchurSolve, MeetsTheToleranceOnTheFullSystemWithEverySolver) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    generator g(seed);
    const matrix m = well_behaved(20, g), b = random_matrix(20, 5, g);
    for (const bool symmetric : {false, true}) {
      const dense_schur schur(m, symmetric);
      for (const auto& [kind, text] : solver_names)
        for (const double tolerance : {1e-3, 1e-11}) {
          mock::machine device(seed);
          mock::field x = to_field(device, matrix::Zero(20, 5));
          const auto report =
              schur_solve(schur, to_operator(m), x, to_field(device, b), {.tolerance = tolerance}, with(kind));
          EXPECT_TRUE(report.all_converged()) << text << ' ' << report.columns[0].why;
          const matrix found = to_matrix(x);
          for (Eigen::Index n = 0; n < 5; ++n) {
            const auto k = static_cast<std::size_t>(n);
            const double truth = relative_residual(m, found.col(n), b.col(n));
            EXPECT_TRUE(report.true_residuals[k] <= tolerance) << text;
            EXPECT_TRUE(std::abs(truth - report.true_residuals[k]) <= evaluation_error(m, found.col(n), b.col(n)))
                << text << ' ' << truth << ' ' << report.true_residuals[k];
            EXPECT_EQ(report.history[k].back(), report.columns[k].residual) << text;
            EXPECT_EQ(std::ssize(report.history[k]), report.columns[k].iterations + 1) << text;
          }
        }
    }
  }
}

TEST(SchurSolve, NeedsNoCorrectionWhereTheEvenResidualIsTheFullOne) {
  generator g(11);
  const matrix m = well_behaved(24, g), b = random_matrix(24, 4, g);
  mock::machine device;
  mock::field x = to_field(device, matrix::Zero(24, 4));
  const auto report = schur_solve(dense_schur(m, false), to_operator(m), x, to_field(device, b), {.tolerance = 1e-9},
                                  with(solver_kind::bicgstab));
  for (std::size_t n = 0; n < 4; ++n) {
    EXPECT_EQ(report.corrections[n], 0);
    EXPECT_NEAR(report.columns[n].residual / report.true_residuals[n], 1.0, 1e-3) << "asymmetric: one and the same";
  }
}

TEST(SchurSolve, SparesAnApplicationWhereItIsToldThatTheGuessIsZero) {
  generator g(12);
  const matrix m = well_behaved(16, g), b = random_matrix(16, 3, g);
  for (const bool symmetric : {false, true}) {
    mock::machine device;
    mock::field x = to_field(device, matrix::Zero(16, 3)), told = to_field(device, matrix::Zero(16, 3));
    const auto run = [&](mock::field& solution, bool is_zero) {
      return schur_solve(dense_schur(m, symmetric), to_operator(m), solution, to_field(device, b),
                         {.tolerance = 1e-11, .guess_is_zero = is_zero}, with(solver_kind::bicgstab));
    };
    const auto report = run(x, false), shorter = run(told, true);
    EXPECT_TRUE(report.all_converged());
    EXPECT_EQ(to_matrix(told), to_matrix(x));
    EXPECT_EQ(shorter.history, report.history);
    EXPECT_EQ(shorter.operator_applications, report.operator_applications - 1);
  }
}

TEST(SchurSolve, CorrectsTheGuessItIsGiven) {
  generator g(13);
  const matrix m = well_behaved(16, g), b = random_matrix(16, 3, g), exact = solution_of(m, b);
  matrix guess = random_matrix(16, 3, g);
  guess.col(1) = exact.col(1);
  mock::machine device;
  mock::field x = to_field(device, guess);
  const auto report = schur_solve(dense_schur(m, true), to_operator(m), x, to_field(device, b), {.tolerance = 1e-8},
                                  with(solver_kind::gcr));
  EXPECT_TRUE(report.all_converged());
  EXPECT_EQ(report.columns[1].iterations, 0);
  EXPECT_EQ(to_matrix(x).col(1), exact.col(1));
  EXPECT_GT(report.columns[0].iterations, 0);
}

TEST(SchurSolve, AnswersZeroSourcesAndSourcesThatAreNotFinite) {
  generator g(17);
  const matrix m = well_behaved(12, g);
  matrix b = random_matrix(12, 4, g);
  b.col(0).setZero();
  b(7, 2) = mock::poison;
  b.col(3).head(6).setZero();  // odd sites only
  mock::machine device;
  mock::field x = to_field(device, matrix::Constant(12, 4, 1.0));
  const auto report = schur_solve(dense_schur(m, true), to_operator(m), x, to_field(device, b), {.tolerance = 1e-8},
                                  with(solver_kind::bicgstab));
  const matrix found = to_matrix(x);
  EXPECT_EQ(report.columns[0].status, solve_status::converged);
  EXPECT_EQ(report.columns[2].status, solve_status::not_finite);
  for (const int n : {0, 2}) EXPECT_EQ(found.col(n), vector::Zero(12));
  for (const int n : {1, 3}) {
    EXPECT_EQ(report.columns[static_cast<std::size_t>(n)].status, solve_status::converged);
    EXPECT_TRUE(relative_residual(m, found.col(n), b.col(n)) <= 1e-8 + 1e-13);
  }
}

/// Solves to 1e-4 and claims the requested tolerance, as a solver does whose iterated residual has left the true one.
solve_report boastful(const dense_schur& a, mock::field& x, const mock::field& b, const stopping_rule& rule) {
  stopping_rule less = rule;
  for (double& tolerance : less.column_tolerances) tolerance = std::max(tolerance, 1e-4);
  solve_report report = minimal_residual(a, x, b, less, 0.9);
  for (std::size_t n = 0; n < report.columns.size(); ++n)
    report.columns[n].residual = std::min(report.columns[n].residual, rule.column_tolerances[n]);
  return report;
}

TEST(SchurSolve, SolvesForCorrectionsUntilTheTruthMeetsTheTolerance) {
  generator g(19);
  const matrix m = well_behaved(20, g), b = random_matrix(20, 3, g);
  for (const bool symmetric : {false, true}) {
    mock::machine device;
    mock::field x = to_field(device, matrix::Zero(20, 3));
    const auto report =
        schur_solve(dense_schur(m, symmetric), to_operator(m), x, to_field(device, b), {.tolerance = 1e-10}, boastful);
    EXPECT_TRUE(report.all_converged());
    for (std::size_t n = 0; n < 3; ++n) {
      EXPECT_EQ(report.corrections[n], 2) << "1e-4, 1e-8, 1e-10";
      EXPECT_TRUE(report.true_residuals[n] <= 1e-10);
      EXPECT_TRUE(relative_residual(m, to_matrix(x).col(static_cast<Eigen::Index>(n)),
                                    b.col(static_cast<Eigen::Index>(n))) <= 1e-10 + 1e-14);
    }
  }
}

TEST(SchurSolve, SaysThatTheTruthStaysAboveTheTolerance) {
  generator g(23);
  const matrix m = well_behaved(20, g), b = random_matrix(20, 3, g);
  mock::machine device;
  const mock::field source = to_field(device, b);
  mock::field x = to_field(device, matrix::Zero(20, 3));

  // too few corrections
  auto report =
      schur_solve(dense_schur(m, false), to_operator(m), x, source, {.tolerance = 1e-10}, boastful, {.corrections = 1});
  for (std::size_t n = 0; n < 3; ++n) {
    const auto& column = report.columns[n];
    EXPECT_EQ(column.status, solve_status::stagnation);
    EXPECT_EQ(column.why, "the iterated residual met the tolerance, the true one stays above it (corrections: 1)");
    EXPECT_EQ(report.corrections[n], 1);
    EXPECT_NEAR(
        report.true_residuals[n],
        relative_residual(m, to_matrix(x).col(static_cast<Eigen::Index>(n)), b.col(static_cast<Eigen::Index>(n))),
        1e-14);
    EXPECT_GT(report.true_residuals[n], 1e-10);
  }

  // a solver that does nothing and claims everything: the guess stays, corrections bring nothing and are given up
  const matrix guess = random_matrix(20, 3, g);
  x = to_field(device, guess);
  report = schur_solve(dense_schur(m, false), to_operator(m), x, source, {.tolerance = 1e-10},
                       [](const dense_schur&, mock::field& even, const mock::field&, const stopping_rule&) {
                         zero(even);
                         solve_report all_well;
                         all_well.columns.resize(3, {.status = solve_status::converged, .why = "so it says"});
                         all_well.history.resize(3, {1.0, 1e-11});
                         return all_well;
                       });
  EXPECT_EQ(report.columns_with(solve_status::stagnation).size(), 3u);

  // an even operator that is not the full one's: no correction helps, and no false word is said
  const matrix other = -well_behaved(20, g);  // its solutions point the other way: worse than zero
  mock::field y = to_field(device, matrix::Zero(20, 3));
  report = schur_solve(dense_schur(other, false), to_operator(m), y, source, {.tolerance = 1e-10},
                       with(solver_kind::bicgstab));
  for (std::size_t n = 0; n < 3; ++n) {
    EXPECT_EQ(report.columns[n].status, solve_status::stagnation);
    EXPECT_GT(report.true_residuals[n], 1e-10);
    EXPECT_EQ(report.true_residuals[n], 1.0) << "the guess is better than what came";
    EXPECT_EQ(to_matrix(y).col(static_cast<Eigen::Index>(n)), vector::Zero(20));
  }
}

TEST(SchurSolve, PassesOnThatTheEvenSolveFailed) {
  generator g(29);
  const matrix m = well_behaved(20, g), b = random_matrix(20, 2, g);
  mock::machine device;
  mock::field x = to_field(device, matrix::Zero(20, 2));
  const auto report = schur_solve(dense_schur(m, false), to_operator(m), x, to_field(device, b),
                                  {.tolerance = 1e-10, .limit = 3}, with(solver_kind::cgnr));
  for (std::size_t n = 0; n < 2; ++n) {
    EXPECT_EQ(report.columns[n].status, solve_status::iteration_limit);
    EXPECT_EQ(report.columns[n].iterations, 3);
    EXPECT_LT(report.true_residuals[n], 1.0) << "the best so far is kept";
    EXPECT_NEAR(report.columns[n].residual, report.true_residuals[n], 1e-13);
  }
}

/// Solves in every way and stops at each question in turn whether to.
TEST(SchurSolve, KnowsTheColumnsThatAStopDidNotTouch) {
  using low = mock::basic_field<float>;
  int kept = 0, touched = 0;
  for (const std::uint64_t seed : {1, 2, 24}) {
    generator g(seed);
    const matrix m = well_behaved(40, g), b = random_matrix(40, 6, g);
    const dense_schur schur(m, seed % 2 == 0);
    const auto run = [&](double tolerance, std::optional<mixed_scheme> scheme, solver_kind kind, long until) {
      mock::machine device(seed);
      mock::field x = to_field(device, matrix::Zero(40, 6));
      long asked = 0;
      const stopping_rule rule{.tolerance = tolerance, .interrupted = [&] { return ++asked > until; }};
      const auto report =
          schur_solve(schur, to_operator(m), x, to_field(device, b), rule,
                      [&](const auto& a, auto& even, const auto& source, const stopping_rule& rest) {
                        return scheme ? solve_mixed<low>(kind, *scheme, a, a, even, source, rest, {.delta = 1e-3})
                                      : solve(kind, a, even, source, rest);
                      });
      return std::tuple(report.columns, to_matrix(x), asked);
    };
    for (const double tolerance : {7e-16, 3e-15, 1e-12})
      for (const auto scheme : {std::optional<mixed_scheme>(), std::optional(mixed_scheme::reliable),
                                std::optional(mixed_scheme::defect_correction)})
        for (const auto kind : {solver_kind::automatic, solver_kind::bicgstab, solver_kind::cgnr, solver_kind::cgne}) {
          const auto [whole_columns, whole, questions] = run(tolerance, scheme, kind, 1L << 40);
          for (long until = 0; until < questions; ++until) {
            const auto [columns, x, asked] = run(tolerance, scheme, kind, until);
            for (std::size_t n = 0; n < columns.size(); ++n) {
              const auto place = static_cast<Eigen::Index>(n);
              if (!columns[n].is_of_whole_solve()) {
                ++touched;
                continue;
              }
              ++kept;
              EXPECT_EQ(vector(x.col(place)), vector(whole.col(place)))
                  << name(kind) << (scheme ? name(*scheme) : "") << " seed " << seed << " tolerance " << tolerance
                  << " stopped at question " << until << " column " << n << ' ' << columns[n].why;
            }
          }
        }
  }
  EXPECT_GT(kept, 100);
  EXPECT_GT(touched, 100);
}

TEST(SchurSolve, SolutionsScaleWithTheirSources) {
  using low = mock::basic_field<float>;
  generator g(41);
  const matrix m = well_behaved(20, g), b = random_matrix(20, 3, g);
  const auto solution_of = [&](const matrix& source, bool mixed) {
    mock::machine device;
    mock::field x = to_field(device, matrix::Zero(20, 3));
    const auto report = schur_solve(
        dense_schur(m, true), to_operator(m), x, to_field(device, source), {.tolerance = 1e-10, .guess_is_zero = true},
        [&](const auto& a, auto& even, const auto& from, const stopping_rule& rule) {
          return mixed ? solve_mixed<low>(solver_kind::automatic, mixed_scheme::reliable, a, a, even, from, rule, {})
                       : solve(solver_kind::automatic, a, even, from, rule);
        });
    EXPECT_TRUE(report.all_converged()) << report.columns[0].why << report.columns[1].why;
    return to_matrix(x);
  };
  for (const bool mixed : {false, true}) {
    const matrix expected = solution_of(b, mixed);
    for (const double s : {0x1p-1000, 0x1p-540, 0x1p-100, 0x1p-30, 0x1p140, 0x1p500}) {
      matrix source = b;
      source.col(1) *= s;  // its neighbours stay
      matrix found = solution_of(source, mixed);
      found.col(1) *= 1.0 / s;
      EXPECT_EQ(found, expected) << s << ' ' << mixed;  // a power of two rounds nothing
    }
  }
}

TEST(SchurSolve, AcceptsATrueToleranceOfItsOwn) {
  generator g(31);
  const matrix m = well_behaved(20, g), b = random_matrix(20, 2, g);
  mock::machine device;
  mock::field x = to_field(device, matrix::Zero(20, 2));
  const auto report = schur_solve(dense_schur(m, false), to_operator(m), x, to_field(device, b), {.tolerance = 1e-10},
                                  boastful, {.true_tolerance = 1e-3});
  EXPECT_TRUE(report.all_converged());
  for (std::size_t n = 0; n < 2; ++n) {
    EXPECT_EQ(report.corrections[n], 0);
    EXPECT_GT(report.true_residuals[n], 1e-10);
  }
}

TEST(SchurSolve, SaysThatTheTrueResidualIsAtTheFloorAndWhereTheFloorLies) {
  generator g(37);
  const matrix m = well_behaved(20, g), b = random_matrix(20, 3, g);
  mock::machine device;
  const mock::field source = to_field(device, b);
  // A bound on the rounding of sums of 20 terms takes the place of |M|.
  const double norm = 2.0 * std::sqrt(2.0) * 23.0 * m.cwiseAbs().norm();
  mock::field x = to_field(device, matrix::Zero(20, 3));
  const auto report = schur_solve(dense_schur(m, true), to_operator(m), x, source, {.tolerance = 1e-18},
                                  with(solver_kind::bicgstab), {.operator_norm = norm});
  for (std::size_t n = 0; n < 3; ++n) {
    const auto column = static_cast<Eigen::Index>(n);
    EXPECT_EQ(report.columns[n].status, solve_status::converged) << report.columns[n].why;
    EXPECT_TRUE(report.columns[n].at_floor);
    EXPECT_EQ(report.columns[n].why, "the true residual is at the floor of the solution's precision");
    EXPECT_TRUE(report.true_residuals[n] > 1e-18 && report.true_residuals[n] <= report.floors[n]);
    EXPECT_NEAR(report.floors[n], 0x1p-52 * norm * to_matrix(x).col(column).norm() / b.col(column).norm(),
                1e-3 * report.floors[n]);
  }
  // A floor that cannot be reached is no excuse.
  mock::field y = to_field(device, matrix::Zero(20, 3));
  const auto stuck = schur_solve(dense_schur(m, true), to_operator(m), y, source, {.tolerance = 1e-18},
                                 with(solver_kind::bicgstab), {.operator_norm = 1e-6});
  for (std::size_t n = 0; n < 3; ++n) {
    EXPECT_EQ(stuck.columns[n].status, solve_status::stagnation) << stuck.columns[n].why;
    EXPECT_FALSE(stuck.columns[n].at_floor);
  }
  // Nor is it where the tolerance is met.
  mock::field z = to_field(device, matrix::Zero(20, 3));
  const auto met = schur_solve(dense_schur(m, true), to_operator(m), z, source, {.tolerance = 1e-10},
                               with(solver_kind::bicgstab), {.operator_norm = norm});
  for (std::size_t n = 0; n < 3; ++n) {
    EXPECT_FALSE(met.columns[n].at_floor);
    EXPECT_TRUE(met.true_residuals[n] <= 1e-10);
    EXPECT_EQ(met.columns[n].true_residual, met.true_residuals[n]);
  }
}

}  // namespace
}  // namespace plaquette::solver_tests
