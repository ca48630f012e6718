// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Limits of a machine on a loaded host, and the verdict on figures by them.
#include "cpu_ref/machine_speed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "common/app/report.hpp"
#include "miniapps/shared/possible_figures.hpp"

namespace plaquette::validation {
namespace {

using cpu::context, cpu::fma_gflops, cpu::fma_gflops_of_threads;

context of_threads(int threads) { return {lattice_geometry({4, 4, 4, 4}), communicator(), threads}; }

/// Returns the largest ratio of two rates that were measured up to five times, until it is above a bound: others on the
/// host may slow one of the two.
template <class Rate, class Other>
double ratio_above(double bound, const Rate& rate, const Other& other) {
  double most = 0.0;
  for (int n = 0; n < 5 && !(most > bound); ++n) most = std::max(most, rate() / other());
  return most;
}

TEST(MachineSpeed, OfThreadsIsNoLessThanOfAllAtOnce) {
  const context ctx = of_threads(2);
  EXPECT_GT(ratio_above(
                0.8, [&] { return fma_gflops_of_threads<float>(ctx, 200); }, [&] { return fma_gflops<float>(ctx); }),
            0.8);
  EXPECT_GT(ratio_above(
                0.8, [&] { return fma_gflops_of_threads<double>(ctx, 200); }, [&] { return fma_gflops<double>(ctx); }),
            0.8);
}

TEST(MachineSpeed, OfThreadsNeedsNoMomentInWhichEachHasACore) {
  constexpr int threads = 64;
  const auto by = [](int count) { return [=] { return fma_gflops_of_threads<double>(of_threads(count), 200); }; };
  EXPECT_GT(ratio_above(0.4 * threads, by(threads), by(1)), 0.4 * threads);
}

/// A figure that was measured in a free moment, with limits of a moment in which others had most of the machine.
operator_figure measured_beside_others(double gflops) {
  operator_figure figure = rate_of_flops(gflops, 1, 1, true);
  figure.fraction_of_fma_peak = 40.0;
  return figure;
}

double share_now(double gflops) {
  const std::array figures{measured_beside_others(gflops)};
  return against_limits_measured_again(of_threads(1), {figures.begin(), figures.end()}).front().fraction_of_fma_peak;
}

TEST(PossibleFigures, AreMeasuredAgainWhereTheLimitWasThatOfALoadedHost) {
  const double peak = fma_gflops_of_threads<double>(of_threads(1), 200);
  EXPECT_LT(share_now(0.5 * peak), most_of_limit);
  EXPECT_GT(share_now(4.0 * peak), most_of_limit);  // nothing can be as fast
}

}  // namespace
}  // namespace plaquette::validation
