// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gauge/stout.hpp"

#include <utility>

#include "common/algebra/staple.hpp"
#include "common/algebra/stout.hpp"
#include "common/random/random_matrix.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/gauge/links_with_ghosts.hpp"

namespace plaquette::gpu {
namespace {

/// One link of direction mu.
struct smear_link {
  gauge_configuration::pointer to;
  ghosted_links links;
  site_order order;
  int mu;
  double weight[dimensions];  ///< of the plane (mu, nu)

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    const site_coordinate at = order.coordinate_of(parity, i);
    const su3<double> u = links.load(at, mu);
    to.store(parity, i, mu, put_into_su3(stout_smeared_link(u, staples(at))));
  }

 private:
  PLAQUETTE_HOST_DEVICE static site_coordinate step(site_coordinate at, int direction, int sign) {
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < dimensions; ++k) at.x[k] += k == direction ? sign : 0;
    return at;
  }
  PLAQUETTE_HOST_DEVICE su3<double> staples(const site_coordinate& at) const {
    const site_coordinate ahead = step(at, mu, +1);
    su3<double> sum;
#pragma unroll 1
    for (int nu = 0; nu < dimensions; ++nu) {
      if (nu == mu || weight[nu] == 0.0) continue;
      const site_coordinate below = step(at, nu, -1);
      const su3<double> up = staple_above(links.load(ahead, nu), links.load(step(at, nu, +1), mu), links.load(at, nu));
      const su3<double> down =
          staple_below(links.load(below, mu), links.load(step(ahead, nu, -1), nu), links.load(below, nu));
      sum += weight[nu] * (up + down);
    }
    return sum;
  }
};

}  // namespace

gauge_configuration stout_smeared(const gauge_configuration& links, const stout_smearing& smearing) {
  require_usable(smearing);
  const context& ctx = links.get_context();
  gauge_configuration now = copy_of(links);
  if (smearing.steps == 0) return now;
  gauge_configuration next = copy_of(links);
  for (int k = 0; k < smearing.steps; ++k) {
    const links_with_ghosts around(now);
    for (int mu = 0; mu < dimensions; ++mu) {
      if (!smearing.smears(mu)) continue;
      smear_link body{next.sites(), around.sites(), ctx.order(), mu, {}};
      for (int nu = 0; nu < dimensions; ++nu) body.weight[nu] = smearing.weight(mu, nu);
      for_each_index(ctx.queue(), 2 * static_cast<std::int64_t>(ctx.order().sites), body, 128);
    }
    std::swap(now, next);
  }
  return now;
}

}  // namespace plaquette::gpu
