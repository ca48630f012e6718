// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gauge/gauge_force.hpp"

#include <span>
#include <vector>

#include "common/error.hpp"
#include "common/gauge/force.hpp"
#include "common/lattice/same_lattice.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/host_sums.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/gauge/bent_links.hpp"
#include "gpu/gauge/tile_launch.hpp"

namespace plaquette::gpu {
namespace {

void require_same_geometry(const gauge_configuration& momenta, const gauge_configuration& links) {
  require_same_lattice(momenta.get_context().geometry(), links.get_context().geometry(), "matrices", "links on ");
}

/// One link of direction mu.
struct add_plaquette_force {
  gauge_momenta::pointer momenta;
  ghosted_links links;
  site_order order;
  site_tiles tiles;
  int mu;
  plane_weights weight;
  double factor;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const site_coordinate local = tiles.site(n);
    const int parity = parity_of(local);
    const std::int32_t i = order.index(local);
    const su3<double> change = factor * plaquette_force(links, links.site(local), mu, weight);
    momenta.store(parity, i, mu, momenta.load(parity, i, mu) + change);
  }
};

/// The two links of a site in a plane.
struct add_loop_force {
  gauge_momenta::pointer momenta;
  ghosted_links links, bent;
  site_order order;
  site_tiles tiles;
  int mu, nu;
  double plaquette_weight, rectangle_weight;  ///< times what multiplies TA(U S)

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const site_coordinate local = tiles.site(n);
    const box_site x = links.site(local);
    const int parity = parity_of(local);
    const std::int32_t i = order.index(local);
    PLAQUETTE_ROLLED
    for (int link = 0; link < 2; ++link) {
      const int direction = link == 0 ? mu : nu;
      const su3<double> change =
          loop_force_of_plane(links, bent, x, mu, nu, link == 0, plaquette_weight, rectangle_weight);
      momenta.store(parity, i, direction, momenta.load(parity, i, direction) + change);
    }
  }
};

/// The loops of a plane, before less after.
struct sum_loop_differences {
  ghosted_links after, before, bent_after, bent_before;
  site_order order;
  int mu, nu;
  double plaquette_weight, rectangle_weight;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n, int, double (&sums)[1]) const {
    const box_site x = after.site(order, site_of_loop(order, n));
    sums[0] += loops_of_plane(before, bent_before, x, mu, nu, plaquette_weight, rectangle_weight) -
               loops_of_plane(after, bent_after, x, mu, nu, plaquette_weight, rectangle_weight);
  }
};

struct move_link {
  gauge_configuration::pointer links;
  gauge_momenta::const_pointer momenta;
  site_order order;
  int mu;
  double step;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    links.store(parity, i, mu, moved_link(links.load(parity, i, mu), momenta.load(parity, i, mu), step));
  }
};

template <class Body>
void for_each_site(const context& ctx, const Body& body) {
  for_each_index(ctx.queue(), 2 * static_cast<std::int64_t>(ctx.order().sites), body, 128);
}

/// Adds factor TA(U S) of plaquettes and rectangles. A plane: 8 products of matrices a site to bend its links and 22 to
/// use them, with sums 38 kflops a site in all. Fewest bytes, plane by plane: 864 to bend; links and bent links 864,
/// momenta read and written 576, so 13.8 kB in all. From the L2 cache a plane's tile takes some 22 matrices a site, 19
/// kB in all; without tiles, and with plaquettes for themselves, it was 52 kB.
void add_loop_forces(gauge_momenta& momenta, const gauge_configuration& links, const links_with_ghosts& around,
                     const loop_action& action, double factor) {
  const context& ctx = links.get_context();
  gauge_configuration bent(ctx);
  for (int mu = 0; mu < dimensions; ++mu)
    for (int nu = mu + 1; nu < dimensions; ++nu) {
      bend_links(bent, around, mu, nu);
      const links_with_ghosts bent_around(bent);
      for_each_tiled_site(ctx.queue(), ctx.order(),
                          add_loop_force{momenta.sites(), around.sites(), bent_around.sites(), ctx.order(),
                                         site_tiles::of_plane(ctx.order(), mu, nu), mu, nu,
                                         factor * action.plaquette_weight(mu, nu), factor * action.c1});
    }
}

}  // namespace

void add_gauge_force(gauge_momenta& momenta, const gauge_configuration& links, const loop_action& action, double step) {
  require_usable(action);
  require_same_geometry(momenta, links);
  const context& ctx = links.get_context();
  const links_with_ghosts around(links);
  const double factor = -step * action.beta / 6.0;
  if (action.c1 != 0.0) return add_loop_forces(momenta, links, around, action, factor);
  const site_tiles tiles = site_tiles::of_lattice(ctx.order());
  for (int mu = 0; mu < dimensions; ++mu)
    for_each_tiled_site(
        ctx.queue(), ctx.order(),
        add_plaquette_force{momenta.sites(), around.sites(), ctx.order(), tiles, mu,
                            plane_weights(mu, [&](int a, int b) { return action.plaquette_weight(a, b); }), factor});
}

double action_difference(const gauge_configuration& after, const gauge_configuration& before,
                         const loop_action& action) {
  require_usable(action);
  require_same_geometry(after, before);
  const context& ctx = after.get_context();
  const links_with_ghosts around_after(after), around_before(before);
  std::vector<double> sums{0.0};
  const auto add = [&](int mu, int nu, const ghosted_links& bent_after, const ghosted_links& bent_before) {
    sums[0] += host_sums<1>(ctx, 2 * static_cast<std::int64_t>(ctx.order().sites), 1,
                            sum_loop_differences{around_after.sites(), around_before.sites(), bent_after, bent_before,
                                                 ctx.order(), mu, nu, action.plaquette_weight(mu, nu), action.c1})[0];
  };
  for (int mu = 0; mu < dimensions; ++mu)
    for (int nu = mu + 1; nu < dimensions; ++nu) {
      if (action.c1 == 0.0) {
        add(mu, nu, around_after.sites(), around_before.sites());
        continue;
      }
      gauge_configuration bent_after(ctx), bent_before(ctx);
      bend_links(bent_after, around_after, mu, nu);
      bend_links(bent_before, around_before, mu, nu);
      const links_with_ghosts bent_around_after(bent_after), bent_around_before(bent_before);
      add(mu, nu, bent_around_after.sites(), bent_around_before.sites());
    }
  ctx.comm().sum(std::span<double>(sums));
  return action.beta / colours * sums[0];
}

void move_links(gauge_configuration& links, const gauge_momenta& momenta, double step) {
  require_same_geometry(momenta, links);
  const context& ctx = links.get_context();
  for (int mu = 0; mu < dimensions; ++mu)
    for_each_site(ctx, move_link{links.sites(), momenta.sites(), ctx.order(), mu, step});
}

}  // namespace plaquette::gpu
