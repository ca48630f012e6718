// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/possible_figures.hpp"

#include <algorithm>
#include <cmath>

namespace plaquette {

double share_of_limits(const operator_figure& figure, double cache_bytes) {
  constexpr double beyond_caches = 10.0;  // then at most a tenth of the bytes comes from a cache
  const double bytes = 1e9 * figure.gbytes_per_s * figure.seconds.median / std::max(figure.ranks, 1);
  const bool streams = cache_bytes > 0.0 && !(bytes < beyond_caches * cache_bytes);
  const double of_copy = streams ? figure.fraction_of_copy : 0.0;
  return std::isnan(of_copy) || of_copy > figure.fraction_of_fma_peak ? of_copy : figure.fraction_of_fma_peak;
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
