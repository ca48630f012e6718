// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Solvers with reliable updates. Their reports of the true residual are true, whatever the inner precision does to the
/// iterated one. Nothing that goes wrong in it reaches the solution unseen.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/krylov/mixed_solve.hpp"
#include "common/krylov/schur_solve.hpp"
#include "validation/unit/solver_support.hpp"

namespace plaquette::solver_tests {
namespace {

/// A solver of two precisions, as the tests run it.
template <class InnerField>
struct reliable_method {
  const char* name;
  bool hermitian;  ///< needs a positive operator
  int applications_per_iteration;
  std::function<solve_report(const any_operator<mock::field>&, const any_operator<InnerField>&, mock::field&,
                             const mock::field&, const stopping_rule&, const reliable_updates&)>
      run;
};

template <class InnerField>
std::vector<reliable_method<InnerField>> reliable_methods() {
  return {
      {"bicgstab", false, 2,
       [](const auto& a, const auto& i, auto& x, const auto& b, const auto& rule, const auto& updates) {
         return reliable_bicgstab<InnerField>(a, i, x, b, rule, updates);
       }},
      {"cgnr", false, 2,
       [](const auto& a, const auto& i, auto& x, const auto& b, const auto& rule, const auto& updates) {
         return reliable_cgnr<InnerField>(a, i, x, b, rule, updates);
       }},
      {"cgne", false, 2,
       [](const auto& a, const auto& i, auto& x, const auto& b, const auto& rule, const auto& updates) {
         return reliable_cgne<InnerField>(a, i, x, b, rule, updates);
       }},
      {"cg", true, 1, [](const auto& a, const auto& i, auto& x, const auto& b, const auto& rule, const auto& updates) {
         return detail::reliable_solve<InnerField>(
             "cg", a, i, x, b, rule, updates,
             [](auto& watch, const auto& inner, int) { return detail::conjugate_gradients_under(watch, inner); });
       }}};
}

template <class T>
class ReliableUpdates : public testing::Test {
 public:
  using low = mock::basic_field<T>;
  static constexpr double delta = sizeof(T) == 8 ? 1e-5 : sizeof(T) == 4 ? 1e-3 : 1e-2;

