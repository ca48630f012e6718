// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/gauge_fixing.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "common/algebra/matrix_parts.hpp"
#include "common/algebra/su2.hpp"
#include "common/error.hpp"
#include "common/lattice/ghosts.hpp"
#include "common/random/random_matrix.hpp"
#include "cpu_ref/fields/site_sum.hpp"

namespace plaquette::cpu {
namespace {

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

constexpr int directions_of(gauge_condition condition) { return condition == gauge_condition::landau ? 4 : 3; }

/// sum_mu [U_mu(x) g^+(x+mu) + U_mu^+(x-mu) g^+(x-mu)]: Re tr [g(x) w] is what the functional has of g(x).
su3<double> neighbours_of(const gauge_configuration& links, const gauge_transformation& g, const coordinate& x,
                          int directions) {
  su3<double> w;
  for (int mu = 0; mu < directions; ++mu) {
    const coordinate ahead = shifted(x, mu, +1), behind = shifted(x, mu, -1);
    w += links(x)[mu] * adjoint(g(ahead)) + adjoint(g(behind) * links(behind)[mu]);
  }
  return w;
}

/// The h in SU(2) that maximises Re tr(h r), to the power omega: r^+ / |r| = exp(-i a n sigma) becomes exp(-i omega a n
/// sigma). Where r = 0, 1.
quaternion<double> overrelaxed_maximum(const quaternion<double>& r, double omega) {
  const double along = r.r0, across = std::sqrt(r.r1 * r.r1 + r.r2 * r.r2 + r.r3 * r.r3);
  if (across == 0.0 && along >= 0.0) return {1.0, 0.0, 0.0, 0.0};
  const double angle = omega * std::atan2(across, along);
  if (across == 0.0) return {std::cos(angle), 0.0, 0.0, std::sin(angle)};  // r = -|r|: any axis
  const double scale = -std::sin(angle) / across;
  return {std::cos(angle), scale * r.r1, scale * r.r2, scale * r.r3};
}

void sweep(gauge_transformation& g, const gauge_configuration& links, int directions, double omega,
           const communicator& comm) {
  for (int parity = 0; parity < 2; ++parity) {
    for_each_site(links.geometry(), [&](const coordinate& x) {
      if ((x[0] + x[1] + x[2] + x[3]) % 2 != parity) return;
      su3<double> whole = g(x), w = whole * neighbours_of(links, g, x, directions);
      for (const su2_subgroup& subgroup : su2_subgroups) {
        const quaternion<double> h = overrelaxed_maximum(projected(w, subgroup), omega);
        multiply_from_left(whole, h, subgroup);
        multiply_from_left(w, h, subgroup);
      }
      g(x) = put_into_su3(whole);
    });
    exchange_ghosts(g, comm);
  }
}

/// Of the links as g transforms them: with W = g(x) w(x), Delta(x) is -(W - W^+) / (2i) without its trace.
gauge_quality quality_of(const gauge_configuration& links, const gauge_transformation& g, int directions,
                         const communicator& comm) {
  const auto [trace_sum, squares] = sum_over_sites<2>(links.geometry(), comm, [&](const coordinate& x) {
    const su3<double> w = g(x) * neighbours_of(links, g, x, directions), delta = traceless_hermitian_part(w);
    return std::array{trace(w).re, trace(delta * delta).re};
  });
  const double sites = static_cast<double>(links.geometry().global_volume());
  return {trace_sum / (2.0 * directions * colours * sites), squares / (colours * sites)};
}

gauge_transformation no_transformation(const lattice_geometry& geometry, const communicator& comm) {
  gauge_transformation g(geometry);
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) g.at_site(site) = su3<double>::identity();
  exchange_ghosts(g, comm);
  return g;
}

/// Puts links that are farther from SU(3) than doubles explain back into it, as links of a file of 32 bits. A
/// transformed one has no longer the numbers of floats that excuse it.
void take_back(gauge_configuration& links, const communicator& comm) {
  constexpr double doubles = 256.0 * 0x1p-53;
  for_each_site(links.geometry(), [&](const coordinate& x) {
    for (su3<double>& link : links(x))
      if (!(distance_from_su3(link) <= doubles) && !(link == su3<double>{})) link = put_into_su3(link);
  });
  exchange_ghosts(links, comm);
}

}  // namespace

gauge_quality measure_gauge(const gauge_configuration& links, gauge_condition condition, const communicator& comm) {
  require_current_ghosts(links, comm, "measure_gauge");
  return quality_of(links, no_transformation(links.geometry(), comm), directions_of(condition), comm);
}

fixed_gauge gauge_fixed(const gauge_configuration& links, gauge_condition condition, const gauge_fixing_rule& rule,
                        const communicator& comm) {
  if (!(rule.tolerance > 0.0 && std::isfinite(rule.tolerance) && rule.sweep_limit >= 0 && rule.overrelaxation >= 1.0 &&
        rule.overrelaxation < 2.0))
    throw input_error(
        "gauge fixing: expected a tolerance above 0, sweeps from 0 and an overrelaxation from 1 to below 2, "
        "found " +
        text_of(rule.tolerance) + ", " + std::to_string(rule.sweep_limit) + " and " + text_of(rule.overrelaxation));
  require_current_ghosts(links, comm, "gauge_fixed");
  const int directions = directions_of(condition);
  gauge_transformation g = no_transformation(links.geometry(), comm);
  int sweeps = 0;
  constexpr int check_interval = 10;
  for (;; ++sweeps) {
    if (sweeps == rule.sweep_limit) break;
    if (sweeps % check_interval == 0 && quality_of(links, g, directions, comm).theta <= rule.tolerance) break;
    sweep(g, links, directions, rule.overrelaxation, comm);
  }
  gauge_configuration fixed = transformed(links, g, comm);
  take_back(fixed, comm);
  const gauge_quality quality = measure_gauge(fixed, condition, comm);
  return {std::move(g), std::move(fixed), quality, sweeps, quality.theta <= rule.tolerance};
}

}  // namespace plaquette::cpu
