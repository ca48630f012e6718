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

/// One link, if its direction is smeared.
struct smear_link {
  gauge_configuration::pointer to;
  ghosted_links links;
  site_order order;
  site_tiles tiles;
  plane_weights weights[dimensions];
  bool smears[dimensions];

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n, int mu) const {
    if (!smears[mu]) return;
    const site_coordinate local = tiles.site(n);
    to.store(parity_of(local), order.index(local), mu, stout_smeared_link(links, links.site(local), mu, weights[mu]));
  }
};

}  // namespace

gauge_configuration stout_smeared(const gauge_configuration& links, const stout_smearing& smearing) {
  require_usable(smearing);
  const context& ctx = links.get_context();
  gauge_configuration now = copy_of(links);
  if (smearing.steps == 0) return now;
  gauge_configuration next = copy_of(links);
  const auto weights = [&](int mu) { return plane_weights(mu, [&](int a, int b) { return smearing.weight(a, b); }); };
  for (int k = 0; k < smearing.steps; ++k) {
    stop_point();
    const links_with_ghosts around(now);
    const smear_link body{next.sites(),
                          around.sites(),
                          ctx.order(),
                          site_tiles::of_lattice(ctx.order()),
                          {weights(0), weights(1), weights(2), weights(3)},
                          {smearing.smears(0), smearing.smears(1), smearing.smears(2), smearing.smears(3)}};
    for_each_tiled_link(ctx.queue(), ctx.order(), body);
    std::swap(now, next);
  }
  return now;
}

}  // namespace plaquette::gpu