  struct outcome {
    solve_report report;
    matrix x;
  };
  /// Solves for the columns of b from zero, the outer operator exact, the inner one given.
  template <class Inner>
  static outcome run(const reliable_method<low>& method, const matrix& a, const Inner& inner, const matrix& b,
                     const stopping_rule& rule, const reliable_updates& updates, std::uint64_t seed = 1) {
    mock::machine device(seed);
    mock::field x = to_field(device, matrix::Zero(b.rows(), b.cols()));
    auto report = method.run(any_operator<mock::field>(to_operator(a)), any_operator<low>(inner), x,
                             to_field(device, b), rule, updates);
    return {std::move(report), to_matrix(x)};
  }
};
using inner_precisions = testing::Types<double, float, half>;
/// How often the host checks convergence, and how far behind.
constexpr std::pair<int, int> check_rules[] = {{1, 0}, {3, 0}, {4, 0}, {4, 1}, {6, 5}, {10, 2}};
TYPED_TEST_SUITE(ReliableUpdates, inner_precisions);

/// A Hermitian positive matrix of condition 100, or one without symmetry.
matrix system_for(bool hermitian, Eigen::Index n, generator& g) {
  if (!hermitian) return well_behaved(n, g);
  vector spectrum(n);
  for (Eigen::Index i = 0; i < n; ++i)
    spectrum(i) = std::pow(100.0, static_cast<double>(i) / static_cast<double>(n - 1));
  return with_spectrum(spectrum, g);
}

/// Two evaluations of b - A x, by the mock and by Eigen, each off by 2 sqrt(2) (n + 3) u |abs A| |x|.
double evaluation_error(const matrix& a, const vector& x, const vector& b) {
  const double u = 0.5 * std::numeric_limits<double>::epsilon();
  return 4.0 * std::sqrt(2.0) * (static_cast<double>(a.rows()) + 3.0) * u * a.cwiseAbs().norm() * x.norm() / b.norm();
}

/// A result is finite and its true residual is the one in the report.
void expect_honest(const solve_report& report, const matrix& a, const matrix& x, const matrix& b,
                   const std::string& where) {
  for (Eigen::Index n = 0; n < b.cols(); ++n) {
    const auto& column = report.columns[static_cast<std::size_t>(n)];
    ASSERT_TRUE(x.col(n).allFinite()) << where;
    const double truth = relative_residual(a, x.col(n), b.col(n));
    EXPECT_TRUE(std::abs(truth - column.true_residual) <= evaluation_error(a, x.col(n), b.col(n)))
        << where << ' ' << truth << ' ' << column.true_residual;
    EXPECT_TRUE(column.status == solve_status::converged || !column.why.empty()) << where;
  }
}

TYPED_TEST(ReliableUpdates, BringTheTrueResidualToADoubleTolerance) {
  using fixture = TestFixture;
  for (const std::uint64_t seed : {1, 2, 3})
    for (const int columns : {1, 4})
      for (const auto& method : reliable_methods<typename fixture::low>()) {
        generator g(seed);
        const matrix a = system_for(method.hermitian, 40, g), b = random_matrix(40, columns, g);
        for (const auto& [check_interval, check_lag] : check_rules) {
          const auto o = fixture::run(
              method, a, to_operator(a), b,
              {.tolerance = 1e-12, .limit = 2000, .check_interval = check_interval, .check_lag = check_lag},
              {.delta = fixture::delta}, seed);
          const std::string where = std::string(method.name) + ", seed " + std::to_string(seed);
          expect_honest(o.report, a, o.x, b, where);
          for (const auto& column : o.report.columns) {
            EXPECT_EQ(column.status, solve_status::converged) << where << ' ' << column.why;
            EXPECT_FALSE(column.at_floor);
            EXPECT_TRUE(column.true_residual <= 1e-12) << where;
            EXPECT_EQ(column.mismatches, 0) << where;
            EXPECT_EQ(column.restarts, 0) << where;
            ASSERT_FALSE(column.updates.empty());
            EXPECT_EQ(column.updates.back().truth, column.true_residual);
            EXPECT_EQ(column.updates.back().iteration, column.iterations);
          }
          for (std::size_t n = 0; n < o.report.history.size(); ++n)
            EXPECT_EQ(std::ssize(o.report.history[n]), o.report.columns[n].iterations + 1) << where;
        }
      }
}

TYPED_TEST(ReliableUpdates, CostFewIterationsBesideUniformDouble) {
  // Rounding of the low precision in the Krylov space costs iterations: on matrices of condition below 10 a third at
  // most.
  using fixture = TestFixture;
  for (const std::uint64_t seed : {11, 12, 13}) {
    generator g(seed);
    const matrix a = well_behaved(60, g), b = random_matrix(60, 3, g);
    const stopping_rule rule{.tolerance = 1e-12, .limit = 1000};
    mock::machine device;
    mock::field x = to_field(device, matrix::Zero(60, 3));
    const int uniform = bicgstab(to_operator(a), x, to_field(device, b), rule).iterations();
    const auto o = fixture::run(reliable_methods<typename fixture::low>().front(), a, to_operator(a), b, rule,
                                {.delta = fixture::delta});
    EXPECT_TRUE(o.report.all_converged());
    EXPECT_LE(o.report.iterations(), uniform * 4 / 3) << uniform;
  }
}

TYPED_TEST(ReliableUpdates, GiveEachColumnTheBitsThatItHasAlone) {
  // Columns of different difficulty: sums of 1, 3, 6 and 20 eigenvectors, so that they are updated and leave at
  // different times.
  using fixture = TestFixture;
  for (const auto& method : reliable_methods<typename fixture::low>())
    for (const auto& [check_interval, check_lag] : check_rules) {
      generator g(21);
      vector spectrum(20);
      for (Eigen::Index i = 0; i < 20; ++i) spectrum(i) = 1.0 + static_cast<double>(i);
      const matrix u = random_unitary(20, g), a = rotated(u, spectrum);
      matrix b(20, 5);
      int column = 0;
      for (const int parts : {20, 1, 6, 0, 3}) {
        vector weights = vector::Zero(20);
        for (int i = 0; i < parts; ++i) weights((7 * i) % 20) = random_matrix(1, 1, g)(0, 0) + 1.0;
        b.col(column++) = u * weights;
      }
      const stopping_rule rule{
          .tolerance = 1e-11, .limit = 1000, .check_interval = check_interval, .check_lag = check_lag};
      const auto together = fixture::run(method, a, to_operator(a), b, rule, {.delta = 0.1});
      for (int n = 0; n < 5; ++n) {
        const auto k = static_cast<std::size_t>(n);
        const auto alone =
            fixture::run(method, a, to_operator(a), b.col(n), rule, {.delta = 0.1}, static_cast<std::uint64_t>(30 + n));
        EXPECT_TRUE(alone.report.all_converged()) << method.name << ' ' << n << ' ' << alone.report.columns[0].why;
        EXPECT_EQ(alone.x.col(0), together.x.col(n)) << method.name << ' ' << n;
        EXPECT_EQ(alone.report.history[0], together.report.history[k]) << method.name << ' ' << n;
        EXPECT_EQ(alone.report.columns[0].updates.size(), together.report.columns[k].updates.size());
      }
      // How long a sum of few eigenvectors waits for its updates depends on the convergence checks.
      if (check_lag == 0 && check_interval != 3)
        EXPECT_GT(together.report.columns[0].iterations, together.report.columns[1].iterations) << method.name;
      else
        EXPECT_NE(together.report.columns[0].iterations, together.report.columns[1].iterations);
      EXPECT_EQ(together.report.columns[3].iterations, 0);
    }
}

TYPED_TEST(ReliableUpdates, ReadAtLooksAndOnceMoreWhereTheyUpdate) {
  using fixture = TestFixture;
  generator g(41);
  const matrix a = system_for(true, 30, g), b = random_matrix(30, 3, g);
  for (const auto& method : reliable_methods<typename fixture::low>())
    for (const int check_interval : {1, 5, 7}) {
      mock::machine device(static_cast<std::uint64_t>(check_interval));
      mock::field x = to_field(device, matrix::Zero(30, 3));
      const auto report = method.run(
          any_operator<mock::field>(to_operator(a)), any_operator<typename fixture::low>(to_operator(a)), x,
          to_field(device, b), {.tolerance = 1e-10, .limit = 3000, .check_interval = check_interval}, {.delta = 1e-2});
      ASSERT_TRUE(report.all_converged()) << method.name << ' ' << report.columns[0].why;
      const long check_rules = (report.iterations() + check_interval - 1) / check_interval;
      EXPECT_EQ(report.host_reads, 1 + check_rules + (report.outer_applications - 1))
          << method.name << ' ' << check_interval;
      EXPECT_EQ(report.host_reads, std::ssize(device.reads())) << method.name;
      EXPECT_EQ(report.operator_applications, device.applications()) << method.name;
      // Between two checks there are as many applications as the iterations make: no read lies in between.
      for (std::size_t k = 1; k < device.reads().size(); ++k) {
        const long made = device.reads()[k].applications - device.reads()[k - 1].applications;
        EXPECT_TRUE(made == 1 || made >= check_interval * method.applications_per_iteration)
            << method.name << ' ' << made;
      }
    }
}

TYPED_TEST(ReliableUpdates, DoNotWaitForTheLastIterationsBeforeALookWhereNothingIsDue) {
  using fixture = TestFixture;
  generator g(43);
  const matrix a = system_for(true, 40, g), b = random_matrix(40, 2, g);
  for (const auto& method : reliable_methods<typename fixture::low>())
    for (const int check_lag : {1, 3}) {
      mock::machine device(static_cast<std::uint64_t>(check_lag));
      mock::field x = to_field(device, matrix::Zero(40, 2));
      std::vector<int> told;
      stopping_rule rule{.tolerance = 1e-12, .limit = 3000, .check_interval = 5, .check_lag = check_lag};
      rule.progress = [&told](int iteration, double) { told.push_back(iteration); };
      const auto report =
          method.run(any_operator<mock::field>(to_operator(a)), any_operator<typename fixture::low>(to_operator(a)), x,
                     to_field(device, b), rule, {.delta = 1e-5});
      ASSERT_TRUE(report.all_converged()) << method.name << ' ' << report.columns[0].why;
      // One read a check; two more if columns are updated, for the records left and the results of the update; more
      // near the end.
      const long n = std::ssize(told), updates = report.outer_applications - 1;
      EXPECT_GE(report.host_reads, 1 + n + updates) << method.name;
      EXPECT_GT(n, updates) << method.name;
      long near_the_end = 0;
      for (const auto& history : report.history) {
        const auto near = std::ranges::find_if(history, [](double r) { return r < 1e-11; });
        near_the_end += 1 + (history.end() - near) / 5 + (history.end() - near + 1) / 2;
      }
      EXPECT_LE(report.host_reads, 1 + n + 2 * updates + near_the_end) << method.name;
      for (std::size_t k = 0; k < told.size(); ++k) EXPECT_EQ(told[k], 5 * static_cast<int>(k + 1)) << method.name;
    }
}

TYPED_TEST(ReliableUpdates, SpareAnApplicationWhereTheyAreToldThatTheGuessIsZero) {
  using fixture = TestFixture;
  generator g(44);
  const matrix a = system_for(true, 30, g), b = random_matrix(30, 3, g);
  for (const auto& method : reliable_methods<typename fixture::low>()) {
    const auto solved = [&](bool is_zero) {
      return fixture::run(method, a, to_operator(a), b,
                          {.tolerance = 1e-11, .limit = 2000, .check_interval = 4, .guess_is_zero = is_zero},
                          {.delta = fixture::delta});
    };
    const auto o = solved(false), shorter = solved(true);
    EXPECT_EQ(shorter.x, o.x) << method.name;
    EXPECT_EQ(shorter.report.history, o.report.history) << method.name;
    EXPECT_EQ(shorter.report.outer_applications, o.report.outer_applications - 1) << method.name;
  }
}

TYPED_TEST(ReliableUpdates, NoticeEveryFlippedBitOfTheIteratedResidualAndRepairIt) {
  // The number that is off belongs to the residual: that of s in A s of BiCGstab, of r in A^+ r of CGNR and CGNE. The
  // recurrence goes on from it consistently, and converges on something else.
  using fixture = TestFixture;
  for (const auto& method : reliable_methods<typename fixture::low>()) {
    if (method.hermitian) continue;  // CG applies A to its direction alone
    for (const long pair : {2, 4, 7}) {
      const long at = 2 * pair + (std::string(method.name) == "bicgstab" ? 2 : 0);  // behind A^+ r0
      generator g(static_cast<std::uint64_t>(500 + at));
      const matrix a = well_behaved(40, g), b = random_matrix(40, 2, g);
      const mock::flipping_operator inner(to_operator(a), at, 10.0, mock::flip_in::input);
      const auto o = fixture::run(method, a, inner, b, {.tolerance = 1e-11, .limit = 2000}, {.delta = fixture::delta});
      const std::string where = std::string(method.name) + ", application " + std::to_string(at);
      expect_honest(o.report, a, o.x, b, where);
      EXPECT_TRUE(o.report.all_converged()) << where << ' ' << o.report.columns[0].why;
      // Either the residuals disagree, and the recurrence goes on from the true one, or the column starts again: CGNE
      // whose residual was small before is thrown far off at once.
      const auto& struck = o.report.columns[0];
      EXPECT_GE(struck.mismatches + struck.restarts, 1) << where << ' ' << struck.why;
      EXPECT_LE(struck.restarts, 1) << where;
      EXPECT_FALSE(struck.why.empty()) << where;
      if (std::string(method.name) != "cgne") {
        EXPECT_EQ(struck.mismatches, 1) << where << ' ' << struck.why;
        EXPECT_NE(struck.why.find("disagreed by more than rounding explains"), std::string::npos) << where;
      }
      EXPECT_EQ(o.report.columns[1].mismatches, 0) << where << ": another column";
      EXPECT_EQ(o.report.columns[1].restarts, 0) << where;
    }
  }
}

TYPED_TEST(ReliableUpdates, RepairAFlippedBitOfAnImage) {
  // One number of one result of the inner operator is off, by more than any rounding.
  using fixture = TestFixture;
  int noticed = 0;
  for (const auto& method : reliable_methods<typename fixture::low>())
    for (const long at : {3, 10, 17}) {
      generator g(static_cast<std::uint64_t>(50 + at));
      const matrix a = system_for(method.hermitian, 40, g), b = random_matrix(40, 2, g);
      const mock::flipping_operator inner(to_operator(a), at, 1e3);
      const auto o = fixture::run(method, a, inner, b, {.tolerance = 1e-11, .limit = 2000},
                                  {.delta = fixture::delta, .longest_interval = 20});
      const std::string where = std::string(method.name) + ", application " + std::to_string(at);
      expect_honest(o.report, a, o.x, b, where);
      EXPECT_TRUE(o.report.all_converged()) << where << ' ' << o.report.columns[0].why;
      EXPECT_EQ(o.report.columns[1].mismatches, 0) << where << ": another column";
      EXPECT_EQ(o.report.columns[1].restarts, 0) << where;
      const auto& struck = o.report.columns[0];
      noticed += struck.mismatches;
      if (struck.mismatches > 0) {
        EXPECT_NE(struck.why.find("disagreed by more than rounding explains"), std::string::npos);
      }
    }
  // Some of the twelve show in another way. Step lengths shrink as the image grows. What went wrong in A^+ r leaves r
  // and x consistent, but the residual does not fall any more, or the method breaks down.
  EXPECT_GE(noticed, 4);
}

TEST(SolversWithoutUpdates, ReturnAFlippedBitSilently) {
  // Without updates a flipped bit ends in a wrong solution that claims to have converged.
  generator g(53);
  const matrix a = well_behaved(40, g), b = random_matrix(40, 1, g);
  mock::machine device;
  mock::field x = to_field(device, matrix::Zero(40, 1));
  const any_operator<mock::field> bad(mock::flipping_operator(to_operator(a), 10, 1e3));
  const auto report = bicgstab(bad, x, to_field(device, b), {.tolerance = 1e-11, .limit = 2000});
  EXPECT_TRUE(report.all_converged());
  EXPECT_GT(relative_residual(a, to_matrix(x).col(0), b.col(0)), 1e-6);
}

TYPED_TEST(ReliableUpdates, GoOnAfterANumberThatIsNotFinite) {
  using fixture = TestFixture;
  for (const auto& method : reliable_methods<typename fixture::low>()) {
    generator g(61);
    const matrix a = system_for(method.hermitian, 40, g), b = random_matrix(40, 2, g);
    const mock::flipping_operator once(to_operator(a), 12, mock::poison);
    const auto o = fixture::run(method, a, once, b, {.tolerance = 1e-11, .limit = 2000}, {.delta = fixture::delta});
    expect_honest(o.report, a, o.x, b, method.name);
    EXPECT_TRUE(o.report.all_converged()) << method.name << ' ' << o.report.columns[0].why;
    EXPECT_EQ(o.report.columns[0].restarts, 1) << method.name;
    EXPECT_NE(o.report.columns[0].why.find("not finite"), std::string::npos) << o.report.columns[0].why;

    const mock::failing_operator for_good(to_operator(a), 12, 0);
    const auto f = fixture::run(method, a, for_good, b, {.tolerance = 1e-11, .limit = 2000}, {.delta = 0.5});
    expect_honest(f.report, a, f.x, b, method.name);
    EXPECT_EQ(f.report.columns[0].status, solve_status::not_finite) << method.name;
    EXPECT_TRUE(f.report.columns[0].true_residual <= 1.0);
  }
}

TYPED_TEST(ReliableUpdates, AnswerZeroSourcesAndSourcesThatAreNotFinite) {
  using fixture = TestFixture;
  for (const auto& method : reliable_methods<typename fixture::low>()) {
    generator g(71);
    const matrix a = system_for(method.hermitian, 20, g);
    matrix b = random_matrix(20, 4, g);
    b.col(0).setZero();
    b(3, 2) = mock::poison;
    const auto o =
        fixture::run(method, a, to_operator(a), b, {.tolerance = 1e-10, .limit = 2000}, {.delta = fixture::delta});
    EXPECT_EQ(o.report.columns[0].status, solve_status::converged);
    EXPECT_EQ(o.report.columns[0].true_residual, 0.0);
    EXPECT_EQ(o.report.columns[2].status, solve_status::not_finite);
    for (const int n : {0, 2}) EXPECT_EQ(o.x.col(n), vector::Zero(20)) << method.name;
    for (const int n : {1, 3}) {
      EXPECT_EQ(o.report.columns[static_cast<std::size_t>(n)].status, solve_status::converged) << method.name;
      EXPECT_TRUE(relative_residual(a, o.x.col(n), b.col(n)) <= 1e-10 + 1e-14) << method.name;
    }
  }
}

TYPED_TEST(ReliableUpdates, SayThatTheInnerOperatorIsNotTheOuterOne) {
  // The iterated residual converges, the true one rises: nothing of it is kept.
  using fixture = TestFixture;
  for (const auto& method : reliable_methods<typename fixture::low>()) {
    if (method.hermitian) continue;  // -A is not positive
    generator g(81);
    const matrix a = well_behaved(30, g), b = random_matrix(30, 2, g);
    const auto o =
        fixture::run(method, a, to_operator(-a), b, {.tolerance = 1e-10, .limit = 500}, {.delta = fixture::delta});
    for (const auto& column : o.report.columns) {
      EXPECT_EQ(column.status, solve_status::inconsistent) << method.name << ' ' << column.why;
      EXPECT_GE(column.mismatches, 1);
      EXPECT_EQ(column.true_residual, 1.0);
    }
    EXPECT_EQ(o.x, matrix::Zero(30, 2)) << method.name;
  }
}

TYPED_TEST(ReliableUpdates, SayThatTheTrueResidualIsAtTheFloorOfItsPrecision) {
  using fixture = TestFixture;
  for (const auto& method : reliable_methods<typename fixture::low>()) {
    generator g(91);
    const matrix a = system_for(method.hermitian, 40, g), b = random_matrix(40, 2, g);
    // An upper bound on the rounding of sums of 40 terms takes the place of |A| in the floor.
    const double norm = 2.0 * std::sqrt(2.0) * 43.0 * a.cwiseAbs().norm();
    const auto o = fixture::run(method, a, to_operator(a), b, {.tolerance = 1e-18, .limit = 3000},
                                {.delta = fixture::delta, .operator_norm = norm});
    expect_honest(o.report, a, o.x, b, method.name);
    for (Eigen::Index n = 0; n < 2; ++n) {
      const auto& column = o.report.columns[static_cast<std::size_t>(n)];
      EXPECT_EQ(column.status, solve_status::converged) << method.name << ' ' << column.why;
      EXPECT_TRUE(column.at_floor) << method.name;
      EXPECT_NE(column.why.find("floor"), std::string::npos);
      EXPECT_TRUE(column.true_residual <=
                  residual_floor(unit_roundoff(precision::double_), norm, o.x.col(n).norm(), b.col(n).norm()));
    }
    // The same solve with a floor that lies lower than what can be reached must not claim it.
    const auto stuck = fixture::run(method, a, to_operator(a), b, {.tolerance = 1e-18, .limit = 3000},
                                    {.delta = fixture::delta, .operator_norm = 1e-3, .patience = 500});
    for (const auto& column : stuck.report.columns)
      EXPECT_TRUE(column.status == solve_status::stagnation || column.status == solve_status::inconsistent)
          << name(column.status) << ' ' << column.why;
  }
}

TEST(ReliableUpdatesOfOnePrecision, ThatNeverComeAreThePlainSolver) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    generator g(seed);
    const matrix general = well_behaved(30, g), positive = system_for(true, 30, g), b = random_matrix(30, 3, g);
    const stopping_rule rule{.tolerance = 1e-9, .limit = 500};
    for (const auto& method : reliable_methods<mock::field>()) {
      const matrix& a = method.hermitian ? positive : general;
      mock::machine device;
      const mock::field source = to_field(device, b);
      mock::field x = to_field(device, matrix::Zero(30, 3)), y = to_field(device, matrix::Zero(30, 3));
      const any_operator<mock::field> op(to_operator(a));
      const auto plain = method.hermitian ? conjugate_gradients(op, x, source, rule)
                                          : solve(parse_solver_kind(method.name), op, x, source, rule);
      const auto found = method.run(op, op, y, source, rule, {.delta = 0.0});
      EXPECT_EQ(found.history, plain.history) << method.name;
      EXPECT_EQ(to_matrix(y), to_matrix(x)) << method.name;
      for (const auto& column : found.columns) EXPECT_EQ(column.updates.size(), 1u) << "to look at the truth";
    }
  }
}

