// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/make-configuration/sweep_judge.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "common/algebra/largest.hpp"
#include "common/app/draw.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/heatbath_textbook.hpp"

namespace plaquette {

namespace {

/// Returns the number of links that differ in a bit.
double differing_links(const gauge_configuration& a, const gauge_configuration& b, const communicator& world) {
  return cpu::sum_over_sites<1>(a.geometry(), world, [&](const coordinate& x) -> std::array<double, 1> {
    double differing = 0.0;
    for (std::size_t mu = 0; mu < dimensions; ++mu)
      differing += std::memcmp(&a(x)[mu], &b(x)[mu], sizeof a(x)[mu]) != 0 ? 1.0 : 0.0;
    return {differing};
  })[0];
}

/// Logarithm, exponential and cosine of a GPU differ in the last places, and a sweep enlarges such a difference by ten
/// or so (validation/gpu-vs-cpu/gauge/heatbath_test.cpp). Links that were not updated differ by 1.
double tolerance_on_gpu(const sweep_plan& plan) {
  return std::min(1e-2, 16.0 * 0x1p-53 * std::pow(10.0, plan.heatbath + plan.overrelaxation));
}

}  // namespace

bool sweep_judge::takes_next() {
  const int stretches = std::min(judged_sweeps, count_);
  const auto begin_of = [&](int stretch) {
    return static_cast<int>(static_cast<std::int64_t>(count_) * stretch / stretches);
  };
  for (int s = 0; s < stretches; ++s)
    if (made_ == begin_of(s)) {
      const auto length = static_cast<std::uint64_t>(begin_of(s + 1) - begin_of(s));
      drawn_ = made_ + static_cast<int>(drawn_number(run_.world) % length);
    }
  return made_++ == drawn_;
}

void sweep_judge::judge(const gauge_configuration& after, std::uint64_t number) {
  enter_stage("the comparison of a sweep with the textbook's");
  run_.note_draw("sweep", number);
  cpu::textbook::combined_sweep(*before_, action_, plan_, run_.shared.seed, number, run_.world);
  const double off =
      run_.gpu ? cpu::rms_distance(after, *before_, run_.world) : differing_links(after, *before_, run_.world);
  keep_largest(worst_, off);
  ++judged_;
  enter_stage("the sweeps");
}

void sweep_judge::add_check(verification& checks) const {
  if (judged_ == 0) return;
  if (run_.gpu)
    checks.add("drawn sweeps made again: distance of links", worst_, tolerance_on_gpu(plan_));
  else
    checks.add("drawn sweeps made again: links that differ", worst_, 0.0);
}

}  // namespace plaquette
