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
#include "gpu/gauge/passed_forces.hpp"
#include "gpu/gauge/tile_launch.hpp"

namespace plaquette::gpu {
namespace {

void require_same_geometry(const gauge_configuration& momenta, const gauge_configuration& links) {
  require_same_lattice(momenta.get_context().geometry(), links.get_context().geometry(), "matrices", "links on ");
}

struct add_plaquette_force {
  gauge_momenta::pointer momenta;
  ghosted_links links;
  site_order order;
  site_tiles tiles;
  plane_weights weights[dimensions];
  double factor;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n, int mu) const {
    const site_coordinate local = tiles.site(n);
    const int parity = parity_of(local);
    const std::int32_t i = order.index(local);
    const su3<double> change = factor * plaquette_force(links, links.site(local), mu, weights[mu]);
    momenta.store(parity, i, mu, momenta.load(parity, i, mu) + change);
  }
};

constexpr int planes_at_once = 3;  ///< whose loops are in memory
using loops_pointer = traceless_pointer<planes_at_once * plane_loops>;

/// The loops of a range of planes of one site.
struct make_loops {
  loops_pointer to;
  ghosted_links links;
  site_tiles tiles;
  int first_plane;
  double plaquette_weight[planes], rectangle_weight;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const box_site x = links.site(tiles.site(n));
    PLAQUETTE_ROLLED
    for (int k = 0; k < planes_at_once; ++k) {
      const int plane = first_plane + k;
      make_plane_loops(links, x, first_of_plane(plane), second_of_plane(plane), plaquette_weight[plane],
                       rectangle_weight, [&](plane_loop which, const antihermitian& loop) {
                         to.store(x, k * plane_loops + static_cast<int>(which), loop);
                       });
    }
  }
};

/// The forces of the loops of a plaquette, as add_forces_of_plaquettes takes them.
struct forces_of_loops {
  static constexpr int blocks_of_a_multiprocessor = 3;

  ghosted_links links;
  loops_pointer loops;
  int first_plane;

  PLAQUETTE_HOST_DEVICE forces_of_plaquette operator()(const box_site& x, int mu, int nu) const {
    const int first = (plane_number(mu, nu) - first_plane) * plane_loops;
    return loop_forces_of_plaquette(
        links, [&](const box_site& at, plane_loop which) { return loops.load(at, first + static_cast<int>(which)); }, x,
        mu, nu);
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

/// Adds factor TA(U S) of plaquettes and rectangles. A plane of a site: nine products of matrices, four halves of
/// products, and four matrices carried along links, 1.9 kFMA of real numbers: 22 kflops a site in all. Fewest bytes a
/// site: links 1152, loops written and read 3840, momenta read and written 3168, forces passed on 1536.
void add_loop_forces(gauge_momenta& momenta, const gauge_configuration& links, const links_with_ghosts& around,
                     const loop_action& action, double factor) {
  const context& ctx = links.get_context();
  const box_with_ghosts box(ctx.geometry());
  const traceless_matrices<planes_at_once * plane_loops> loops(ctx, box);
  const traceless_matrices<2 * planes> passed(ctx, box);
  make_loops make{loops.sites(), around.sites(), site_tiles::of_lattice(ctx.order()), 0, {}, action.c1};
  for (int plane = 0; plane < planes; ++plane)
    make.plaquette_weight[plane] = action.plaquette_weight(first_of_plane(plane), second_of_plane(plane));
  for (int first = 0; first < planes; first += planes_at_once) {
    make.first_plane = first;
    for_each_tiled_site(ctx.queue(), ctx.order(), make);
    constexpr int chunks = planes_at_once * plane_loops * traceless_chunks;
    ghost_exchange(ctx, box)({loops.sites().begin, chunks}, {.first = 0, .count = chunks});
    add_own_forces(momenta, passed, forces_of_loops{around.sites(), loops.sites(), first}, first,
                   first + planes_at_once - 1, factor);
  }
  add_forces_passed_on(momenta, passed, box, factor);
}

}  // namespace

void add_gauge_force(gauge_momenta& momenta, const gauge_configuration& links, const loop_action& action, double step) {
  require_usable(action);
  require_same_geometry(momenta, links);
  const context& ctx = links.get_context();
  const links_with_ghosts around(links);
  const double factor = -step * action.beta / 6.0;
  if (action.c1 != 0.0) return add_loop_forces(momenta, links, around, action, factor);
  const auto weights = [&](int mu) {
    return plane_weights(mu, [&](int a, int b) { return action.plaquette_weight(a, b); });
  };
  for_each_tiled_link(ctx.queue(), ctx.order(),
                      add_plaquette_force{momenta.sites(),
                                          around.sites(),
                                          ctx.order(),
                                          site_tiles::of_lattice(ctx.order()),
                                          {weights(0), weights(1), weights(2), weights(3)},
                                          factor});
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