TEST(ReliableUpdatesOfOnePrecision, TakeAsManyStepsAsThereAreDistinctEigenvalues) {
  for (const int k : {1, 2, 3, 5}) {
    generator g(static_cast<std::uint64_t>(10 + k));
    const matrix a = with_spectrum(distinct_values(20, k), g), b = random_matrix(20, 2, g);
    for (const auto& method : reliable_methods<mock::field>())
      for (const double delta : {0.0, 1e-5, 0.3}) {  // updates do not lengthen the way
        const auto o = ReliableUpdates<double>::run(method, a, to_operator(a), b, {.tolerance = 1e-10, .limit = 100},
                                                    {.delta = delta});
        for (const auto& column : o.report.columns) EXPECT_EQ(column.iterations, k) << method.name << ' ' << delta;
      }
  }
}

TEST(ReliableUpdatesInSingle, GoWhereSinglePrecisionAloneDoesNot) {
  generator g(7);
  const matrix a = system_for(true, 40, g), b = random_matrix(40, 1, g);
  mock::machine device;
  auto x = to_field<float>(device, matrix::Zero(40, 1));
  conjugate_gradients(to_operator(a), x, to_field<float>(device, b), {.tolerance = 1e-12, .limit = 300});
  const double alone = relative_residual(a, to_matrix(x).col(0), b.col(0));
  EXPECT_GT(alone, 1e-8);
  const auto o = ReliableUpdates<float>::run(reliable_methods<mock::basic_field<float>>().back(), a, to_operator(a), b,
                                             {.tolerance = 1e-12, .limit = 300}, {.delta = 1e-3});
  EXPECT_TRUE(o.report.all_converged());
  // at each update the two residuals stand side by side, no further apart than single precision explains
  for (const auto& update : o.report.columns[0].updates)
    EXPECT_TRUE(std::abs(update.truth - update.iterated) <= 1e-3) << update.truth << ' ' << update.iterated;
}

