// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gauge/plaquette.hpp"

#include <span>

#include "common/gauge/staples.hpp"
#include "gpu/fields/host_sums.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/gauge/bent_links.hpp"
#include "gpu/gauge/links_with_ghosts.hpp"

namespace plaquette::gpu {
namespace {

/// Re tr P summed over the planes of a site: planes of space, planes with time.
struct sum_planes {
  ghosted_links links;
  site_order order;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n, int, double (&sums)[2]) const {
    add_plaquettes(links, links.site(order, site_of_loop(order, n)), sums);
  }
};

/// Re tr R of the rectangles of a plane.
struct sum_rectangles {
  ghosted_links links, bent;
  site_order order;
  int mu, nu;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n, int, double (&sums)[1]) const {
    sums[0] += loops_of_plane(links, bent, links.site(order, site_of_loop(order, n)), mu, nu, 0.0, 1.0);
  }
};

struct sum_traces {
  gauge_configuration::const_pointer links;
  site_order order;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n, int, double (&sums)[1]) const {
    const auto [parity, i] = site_of_loop(order, n);
    for (int mu = 0; mu < dimensions; ++mu) sums[0] += trace(links.load(parity, i, mu)).re;
  }
};

/// Sums over all sites of all ranks.
template <int Count, class Body>
std::vector<double> lattice_sums(const context& ctx, const Body& body) {
  std::vector<double> sums = host_sums<Count>(ctx, 2 * static_cast<std::int64_t>(ctx.order().sites), 1, body);
  ctx.comm().sum(std::span<double>(sums));
  return sums;
}

}  // namespace

plaquettes measure_plaquettes(const gauge_configuration& links) {
  const context& ctx = links.get_context();
  const links_with_ghosts around(links);
  const std::vector<double> sums = lattice_sums<2>(ctx, sum_planes{around.sites(), ctx.order()});
  const double planes = 3.0 * colours * static_cast<double>(ctx.geometry().global_volume());
  return {sums[0] / planes, sums[1] / planes, (sums[0] + sums[1]) / (2.0 * planes)};
}

double average_plaquette(const gauge_configuration& links) { return measure_plaquettes(links).average; }

double mean_rectangle(const gauge_configuration& links) {
  const context& ctx = links.get_context();
  const links_with_ghosts around(links);
  gauge_configuration bent(ctx);
  double total = 0.0;
  for (int mu = 0; mu < dimensions; ++mu)
    for (int nu = mu + 1; nu < dimensions; ++nu) {
      bend_links(bent, around, mu, nu);
      const links_with_ghosts bent_around(bent);
      total += lattice_sums<1>(ctx, sum_rectangles{around.sites(), bent_around.sites(), ctx.order(), mu, nu})[0];
    }
  return total / (12.0 * colours * static_cast<double>(ctx.geometry().global_volume()));
}

double link_trace(const gauge_configuration& links) {
  const context& ctx = links.get_context();
  const std::vector<double> sums = lattice_sums<1>(ctx, sum_traces{links.sites(), ctx.order()});
  return sums[0] / (1.0 * dimensions * colours * static_cast<double>(ctx.geometry().global_volume()));
}

}  // namespace plaquette::gpu
