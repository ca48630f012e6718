// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/gaussian_smearing.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "common/error.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/fields/site_sum.hpp"

namespace plaquette::cpu {
namespace {

constexpr int space_dimensions = 3;

/// The sum of the six spatial hops to x.
spinor<double> hops_to(const coordinate& x, const spinor_configuration& psi, const gauge_configuration& links) {
  spinor<double> sum;
  for (int i = 0; i < space_dimensions; ++i) {
    const coordinate above = shifted(x, i, +1), below = shifted(x, i, -1);
    const su3<double>&to_above = links(x)[i], from_below = adjoint(links(below)[i]);
    for (int spin = 0; spin < spins; ++spin) {
      const colour_vector<double> forward = to_above * psi(above)[spin], backward = from_below * psi(below)[spin];
      for (int c = 0; c < colours; ++c) sum(spin, c) += forward[c] + backward[c];
    }
  }
  return sum;
}

}  // namespace

spinor_configuration gaussian_smeared(const spinor_configuration& psi, const gauge_configuration& links, double radius,
                                      int steps, const communicator& comm) {
  if (!std::isfinite(radius)) throw input_error("smearing radius: expected a finite number, found another");
  if (steps < 1) throw input_error("smearing steps: expected at least 1, found " + std::to_string(steps));
  const double hop = radius * radius / (4.0 * steps), stay = 1.0 - 2.0 * space_dimensions * hop;
  spinor_configuration now = psi, next(psi.geometry());
  exchange_ghosts(now, comm);
  for (int step = 0; step < steps; ++step) {
    stop_point();
    for_each_site(psi.geometry(), [&](const coordinate& x) { next(x) = stay * now(x) + hop * hops_to(x, now, links); });
    exchange_ghosts(next, comm);
    std::swap(now, next);
  }
  return now;
}

}  // namespace plaquette::cpu