TEST(ReliableUpdates, RefuseParametersThatMakeNoSense) {
  generator g(5);
  const auto op = to_operator(well_behaved(4, g));
  mock::machine device;
  const mock::field b = to_field(device, random_matrix(4, 2, g));
  mock::field x = like(b), narrow = like(b, 1);
  zero(x);
  for (const double delta : {1.0, -0.1, 7.0, std::nan("")})
    EXPECT_THROW(reliable_bicgstab<mock::field>(op, op, x, b, {}, {.delta = delta}), input_error) << delta;
  EXPECT_THROW(reliable_bicgstab<mock::field>(op, op, narrow, b, {}, {}), input_error);
  EXPECT_THROW(reliable_cgnr<mock::field>(op, op, x, b, {.check_interval = 0}, {}), input_error);
  for (const int check_lag : {-1, 3, 4})
    EXPECT_THROW(reliable_cgnr<mock::field>(op, op, x, b, {.check_interval = 3, .check_lag = check_lag}, {}),
                 input_error);
}

TYPED_TEST(ReliableUpdates, AreMatchedByDefectCorrectionAtMoreIterations) {
  using low = typename TestFixture::low;
  int reliable = 0, corrections = 0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    generator g(seed);
    const matrix a = well_behaved(40, g), b = random_matrix(40, 3, g);
    const auto op = to_operator(a);
    mock::machine device(seed);
    const mock::field source = to_field(device, b);
    for (const auto scheme : {mixed_scheme::reliable, mixed_scheme::defect_correction})
      for (const auto kind : {solver_kind::bicgstab, solver_kind::cgnr, solver_kind::cgne}) {
        mock::field x = to_field(device, matrix::Zero(40, 3));
        const auto report = solve_mixed<low>(kind, scheme, op, op, x, source,
                                             {.tolerance = 1e-12, .limit = 2000, .check_interval = 2}, {.delta = 0.05});
        const std::string where = name(kind) + ", " + name(scheme);
        EXPECT_TRUE(report.all_converged()) << where << ' ' << report.columns[0].why;
        expect_honest(report, a, to_matrix(x), b, where);
        for (std::size_t n = 0; n < 3; ++n) {
          EXPECT_TRUE(report.columns[n].true_residual <= 1e-12) << where;
          EXPECT_GE(report.columns[n].updates.size(), 3u) << where;
          EXPECT_EQ(std::ssize(report.history[n]), report.columns[n].iterations + 1) << where;
        }
        if (kind != solver_kind::bicgstab)
          (scheme == mixed_scheme::reliable ? reliable : corrections) += report.iterations();
      }
  }
  EXPECT_LT(reliable, corrections);
}

