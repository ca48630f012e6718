// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gauge/gauge_fixing.hpp"

#include <span>
#include <utility>
#include <vector>

#include "common/gauge/gauge_fixing.hpp"
#include "common/stop_point.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/host_sums.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/gauge/links_with_ghosts.hpp"

namespace plaquette::gpu {
namespace {

std::int64_t sites_of(const context& ctx) { return 2 * static_cast<std::int64_t>(ctx.order().sites); }

struct set_to_one {
  gauge_transformation::pointer g;
  site_order order;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    g.store(parity, i, 0, su3<double>::identity());
  }
};

/// One site of one parity: its neighbours are of the other one.
struct improve_site {
  ghosted_matrices<1, std::byte> g;
  ghosted_links links;
  site_order order;
  int parity, directions;
  double omega;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const box_site x = links.site(order, {parity, static_cast<std::int32_t>(n)});
    g.at.store(x.parity, x.index, 0, better_transformation(links, g, x, directions, omega));
  }
};

struct sum_quality {
  ghosted_matrices<1, const std::byte> g;
  ghosted_links links;
  site_order order;
  int directions;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n, int, double (&sums)[2]) const {
    add_gauge_quality(links, g, links.site(order, site_of_loop(order, n)), directions, sums);
  }
};

/// One link of direction mu.
struct take_link_back {
  gauge_configuration::pointer links;
  site_order order;
  int mu;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    links.store(parity, i, mu, taken_back(links.load(parity, i, mu)));
  }
};

gauge_transformation no_transformation(const context& ctx) {
  gauge_transformation g(ctx);
  for_each_index(ctx.queue(), sites_of(ctx), set_to_one{g.sites(), ctx.order()}, 128);
  return g;
}

void sweep(transformation_with_ghosts& g, const links_with_ghosts& links, int directions, double omega) {
  stop_point();
  const context& ctx = links.get_context();
  for (int parity = 0; parity < 2; ++parity) {
    for_each_index(ctx.queue(), ctx.order().sites,
                   improve_site{g.sites(), links.sites(), ctx.order(), parity, directions, omega}, 128);
    g.exchange(0, parity);
  }
}

gauge_quality quality_of(const links_with_ghosts& links, const transformation_with_ghosts& g, int directions) {
  const context& ctx = links.get_context();
  std::vector<double> sums =
      host_sums<2>(ctx, sites_of(ctx), 1, sum_quality{g.sites(), links.sites(), ctx.order(), directions});
  ctx.comm().sum(std::span<double>(sums));
  return quality_of_sums(sums[0], sums[1], directions, ctx.geometry().global_volume());
}

}  // namespace

gauge_quality measure_gauge(const gauge_configuration& links, gauge_condition condition) {
  const links_with_ghosts around(links);
  const transformation_with_ghosts g(no_transformation(links.get_context()));
  return quality_of(around, g, directions_of(condition));
}

fixed_gauge gauge_fixed(const gauge_configuration& links, gauge_condition condition, const gauge_fixing_rule& rule) {
  require_usable(rule);
  const context& ctx = links.get_context();
  const int directions = directions_of(condition);
  gauge_transformation g = no_transformation(ctx);
  int sweeps = 0;
  {
    const links_with_ghosts around(links);
    transformation_with_ghosts g_around(g);
    sweeps = fix_by_sweeps(
        rule, [&] { sweep(g_around, around, directions, rule.overrelaxation); },
        [&] { return quality_of(around, g_around, directions); });
    g_around.write_back();
  }
  gauge_configuration fixed = transformed(links, g);
  for (int mu = 0; mu < dimensions; ++mu)
    for_each_index(ctx.queue(), sites_of(ctx), take_link_back{fixed.sites(), ctx.order(), mu}, 128);
  const gauge_quality quality = measure_gauge(fixed, condition);
  return {std::move(g), std::move(fixed), quality, sweeps, quality.theta <= rule.tolerance};
}

}  // namespace plaquette::gpu
