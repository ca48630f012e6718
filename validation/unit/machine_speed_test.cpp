// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Limits of a machine on a loaded host, and the verdict on figures by them.
#include "cpu_ref/machine_speed.hpp"

#include <gtest/gtest.h>

#include <array>

#include "common/app/report.hpp"
#include "miniapps/shared/possible_figures.hpp"

namespace plaquette::validation {
namespace {

using cpu::context, cpu::fma_gflops, cpu::fma_gflops_of_threads;

context of_threads(int threads) { return {lattice_geometry({4, 4, 4, 4}), communicator(), threads}; }

TEST(MachineSpeed, OfThreadsIsNoLessThanOfAllAtOnce) {
  const context ctx = of_threads(2);
  EXPECT_GT(fma_gflops_of_threads<float>(ctx, 200), 0.8 * fma_gflops<float>(ctx));
  EXPECT_GT(fma_gflops_of_threads<double>(ctx, 200), 0.8 * fma_gflops<double>(ctx));
}

TEST(MachineSpeed, OfThreadsNeedsNoMomentInWhichEachHasACore) {
  constexpr int threads = 64;
  EXPECT_GT(fma_gflops_of_threads<double>(of_threads(threads), 200),
            0.4 * threads * fma_gflops_of_threads<double>(of_threads(1), 200));
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
