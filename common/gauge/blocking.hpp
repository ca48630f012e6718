// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What APE and HYP smearing make of one link, for both libraries, on host and device. Links are read as staples.hpp
/// has them.
#pragma once

#include <cmath>

#include "common/gauge/staples.hpp"
#include "common/gauge/subgroup_updates.hpp"
#include "common/lattice/link_smearing.hpp"
#include "common/random/random_matrix.hpp"

namespace plaquette {

/// Returns the V in SU(3) that maximises Re tr (V^+ x), by its SU(2) subgroups in turn until nothing changes. (Cabibbo,
/// Marinari 1982) It is unique for an x near SU(3); NaN where x holds one.
PLAQUETTE_HOST_DEVICE inline su3<double> nearest_in_su3(const su3<double>& x) {
  su3<double> v = put_into_su3(x);
  constexpr int most_rounds = 1000;
  PLAQUETTE_ROLLED
  for (int round = 0; round < most_rounds; ++round) {
    double change = 0.0;  // 1 - Re tr h / 2 of the three h
    for_each_su2_subgroup([&](const su2_subgroup& subgroup, int) {
      const quaternion<double> r = projected(v * adjoint(x), subgroup);  // Re tr (h v x^+)
      const double size = std::sqrt(norm2(r));
      if (!(size > 0.0)) return;
      const quaternion<double> h{r.r0 / size, -r.r1 / size, -r.r2 / size, -r.r3 / size};
      multiply_from_left(v, h, subgroup);
      change += h.r1 * h.r1 + h.r2 * h.r2 + h.r3 * h.r3;
    });
    if (!(change > 1e-31)) break;
  }
  return put_into_su3(v);
}

/// Returns (1 - alpha) u + alpha / count sum, put into SU(3); `sum` is of staples that run along u.
PLAQUETTE_HOST_DEVICE inline su3<double> blocked_link(const su3<double>& u, double alpha, int count,
                                                      const su3<double>& sum) {
  return nearest_in_su3((1.0 - alpha) * u + (alpha / count) * sum);
}

/// Returns U_mu(x) after a step of APE smearing.
/// \param directions  those of staples: 4, or 3 of space
template <class Links, class Site>
PLAQUETTE_HOST_DEVICE su3<double> ape_smeared_link(const Links& links, const Site& x, int mu, double alpha,
                                                   int directions) {
  const auto weight = [directions](int nu) { return nu < directions ? 1.0 : 0.0; };
  return blocked_link(links(x, mu), alpha, 2 * (directions - 1), adjoint(closing_staples(links, x, mu, weight)));
}

// Links V_mu;nu of a level of HYP: a field of one matrix for each pair of different directions.

inline constexpr int direction_pairs = dimensions * (dimensions - 1);

/// Returns the number of the matrix V_mu;nu in such a field.
PLAQUETTE_HOST_DEVICE constexpr int direction_pair(int mu, int nu) {
  return mu * (dimensions - 1) + (nu < mu ? nu : nu - 1);
}

/// Returns U_mu with staples by way of eta alone: V-bar_{mu;nu rho} of the paper for the other two, nu and rho.
template <class Links, class Site>
PLAQUETTE_HOST_DEVICE su3<double> hyp_inner_link(const Links& links, const Site& x, int mu, int eta, double alpha_3) {
  return blocked_link(links(x, mu), alpha_3, 2, staples_along(links, x, mu, eta, mu, eta));
}

/// Returns U_mu with staples by way of the two rho other than mu and nu, of links that do not leave by nu.
/// \param inner  reads the pairs of hyp_inner_link
template <class Links, class Inner, class Site>
PLAQUETTE_HOST_DEVICE su3<double> hyp_middle_link(const Links& links, const Inner& inner, const Site& x, int mu, int nu,
                                                  double alpha_2) {
  su3<double> sum;
  PLAQUETTE_ROLLED
  for (int rho = 0; rho < dimensions; ++rho) {
    if (rho == mu || rho == nu) continue;
    const int eta = 6 - mu - nu - rho;  // the direction that is none of the three
    sum += staples_along(inner, x, mu, rho, direction_pair(mu, eta), direction_pair(rho, eta));
  }
  return blocked_link(links(x, mu), alpha_2, 4, sum);
}

/// Returns U_mu(x) after a step of HYP smearing.
/// \param middle  reads the pairs of hyp_middle_link
template <class Links, class Middle, class Site>
PLAQUETTE_HOST_DEVICE su3<double> hyp_smeared_link(const Links& links, const Middle& middle, const Site& x, int mu,
                                                   double alpha_1) {
  su3<double> sum;
  PLAQUETTE_ROLLED
  for (int nu = 0; nu < dimensions; ++nu)
    if (nu != mu) sum += staples_along(middle, x, mu, nu, direction_pair(mu, nu), direction_pair(nu, mu));
  return blocked_link(links(x, mu), alpha_1, 6, sum);
}

}  // namespace plaquette
