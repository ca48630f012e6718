// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Gauge fixing at one site, for both libraries, on host and device. Links, and the matrices g of a transformation, are
/// read as staples.hpp has them: g(x, 0).
#pragma once

#include <cmath>
#include <cstdint>

#include "common/algebra/matrix_parts.hpp"
#include "common/gauge/staples.hpp"
#include "common/gauge/subgroup_updates.hpp"
#include "common/lattice/gauge_condition.hpp"
#include "common/random/random_matrix.hpp"

namespace plaquette {

/// Returns sum_mu [U_mu(x) g^+(x+mu) + U_mu^+(x-mu) g^+(x-mu)]: Re tr [g(x) w] is what the functional has of g(x).
template <class Links, class Transformation, class Site>
PLAQUETTE_HOST_DEVICE su3<double> fixing_neighbours(const Links& links, const Transformation& g, const Site& x,
                                                    int directions) {
  su3<double> w;
  PLAQUETTE_ROLLED
  for (int mu = 0; mu < directions; ++mu) {
    const Site ahead = links.moved(x, mu, +1), behind = links.moved(x, mu, -1);
    w += links(x, mu) * adjoint(g(ahead, 0)) + adjoint(g(behind, 0) * links(behind, mu));
  }
  return w;
}

/// Returns the h in SU(2) that maximises Re tr(h r), to the power omega: r^+ / |r| = exp(-i a n sigma) becomes
/// exp(-i omega a n sigma). Where r = 0, 1.
PLAQUETTE_HOST_DEVICE inline quaternion<double> overrelaxed_maximum(const quaternion<double>& r, double omega) {
  const double along = r.r0, across = std::sqrt(r.r1 * r.r1 + r.r2 * r.r2 + r.r3 * r.r3);
  if (across == 0.0 && along >= 0.0) return {1.0, 0.0, 0.0, 0.0};
  const double angle = omega * std::atan2(across, along);
  if (across == 0.0) return {std::cos(angle), 0.0, 0.0, std::sin(angle)};  // r = -|r|: any axis
  const double scale = -std::sin(angle) / across;
  return {std::cos(angle), scale * r.r1, scale * r.r2, scale * r.r3};
}

/// Returns the g(x) that maximises the functional in each of its SU(2) subgroups, to the power omega. (Mandula,
/// Ogilvie, Phys. Lett. B 248 (1990) 156)
template <class Links, class Transformation, class Site>
PLAQUETTE_HOST_DEVICE su3<double> better_transformation(const Links& links, const Transformation& g, const Site& x,
                                                        int directions, double omega) {
  su3<double> whole = g(x, 0), w = whole * fixing_neighbours(links, g, x, directions);
  update_in_subgroups(whole, w, [omega](const quaternion<double>& r, int) { return overrelaxed_maximum(r, omega); });
  return put_into_su3(whole);
}

/// Adds the sums that `quality_of_sums` takes, of the links as g transforms them: with W = g(x) w(x), Delta(x) is
/// -(W - W^+) / (2i) without its trace.
template <class Links, class Transformation, class Site>
PLAQUETTE_HOST_DEVICE void add_gauge_quality(const Links& links, const Transformation& g, const Site& x, int directions,
                                             double (&sums)[2]) {
  const su3<double> w = g(x, 0) * fixing_neighbours(links, g, x, directions), delta = traceless_hermitian_part(w);
  sums[0] += trace(w).re;
  sums[1] += trace(delta * delta).re;
}

inline gauge_quality quality_of_sums(double trace_sum, double squares, int directions, std::int64_t global_volume) {
  const auto sites = static_cast<double>(global_volume);
  return {trace_sum / (2.0 * directions * colours * sites), squares / (colours * sites)};
}

/// Returns the link, put into SU(3) if it is farther from it than doubles explain, as links of a file of 32 bits. A
/// transformed one has no longer the numbers of floats that excuse it.
PLAQUETTE_HOST_DEVICE inline su3<double> taken_back(const su3<double>& link) {
  constexpr double doubles = 256.0 * 0x1p-53;
  return !(distance_from_su3(link) <= doubles) && !(link == su3<double>{}) ? put_into_su3(link) : link;
}

/// Calls sweep() until measure().theta is at the tolerance, or the limit of sweeps is reached. Returns their number.
template <class Sweep, class Measure>
int fix_by_sweeps(const gauge_fixing_rule& rule, Sweep&& sweep, Measure&& measure) {
  constexpr int check_interval = 10;
  for (int sweeps = 0;; ++sweeps) {
    if (sweeps == rule.sweep_limit) return sweeps;
    if (sweeps % check_interval == 0 && measure().theta <= rule.tolerance) return sweeps;
    sweep();
  }
}

}  // namespace plaquette