TEST(DefectCorrection, TakesAnySolverAndAnswersWhatCannotBeSolved) {
  using low = mock::basic_field<float>;
  generator g(5);
  const matrix a = well_behaved(30, g);
  matrix b = random_matrix(30, 4, g);
  b.col(0).setZero();
  b(3, 2) = mock::poison;
  mock::machine device;
  const auto op = to_operator(a);
  const mock::field source = to_field(device, b);
  for (const auto kind : {solver_kind::gcr, solver_kind::mr, solver_kind::bicgstab}) {
    mock::field x = to_field(device, matrix::Zero(30, 4));
    const auto report = solve_mixed<low>(kind, mixed_scheme::defect_correction, op, op, x, source,
                                         {.tolerance = 1e-11, .limit = 2000}, {.delta = 0.01}, {.relaxation = 0.9});
    EXPECT_EQ(report.columns[0].status, solve_status::converged);
    EXPECT_EQ(report.columns[2].status, solve_status::not_finite);
    for (const int n : {0, 2}) EXPECT_EQ(to_matrix(x).col(n), vector::Zero(30));
    for (const int n : {1, 3}) {
      EXPECT_EQ(report.columns[static_cast<std::size_t>(n)].status, solve_status::converged) << name(kind);
      EXPECT_TRUE(relative_residual(a, to_matrix(x).col(n), b.col(n)) <= 1e-11 + 1e-14) << name(kind);
    }
    // an inner operator that is another's makes the truth worse: the guess stays, and no false word is said
    mock::field y = to_field(device, matrix::Zero(30, 4));
    const auto wrong = solve_mixed<low>(kind, mixed_scheme::defect_correction, op, to_operator(-a), y, source,
                                        {.tolerance = 1e-11, .limit = 100}, {.delta = 0.01});
    for (const int n : {1, 3}) {
      EXPECT_NE(wrong.columns[static_cast<std::size_t>(n)].status, solve_status::converged);
      EXPECT_FALSE(wrong.columns[static_cast<std::size_t>(n)].why.empty());
      EXPECT_EQ(to_matrix(y).col(n), vector::Zero(30));
    }
  }
  mock::field x = to_field(device, matrix::Zero(30, 4));
  EXPECT_THROW(solve_mixed<low>(solver_kind::gcr, mixed_scheme::reliable, op, op, x, source, {}, {}), input_error);
  EXPECT_THROW(solve_mixed<low>(solver_kind::gcr, mixed_scheme::defect_correction, op, op, x, source, {}, {.delta = 0}),
               input_error);
}

