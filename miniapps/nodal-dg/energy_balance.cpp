// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/energy_balance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/dg/lserk4.hpp"

namespace plaquette::nodal_dg {

void energy_balance::note(double time, std::int64_t steps, double energy, double rate, double loss) {
  moments_.push_back({time, steps, energy, rate, loss});
}

energy_balance::result energy_balance::judge(double unit_roundoff, double of_sums, double mismatch) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  result r{0.0, infinity, 0.0, infinity};
  const std::size_t count = moments_.size();
  if (count < 2) return r;
  double largest = 0.0;
  for (const moment& m : moments_) {
    if (!std::isfinite(m.energy) || !std::isfinite(m.rate)) return {infinity, 0.0, infinity, 0.0};
    largest = std::max(largest, m.energy);
  }
  if (!(largest > 0.0)) return r;
  // The polynomial through up to four moments around interval i, at time t.
  const auto rate_at = [&](std::size_t i, double t) {
    const std::size_t points = std::min<std::size_t>(count, 4);
    const std::size_t first = std::min(i > 0 ? i - 1 : 0, count - points);
    double sum = 0.0;
    for (std::size_t a = first; a < first + points; ++a) {
      double weight = moments_[a].rate;
      for (std::size_t b = first; b < first + points; ++b)
        if (b != a) weight *= (t - moments_[b].time) / (moments_[a].time - moments_[b].time);
      sum += weight;
    }
    return sum;
  };
  std::vector<double> defect(count - 1), doubt(count - 1);
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const moment &a = moments_[i], &b = moments_[i + 1];
    const double length = b.time - a.time, middle = rate_at(i, 0.5 * (a.time + b.time));
    const double trapezoid = 0.5 * length * (a.rate + b.rate);
    const double cubic = length * (a.rate + 4.0 * middle + b.rate) / 6.0;
    defect[i] = b.energy - a.energy - cubic;
    doubt[i] = std::abs(cubic - trapezoid);
    // What the mesh cannot hold dies out within the first steps, faster than they follow each other.
    if (count < 4 || i < 3) doubt[i] += 0.5 * length * std::abs(a.rate - b.rate);
    r.growth = std::max(r.growth, (b.energy - a.energy) / largest);
  }
  r.uncertain = 0.0;
  double worst = -1.0;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const double stages = static_cast<double>(lserk4::stages * (moments_[i + 1].steps - moments_[i].steps));
    double tolerance = 0.0;
    for (std::size_t j = i > 1 ? i - 2 : 0; j < std::min(i + 3, count - 1); ++j)
      tolerance = std::max(tolerance, doubt[j]);
    const double lost = std::max(moments_[i].loss, moments_[i + 1].loss) *
                        static_cast<double>(moments_[i + 1].steps - moments_[i].steps);
    tolerance =
        4.0 * (tolerance + lost) / largest + 8.0 * unit_roundoff * std::sqrt(stages) + of_sums + mismatch * stages;
    r.uncertain += tolerance;
    const double d = std::abs(defect[i]) / largest;
    if (!(d / tolerance <= worst)) {
      worst = d / tolerance;
      r.defect = d;
      r.tolerance = tolerance;
    }
  }
  return r;
}

}  // namespace plaquette::nodal_dg
