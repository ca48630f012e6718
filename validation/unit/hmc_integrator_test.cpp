// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Integrators as lists of operations, and on the harmonic oscillator, whose trajectories are known.
#include "common/hmc/integrator.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/hmc/trajectory.hpp"

namespace plaquette {
namespace {

using enum md_operation::kind;

const std::vector<std::string> three_terms{"gauge", "det", "light"};

/// H = p^2/2 + q^2/2, its force -q in parts: that of level n is -share[n] q.
struct oscillator {
  double q = 0.7, p = -0.4;
  std::vector<double> share;

  void run(const std::vector<md_operation>& operations) {
    for (const auto& [what, level, step, displacement] : operations) {
      if (what == drift) {
        q += step * p;
        continue;
      }
      const double part = share[static_cast<std::size_t>(level)];
      const double displaced = q - (what == displaced_kick ? displacement * part * q : 0.0);
      p -= step * part * displaced;
    }
  }
  /// Returns the distance from the exact end after this time.
  double distance_after(const std::vector<md_operation>& operations, double time) {
    const double q0 = q, p0 = p;
    run(operations);
    return std::hypot(q - (q0 * std::cos(time) + p0 * std::sin(time)), p - (p0 * std::cos(time) - q0 * std::sin(time)));
  }
};

double error_of(md_scheme scheme, int steps) {
  const std::vector<md_level> levels{{scheme, steps, {"gauge"}}};
  return oscillator{.share = {1.0}}.distance_after(operations_of(levels, 1.0), 1.0);
}

TEST(Integrator, ErrorsFallByTheOrderOfTheScheme) {
  for (const auto& [scheme, factor] : {std::pair{md_scheme::leapfrog, 4.0},
                                       {md_scheme::omelyan2, 4.0},
                                       {md_scheme::omf4, 16.0},
                                       {md_scheme::force_gradient, 16.0}}) {
    const double ratio = error_of(scheme, 8) / error_of(scheme, 16);
    EXPECT_GT(ratio, 0.9 * factor) << static_cast<int>(scheme);
    EXPECT_LT(ratio, 1.1 * factor) << static_cast<int>(scheme);
  }
}

TEST(Integrator, NestedLevelsHaveTheOrderOfTheWorst) {
  const auto error = [](md_scheme outer, md_scheme inner, int steps) {
    const std::vector<md_level> levels{{outer, steps, {"light"}}, {inner, 2, {"gauge"}}};
    return oscillator{.share = {0.2, 0.8}}.distance_after(operations_of(levels, 1.0), 1.0);
  };
  const double fourth =
      error(md_scheme::force_gradient, md_scheme::omf4, 4) / error(md_scheme::force_gradient, md_scheme::omf4, 8);
  EXPECT_NEAR(fourth, 16.0, 2.0);
  const double second = error(md_scheme::omf4, md_scheme::leapfrog, 4) / error(md_scheme::omf4, md_scheme::leapfrog, 8);
  EXPECT_NEAR(second, 4.0, 0.5);
}

TEST(Integrator, TheWayBackEndsAtTheStart) {
  const std::vector<md_level> levels{{md_scheme::force_gradient, 3, {"light"}}, {md_scheme::omelyan2, 2, {"gauge"}}};
  const auto operations = operations_of(levels, 0.8);
  oscillator state{.share = {0.3, 0.7}};
  const double q = state.q, p = state.p;
  state.run(operations);
  state.p = -state.p;
  state.run(operations);
  EXPECT_NEAR(state.q, q, 1e-15);
  EXPECT_NEAR(state.p, -p, 1e-15);
}

TEST(Integrator, EveryLevelKicksForTheWholeTrajectory) {
  const std::vector<md_level> levels{
      {md_scheme::omelyan2, 2, {"light"}}, {md_scheme::force_gradient, 1, {"det"}}, {md_scheme::omf4, 3, {"gauge"}}};
  const auto operations = operations_of(levels, 0.9);
  std::vector<double> kicks(levels.size());
  double drifts = 0.0;
  for (const md_operation& op : operations)
    (op.what == drift ? drifts : kicks[static_cast<std::size_t>(op.level)]) += op.step;
  EXPECT_NEAR(drifts, 0.9, 1e-14);
  for (const double kicked : kicks) EXPECT_NEAR(kicked, 0.9, 1e-14);
}

TEST(Integrator, KicksThatNothingSeparatesAreOne) {
  const std::vector<md_level> one{{md_scheme::omelyan2, 5, {"gauge"}}};
  EXPECT_EQ(forces_of(operations_of(one, 1.0), 1), std::vector<int>{11});
  const std::vector<md_level> two{{md_scheme::leapfrog, 2, {"light"}}, {md_scheme::leapfrog, 3, {"gauge"}}};
  // Of each move of three gauge steps the last kick meets the first one of the next move.
  EXPECT_EQ(forces_of(operations_of(two, 1.0), 2), (std::vector<int>{3, 7}));
  const std::vector<md_level> displaced{{md_scheme::force_gradient, 2, {"gauge"}}};
  EXPECT_EQ(forces_of(operations_of(displaced, 1.0), 1), std::vector<int>{7});
}

TEST(Integrator, TextsComeBack) {
  const std::string text = "force-gradient:2(light) omelyan:3(det) omf4:1(gauge)";
  EXPECT_EQ(describe(parse_integrator(text, three_terms, "--integrator")), text);
  EXPECT_EQ(describe(parse_integrator("  leapfrog:7(det,gauge,light) ", three_terms, "--integrator")),
            "leapfrog:7(det,gauge,light)");
}

TEST(Integrator, RefusesTextsThatAreNone) {
  for (const char* text :
       {"", "omelyan", "omelyan:2", "omelyan:2(gauge", "omelyan(gauge):2", "euler:2(gauge,det,light)",
        "omelyan:0(gauge,det,light)", "omelyan:-1(gauge,det,light)", "omelyan:2.5(gauge,det,light)",
        "omelyan:9999999999(gauge,det,light)", "omelyan:2(gauge,det)", "omelyan:2(gauge,det,heavy)",
        "omelyan:2(gauge,det,light,light)", "omelyan:2(gauge,det,light,)", "omelyan:2(gauge) omf4:1(gauge,det,light)",
        "omelyan:2(gauge,det,light)x"})
    EXPECT_THROW(parse_integrator(text, three_terms, "--integrator"), input_error) << text;
}

TEST(AcceptStep, IsMetropolisAndRefusesWhatIsNoNumber) {
  EXPECT_TRUE(is_accepted(-1.0, 0.999));
  EXPECT_TRUE(is_accepted(0.5, 0.6));
  EXPECT_FALSE(is_accepted(0.5, 0.61));
  EXPECT_FALSE(is_accepted(std::nan(""), 0.0));
  EXPECT_FALSE(is_accepted(INFINITY, 0.0));
  double sum = 0.0;
  for (std::uint64_t n = 0; n < 4000; ++n) sum += accept_number(3, n) / 4000.0;
  EXPECT_NEAR(sum, 0.5, 4.5 / std::sqrt(12.0 * 4000.0));
}

}  // namespace
}  // namespace plaquette
