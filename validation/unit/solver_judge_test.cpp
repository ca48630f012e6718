// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The judgement on the numbers of a column, without any solver: each reason to end it, and none else.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/krylov/judge.hpp"

namespace plaquette::solver_tests {
namespace {

/// A column with |b| = 1 and an initial residual of 1.
column_state begun(const stopping_rule& rule) {
  column_state c;
  EXPECT_FALSE(judge::guess(c, rule, 1.0, 1.0).ends);
  return c;
}

TEST(Judge, OfTheGuessKnowsWhatCannotOrNeedNotBeSolved) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const stopping_rule rule{.tolerance = 0.1};
  column_state c;
  EXPECT_EQ(judge::guess(c, rule, 0.0, 0.0).status, solve_status::converged);
  EXPECT_EQ(judge::guess(c, rule, nan, 1.0).status, solve_status::not_finite);
  EXPECT_EQ(judge::guess(c, rule, 1.0, nan).status, solve_status::not_finite);
  EXPECT_EQ(judge::guess(c, rule, 4.0, 0.04).status, solve_status::converged);
  EXPECT_FALSE(judge::guess(c, rule, 4.0, 0.05).ends);
  EXPECT_EQ(judge::guess(c, {.tolerance = 0.1, .limit = 0}, 4.0, 1.0).status, solve_status::iteration_limit);
}

TEST(Judge, OfAnIterationTellsConvergenceBreakdownAndStagnation) {
  const stopping_rule rule{.tolerance = 1e-3, .stagnation_window = 5};
  column_state c = begun(rule);
  EXPECT_FALSE(judge::iteration(c, rule, 1, 0.25, {}, {}).ends);
  EXPECT_EQ(c.latest, 0.5);
  EXPECT_EQ(judge::iteration(c, rule, 2, 1e-6, {}, {}).status, solve_status::converged);
  EXPECT_EQ(judge::iteration(c, rule, 2, std::nan(""), {}, {}).status, solve_status::not_finite);

  const division_test tests[] = {{division_test::kind::inner_product, "rho"}};
  const division_numbers small[] = {{{1e-16, 0.0}, 1.0, 1.0}}, large[] = {{{1e-3, 0.0}, 1.0, 1.0}};
  EXPECT_FALSE(judge::iteration(c, rule, 3, 0.25, tests, large).ends);
  const verdict v = judge::iteration(c, rule, 4, 0.25, tests, small);
  EXPECT_EQ(v.status, solve_status::breakdown);
  EXPECT_EQ(v.why, "rho vanished at iteration 4");
  EXPECT_EQ(judge::iteration(c, rule, 4, 1e-8, tests, small).status, solve_status::converged) << "it does not matter";

  column_state flat = begun(rule);
  for (int k = 1; k < 5; ++k) EXPECT_FALSE(judge::iteration(flat, rule, k, 1.0, {}, {}).ends);
  EXPECT_FALSE(judge::progress(flat, rule, 4).ends);
  EXPECT_FALSE(judge::iteration(flat, rule, 5, 1.0, {}, {}).ends);
  EXPECT_EQ(judge::progress(flat, rule, 5).status, solve_status::stagnation);
}

/// An update that finds the true residual `truth` where the iterated one was `iterated`.
update_verdict updated(column_state& c, double iterated, double truth, int now, const reliable_updates& policy = {},
                       const verdict& reason = {}) {
  c.latest = iterated;
  return judge::update(c, reason,
                       {.r2 = truth * truth,
                        .gap2 = (truth - iterated) * (truth - iterated),
                        .e2 = 1.0,
                        .y2 = 1.0,
                        .operator_norm = 1.0,
                        .tolerance = 1e-10,
                        .low_roundoff = 0x1p-16,
                        .high_roundoff = 0x1p-53},
                       policy, now);
}

TEST(Judge, OfAnUpdateRecordsAMismatchAndGoesOn) {
  column_state c = begun({});
  update_verdict v = updated(c, 0.1, 0.1001, 10);
  EXPECT_FALSE(v.next.ends || v.mismatch || v.displaced || v.exhausted);
  EXPECT_EQ(c.kept, 0.1001);
  v = updated(c, 0.01, 0.5, 20);
  EXPECT_FALSE(v.next.ends);
  EXPECT_TRUE(v.mismatch && v.displaced);
  EXPECT_NE(c.note.find("disagreed"), std::string::npos);
  EXPECT_EQ(c.kept, 0.1001) << "the best one";
  EXPECT_EQ(c.updated_at, 20);
  v = updated(c, 1.0, 200.0, 30);
  EXPECT_EQ(v.next.status, solve_status::inconsistent) << "far off";
}

TEST(Judge, OfAnUpdateEndsAColumnThatConvergesTrulyOrIsAtTheFloor) {
  const verdict claim{true, solve_status::converged, 50, ""};
  column_state c = begun({});
  EXPECT_EQ(updated(c, 1e-11, 9e-11, 50, {}, claim).next.status, solve_status::converged);
  c = begun({});
  EXPECT_FALSE(updated(c, 1e-11, 2e-10, 50, {}, claim).next.ends) << "a claim alone is not enough";
  c = begun({});
  c.b2 = 1e-12;  // |b| = 1e-6: 2^-52 |A| |y| / |b| = 2e-10
  c.kept = c.progress = 2.1e-10;
  const update_verdict v = judge::update(c, claim,
                                         {.r2 = 4e-32,
                                          .gap2 = 4e-32,
                                          .e2 = 0.0,
                                          .y2 = 1.0,
                                          .operator_norm = 1.0,
                                          .tolerance = 1e-10,
                                          .low_roundoff = 0x1p-53,
                                          .high_roundoff = 0x1p-53},
                                         {}, 50);
  EXPECT_EQ(v.next.status, solve_status::converged);
  EXPECT_TRUE(v.at_floor);
}

TEST(Judge, OfAnUpdateEndsAColumnWhoseTrueResidualDoesNotFallForLongOnly) {
  const reliable_updates policy{.patience = 1000};
  column_state c = begun({});
  EXPECT_FALSE(updated(c, 0.5, 0.5, 40, policy).next.ends);
  for (int k = 80; k < 1040; k += 40) EXPECT_FALSE(updated(c, 0.49, 0.49, k, policy).next.ends) << k;
  EXPECT_EQ(updated(c, 0.49, 0.49, 1040, policy).next.status, solve_status::stagnation);
  // Ten claims in a row end it earlier.
  c = begun({});
  const verdict claim{true, solve_status::converged, 1, ""};
  for (int k = 1; k < 10; ++k) EXPECT_FALSE(updated(c, 1e-11, 1.0, k, policy, claim).next.ends) << k;
  EXPECT_EQ(updated(c, 1e-11, 1.0, 10, policy, claim).next.status, solve_status::stagnation);
}

TEST(Judge, LetsNoResidualFallBelowWhatRoundingLeavesOfIt) {
  column_state c = begun({});
  EXPECT_EQ(judge::smallest_fraction(c, 0.1, 0x1p-16), 0.1);
  EXPECT_EQ(judge::smallest_fraction(c, 1e-3, 0x1p-16), 0x1p-8) << "sqrt(u)";
  EXPECT_EQ(judge::smallest_fraction(c, 1e-3, 0x1p-24), 1e-3);
  updated(c, 0.100, 0.105, 40);  // from 1: 0.005 of the largest
  EXPECT_NEAR(judge::smallest_fraction(c, 1e-3, 0x1p-16), 0.1, 1e-12);
  EXPECT_EQ(judge::smallest_fraction(c, 0.2, 0x1p-16), 0.2);
  updated(c, 0.05, 0.10, 80);  // from 0.105: half of it
  EXPECT_EQ(judge::smallest_fraction(c, 1e-3, 0x1p-16), 0.3);
  EXPECT_EQ(judge::smallest_fraction(c, 0.5, 0x1p-16), 0.5);
  EXPECT_EQ(judge::smallest_fraction(c, 0.0, 0x1p-16), 0.0) << "never before convergence";
}

}  // namespace
}  // namespace plaquette::solver_tests
