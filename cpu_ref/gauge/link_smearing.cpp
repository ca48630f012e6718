// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/link_smearing.hpp"

#include <array>
#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>

#include "common/algebra/su2.hpp"
#include "common/error.hpp"
#include "common/gauge/staples.hpp"
#include "common/lattice/ghosts.hpp"
#include "common/random/random_matrix.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/gauge/link_reader.hpp"

namespace plaquette::cpu {

su3<double> nearest_in_su3(const su3<double>& x) {
  su3<double> v = put_into_su3(x);
  constexpr int most_rounds = 1000;
  for (int round = 0; round < most_rounds; ++round) {
    double change = 0.0;  // 1 - Re tr h / 2 of the three h
    for (const su2_subgroup& subgroup : su2_subgroups) {
      const quaternion<double> r = projected(v * adjoint(x), subgroup);  // Re tr (h v x^+)
      const double size = std::sqrt(norm2(r));
      if (!(size > 0.0)) continue;
      const quaternion<double> h{r.r0 / size, -r.r1 / size, -r.r2 / size, -r.r3 / size};
      multiply_from_left(v, h, subgroup);
      change += h.r1 * h.r1 + h.r2 * h.r2 + h.r3 * h.r3;
    }
    if (!(change > 1e-31)) break;
  }
  return put_into_su3(v);
}

namespace {

void require_usable(const char* name, int steps, std::initializer_list<double> weights) {
  if (steps < 0)
    throw input_error(std::string(name) + " smearing: expected steps of 0 or more, found " + std::to_string(steps));
  for (const double weight : weights)
    if (!(weight >= 0.0 && weight <= 1.0))
      throw input_error(std::string(name) + " smearing: expected weights from 0 to 1, found " + std::to_string(weight));
}

/// Links V_mu;nu of a level of HYP: one matrix for each pair of directions.
using paired_links = std::array<std::array<su3<double>, dimensions>, dimensions>;

/// (1 - alpha) u + alpha / count sum, sum of staples that run along u.
su3<double> blocked(const su3<double>& u, double alpha, int count, const su3<double>& sum) {
  return nearest_in_su3((1.0 - alpha) * u + (alpha / count) * sum);
}

/// The two staples along U_mu(x) by way of +-nu; along(y) and across(y) are the links of mu and nu at y.
template <class Along, class Across>
su3<double> staples_by(const coordinate& x, int mu, int nu, Along&& along, Across&& across) {
  const coordinate above = shifted(x, nu, +1), below = shifted(x, nu, -1);
  return across(x) * along(above) * adjoint(across(shifted(x, mu, +1))) +
         adjoint(across(below)) * along(below) * across(shifted(below, mu, +1));
}

/// The direction that is none of three.
constexpr int fourth(int a, int b, int c) { return 6 - a - b - c; }

gauge_configuration hyp_step(const gauge_configuration& u, const hyp_smearing& s, const communicator& comm) {
  // inner[mu][eta]: U_mu with staples by way of eta alone, V-bar_{mu;nu rho} of the paper for the other two, nu and
  // rho.
  site_field<paired_links> inner(u.geometry()), middle(u.geometry());
  for_each_site(u.geometry(), [&](const coordinate& x) {
    for (int mu = 0; mu < dimensions; ++mu)
      for (int eta = 0; eta < dimensions; ++eta)
        if (eta != mu)
          inner(x)[mu][eta] = blocked(u(x)[mu], s.alpha_3, 2,
                                      staples_by(
                                          x, mu, eta, [&](const coordinate& y) { return u(y)[mu]; },
                                          [&](const coordinate& y) { return u(y)[eta]; }));
  });
  exchange_ghosts(inner, comm);
  // middle[mu][nu]: staples by way of the two rho other than mu and nu, of links that do not leave by nu.
  for_each_site(u.geometry(), [&](const coordinate& x) {
    for (int mu = 0; mu < dimensions; ++mu)
      for (int nu = 0; nu < dimensions; ++nu) {
        if (nu == mu) continue;
        su3<double> sum;
        for (int rho = 0; rho < dimensions; ++rho) {
          if (rho == mu || rho == nu) continue;
          const int eta = fourth(mu, nu, rho);
          sum += staples_by(
              x, mu, rho, [&](const coordinate& y) { return inner(y)[mu][eta]; },
              [&](const coordinate& y) { return inner(y)[rho][eta]; });
        }
        middle(x)[mu][nu] = blocked(u(x)[mu], s.alpha_2, 4, sum);
      }
  });
  exchange_ghosts(middle, comm);
  gauge_configuration next(u.geometry());
  for_each_site(u.geometry(), [&](const coordinate& x) {
    for (int mu = 0; mu < dimensions; ++mu) {
      su3<double> sum;
      for (int nu = 0; nu < dimensions; ++nu)
        if (nu != mu)
          sum += staples_by(
              x, mu, nu, [&](const coordinate& y) { return middle(y)[mu][nu]; },
              [&](const coordinate& y) { return middle(y)[nu][mu]; });
      next(x)[mu] = blocked(u(x)[mu], s.alpha_1, 6, sum);
    }
  });
  exchange_ghosts(next, comm);
  return next;
}

}  // namespace

gauge_configuration ape_smeared(const gauge_configuration& links, const ape_smearing& smearing,
                                const communicator& comm) {
  require_usable("APE", smearing.steps, {smearing.alpha});
  require_current_ghosts(links, comm, "ape_smeared");
  const int directions = smearing.spatial ? 3 : 4;
  gauge_configuration now = links, next = links;
  for (int step = 0; step < smearing.steps; ++step) {
    for_each_site(links.geometry(), [&](const coordinate& x) {
      for (int mu = 0; mu < directions; ++mu)
        next(x)[mu] = blocked(
            now(x)[mu], smearing.alpha, 2 * (directions - 1),
            adjoint(closing_staples(link_reader{now}, x, mu, [&](int nu) { return nu < directions ? 1.0 : 0.0; })));
    });
    exchange_ghosts(next, comm);
    std::swap(now, next);
  }
  return now;
}

gauge_configuration hyp_smeared(const gauge_configuration& links, const hyp_smearing& smearing,
                                const communicator& comm) {
  require_usable("HYP", smearing.steps, {smearing.alpha_1, smearing.alpha_2, smearing.alpha_3});
  require_current_ghosts(links, comm, "hyp_smeared");
  gauge_configuration now = links;
  for (int step = 0; step < smearing.steps; ++step) now = hyp_step(now, smearing, comm);
  return now;
}

}  // namespace plaquette::cpu
