// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gauge/stout.hpp"

#include <utility>

#include "common/gauge/smearing.hpp"
#include "common/stop_point.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/gauge/links_with_ghosts.hpp"
#include "gpu/gauge/tile_launch.hpp"

namespace plaquette::gpu {
namespace {

/// One link of direction mu.
struct smear_link {
  gauge_configuration::pointer to;
  ghosted_links links;
  site_order order;
  site_tiles tiles;
  int mu;
  plane_weights weight;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const site_coordinate local = tiles.site(n);
    to.store(parity_of(local), order.index(local), mu, stout_smeared_link(links, links.site(local), mu, weight));
  }
};

}  // namespace

gauge_configuration stout_smeared(const gauge_configuration& links, const stout_smearing& smearing) {
  require_usable(smearing);
  const context& ctx = links.get_context();
  gauge_configuration now = copy_of(links);
  if (smearing.steps == 0) return now;
  gauge_configuration next = copy_of(links);
  const site_tiles tiles = site_tiles::of_lattice(ctx.order());
  for (int k = 0; k < smearing.steps; ++k) {
    stop_point();
    const links_with_ghosts around(now);
    for (int mu = 0; mu < dimensions; ++mu) {
      if (!smearing.smears(mu)) continue;
      const smear_link body{next.sites(), around.sites(),
                            ctx.order(),  tiles,
                            mu,           plane_weights(mu, [&](int a, int b) { return smearing.weight(a, b); })};
      for_each_tiled_site(ctx.queue(), ctx.order(), body);
    }
    std::swap(now, next);
  }
  return now;
}

}  // namespace plaquette::gpu
