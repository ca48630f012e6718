// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/possible_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "miniapps/shared/machine_speed.hpp"

namespace plaquette {

double share_of_limits(const operator_figure& figure, double cache_bytes) {
  constexpr double beyond_caches = 10.0;  // then at most a tenth of the bytes comes from a cache
  const double bytes = 1e9 * figure.gbytes_per_s * figure.seconds.median / std::max(figure.ranks, 1);
  const bool streams = cache_bytes > 0.0 && !(bytes < beyond_caches * cache_bytes);
  const double of_copy = streams ? figure.fraction_of_copy : 0.0;
  return std::isnan(of_copy) || of_copy > figure.fraction_of_fma_peak ? of_copy : figure.fraction_of_fma_peak;
}

std::vector<operator_figure> against_limits_measured_again(const cpu::context& ctx,
                                                           std::vector<operator_figure> figures) {
  constexpr int passes = 60;
  double peak_double = 0.0, peak_single = 0.0, copy = 0.0;
  for (operator_figure& figure : figures) {
    std::array<double, 2> shares{figure.fraction_of_fma_peak, figure.fraction_of_copy};
    ctx.comm().maximum(std::span(shares));
    if (shares[0] > 1.0) {
      const bool in_double = figure.precision == "double";
      double& peak = in_double ? peak_double : peak_single;
      if (peak == 0.0) peak = in_double ? fma_gflops<double>(ctx, passes) : fma_gflops<float>(ctx, passes);
      figure.fraction_of_fma_peak = std::min(figure.fraction_of_fma_peak, figure.gflops / peak);
    }
    if (shares[1] > 1.0) {
      if (copy == 0.0) copy = copy_gbytes_per_s(ctx);
      figure.fraction_of_copy = std::min(figure.fraction_of_copy, figure.gbytes_per_s / copy);
    }
  }
  return figures;
}

void check_figures_are_possible(verification& checks, const std::vector<operator_figure>& figures, double cache_bytes) {
  if (figures.empty()) return;
  double most = 0.0;
  for (const operator_figure& figure : figures) {
    const double share = share_of_limits(figure, cache_bytes);
    if (!(share <= most) && !std::isnan(most)) most = share;
  }
  checks.add("best figure, as a share of what the machine can give", most, most_of_limit);
}

}  // namespace plaquette
