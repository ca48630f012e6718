// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gauge/gradient_flow.hpp"

#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "common/gauge/field_strength.hpp"
#include "common/gauge/smearing.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/host_sums.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/gauge/links_with_ghosts.hpp"
#include "gpu/gauge/tile_launch.hpp"

namespace plaquette::gpu {
namespace {

std::int64_t sites_of(const context& ctx) { return 2 * static_cast<std::int64_t>(ctx.order().sites); }

/// One link after a stage. Exponents are kept from one stage to the next.
struct flow_link {
  gauge_configuration::pointer to, exponents;
  ghosted_links links;
  site_order order;
  site_tiles tiles;
  double step;
  flow_stage stage;
  bool is_last;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n, int mu) const {
    const site_coordinate local = tiles.site(n);
    const int parity = parity_of(local);
    const std::int32_t i = order.index(local);
    const box_site x = links.site(local);
    const su3<double> z = flow_direction(links, x, mu);
    const su3<double> before = stage.old_part != 0.0 ? exponents.load(parity, i, mu) : su3<double>();
    const su3<double> exponent = flow_exponent(z, step, stage, before);
    if (!is_last) exponents.store(parity, i, mu, exponent);
    to.store(parity, i, mu, link_moved_along(exponent, links(x, mu)));
  }
};

struct sum_field_strength {
  ghosted_links links;
  site_order order;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n, int, double (&sums)[2]) const {
    add_field_strength(links, links.site(order, site_of_loop(order, n)), sums);
  }
};

}  // namespace

gradient_flow::gradient_flow(const gauge_configuration& links)
    : links_(copy_of(links)), next_(links.get_context()), exponents_(links.get_context()) {}

void gradient_flow::advance(double step) {
  require_usable_flow_step(step);
  const context& ctx = links_.get_context();
  const site_tiles tiles = site_tiles::of_lattice(ctx.order());
  for (const flow_stage& stage : flow_stages) {
    const links_with_ghosts around(links_);
    for_each_tiled_link(ctx.queue(), ctx.order(),
                        flow_link{next_.sites(), exponents_.sites(), around.sites(), ctx.order(), tiles, step, stage,
                                  &stage == std::end(flow_stages) - 1});
    std::swap(links_, next_);
  }
  time_ += step;
}

flow_measurement measure_field_strength(const gauge_configuration& links) {
  const context& ctx = links.get_context();
  const links_with_ghosts around(links);
  std::vector<double> sums = host_sums<2>(ctx, sites_of(ctx), 1, sum_field_strength{around.sites(), ctx.order()});
  ctx.comm().sum(std::span<double>(sums));
  return measurement_of(sums[0], sums[1], ctx.geometry().global_volume());
}

}  // namespace plaquette::gpu