TEST(DefectCorrection, SolutionsScaleWithTheirSources) {
  using low = mock::basic_field<float>;
  generator g(7);
  const matrix a = well_behaved(30, g);
  expect_solutions_scale(random_matrix(30, 3, g), [&](const matrix& b) {
    mock::machine device;
    const auto op = to_operator(a);
    mock::field x = to_field(device, matrix::Zero(30, 3));
    const auto report = solve_mixed<low>(solver_kind::bicgstab, mixed_scheme::defect_correction, op, op, x,
                                         to_field(device, b), {.tolerance = 1e-11, .limit = 2000}, {.delta = 0.01});
    EXPECT_TRUE(report.all_converged()) << report.columns[1].why;
    return to_matrix(x);
  });
}

TEST(DefectCorrection, RepairsAFlippedBit) {
  using low = mock::basic_field<half>;
  generator g(6);
  const matrix a = well_behaved(30, g), b = random_matrix(30, 2, g);
  mock::machine device;
  mock::field x = to_field(device, matrix::Zero(30, 2));
  const mock::flipping_operator inner(to_operator(a), 7, 1e3);
  const auto report = solve_mixed<low>(solver_kind::cgnr, mixed_scheme::defect_correction, to_operator(a), inner, x,
                                       to_field(device, b), {.tolerance = 1e-11, .limit = 2000}, {.delta = 0.05});
  EXPECT_TRUE(report.all_converged()) << report.columns[0].why;
  expect_honest(report, a, to_matrix(x), b, "a flipped bit");
}

