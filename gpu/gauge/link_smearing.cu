// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gauge/link_smearing.hpp"

#include <utility>

#include "common/gauge/blocking.hpp"
#include "common/stop_point.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/gauge/links_with_ghosts.hpp"

namespace plaquette::gpu {
namespace {

using paired_links = matrix_field<direction_pairs>;
using ghosted_pairs = ghosted_matrices<direction_pairs, const std::byte>;

/// One link of direction mu.
struct ape_smear_link {
  gauge_configuration::pointer to;
  ghosted_links links;
  site_order order;
  int mu, directions;
  double alpha;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const site_number own = site_of_loop(order, n);
    to.store(own.parity, own.index, mu, ape_smeared_link(links, links.site(order, own), mu, alpha, directions));
  }
};

/// One link of a level for a pair of directions.
struct make_inner_link {
  paired_links::pointer to;
  ghosted_links links;
  site_order order;
  int mu, eta;
  double alpha;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const site_number own = site_of_loop(order, n);
    to.store(own.parity, own.index, direction_pair(mu, eta),
             hyp_inner_link(links, links.site(order, own), mu, eta, alpha));
  }
};

struct make_middle_link {
  paired_links::pointer to;
  ghosted_links links;
  ghosted_pairs inner;
  site_order order;
  int mu, nu;
  double alpha;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const site_number own = site_of_loop(order, n);
    to.store(own.parity, own.index, direction_pair(mu, nu),
             hyp_middle_link(links, inner, links.site(order, own), mu, nu, alpha));
  }
};

struct hyp_smear_link {
  gauge_configuration::pointer to;
  ghosted_links links;
  ghosted_pairs middle;
  site_order order;
  int mu;
  double alpha;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const site_number own = site_of_loop(order, n);
    to.store(own.parity, own.index, mu, hyp_smeared_link(links, middle, links.site(order, own), mu, alpha));
  }
};

template <class Body>
void for_each_site(const context& ctx, const Body& body) {
  for_each_index(ctx.queue(), 2 * static_cast<std::int64_t>(ctx.order().sites), body, 128);
}

/// visit(mu, nu) for each pair of different directions.
template <class Visit>
void for_each_pair(Visit&& visit) {
  for (int mu = 0; mu < dimensions; ++mu)
    for (int nu = 0; nu < dimensions; ++nu)
      if (nu != mu) visit(mu, nu);
}

void hyp_step(gauge_configuration& next, const gauge_configuration& links, const hyp_smearing& s) {
  const context& ctx = links.get_context();
  const site_order& order = ctx.order();
  const links_with_ghosts around(links);
  paired_links inner(ctx), middle(ctx);
  for_each_pair([&](int mu, int eta) {
    for_each_site(ctx, make_inner_link{inner.sites(), around.sites(), order, mu, eta, s.alpha_3});
  });
  const matrices_with_ghosts<direction_pairs> inner_around(inner);
  for_each_pair([&](int mu, int nu) {
    for_each_site(ctx,
                  make_middle_link{middle.sites(), around.sites(), inner_around.sites(), order, mu, nu, s.alpha_2});
  });
  const matrices_with_ghosts<direction_pairs> middle_around(middle);
  for (int mu = 0; mu < dimensions; ++mu)
    for_each_site(ctx, hyp_smear_link{next.sites(), around.sites(), middle_around.sites(), order, mu, s.alpha_1});
}

}  // namespace

gauge_configuration ape_smeared(const gauge_configuration& links, const ape_smearing& smearing) {
  require_usable(smearing);
  const context& ctx = links.get_context();
  gauge_configuration now = copy_of(links);
  if (smearing.steps == 0) return now;
  gauge_configuration next = copy_of(links);
  for (int step = 0; step < smearing.steps; ++step) {
    stop_point();
    const links_with_ghosts around(now);
    for (int mu = 0; mu < smearing.directions(); ++mu)
      for_each_site(
          ctx, ape_smear_link{next.sites(), around.sites(), ctx.order(), mu, smearing.directions(), smearing.alpha});
    std::swap(now, next);
  }
  return now;
}

gauge_configuration hyp_smeared(const gauge_configuration& links, const hyp_smearing& smearing) {
  require_usable(smearing);
  gauge_configuration now = copy_of(links);
  if (smearing.steps == 0) return now;
  gauge_configuration next(links.get_context());
  for (int step = 0; step < smearing.steps; ++step) {
    stop_point();
    hyp_step(next, now, smearing);
    std::swap(now, next);
  }
  return now;
}

}  // namespace plaquette::gpu