TEST(Restarts, ReportTheResidualOfTheSolutionThatIsReturned) {
  // A second run that brings nothing leaves the residual of the first, unless it ends at the floor: then it is the
  // residual of the last iterate.
  struct second_run {
    solve_status status;
    bool at_floor;
    double residual, true_residual, expected;
  };
  for (const second_run& second : {second_run{solve_status::stagnation, false, 2e-8, 1.6e-7, 1.4e-7},
                                   second_run{solve_status::converged, true, 9e-8, 1.6e-7, 9e-8},
                                   second_run{solve_status::converged, false, 7e-8, 8e-8, 7e-8}}) {
    mock::machine device;
    mock::field x = to_field(device, matrix::Zero(3, 1));
    const mock::field b = to_field(device, matrix::Ones(3, 1));
    const auto run = [&](mock::field&, const mock::field&, const stopping_rule&, int attempt) {
      solve_report report;
      report.history = {{1.0, 1.4e-7}};
      report.columns = {attempt == 0 ? column_report{.status = solve_status::inconsistent,
                                                     .iterations = 1,
                                                     .residual = 1.4e-7,
                                                     .true_residual = 1.5e-7}
                                     : column_report{.status = second.status,
                                                     .iterations = 1,
                                                     .residual = second.residual,
                                                     .true_residual = second.true_residual,
                                                     .at_floor = second.at_floor}};
      return report;
    };
    const solve_report report = detail::with_restarts(x, b, {.tolerance = 1e-7}, 10, run);
    EXPECT_EQ(report.columns[0].residual, second.expected);
    EXPECT_EQ(report.columns[0].status, second.status);
    EXPECT_EQ(report.columns[0].restarts, 1);
  }
}

TEST(MixedSchemes, ReadTheNamesTheyWriteAndNoOthers) {
  for (const auto& [scheme, text] : mixed_scheme_names) {
    EXPECT_EQ(parse_mixed_scheme(text), scheme);
    EXPECT_EQ(name(scheme), text);
  }
  EXPECT_THROW(parse_mixed_scheme("unreliable"), input_error);
}

TEST(MixedPrecisionDefaults, AreThoseOfTheTable) {
  using enum precision;
  const auto expect = [](precision outer, precision inner, double tolerance, double delta) {
    const auto found = default_parameters(outer, inner);
    EXPECT_EQ(found.tolerance, tolerance) << name(outer) << '-' << name(inner);
    EXPECT_EQ(found.delta, delta) << name(outer) << '-' << name(inner);
  };
  expect(single, single, 1e-7, 1e-3);
  expect(single, half, 1e-7, 1e-1);
  expect(double_, double_, 1e-14, 1e-5);
  expect(double_, half, 1e-14, 1e-2);
  expect(double_, single, 1e-14, 1e-3);
  EXPECT_THROW(default_parameters(single, double_), input_error);
  EXPECT_THROW(default_parameters(half, half), input_error);
}

}  // namespace
}  // namespace plaquette::solver_tests
