// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gauge/gradient_flow.hpp"

#include <span>
#include <vector>

#include "common/gauge/field_strength.hpp"
#include "common/gauge/smearing.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/host_sums.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/gauge/links_with_ghosts.hpp"

namespace plaquette::gpu {
namespace {

std::int64_t sites_of(const context& ctx) { return 2 * static_cast<std::int64_t>(ctx.order().sites); }

/// The exponent of one link of direction mu.
struct next_exponent {
  gauge_configuration::pointer exponents;
  ghosted_links links;
  site_order order;
  int mu;
  double step;
  flow_stage stage;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const site_number own = site_of_loop(order, n);
    exponents.store(
        own.parity, own.index, mu,
        flow_exponent(links, links.site(order, own), mu, step, stage, exponents.load(own.parity, own.index, mu)));
  }
};

/// One link of direction mu.
struct move_along_exponent {
  gauge_configuration::pointer links;
  gauge_configuration::const_pointer exponents;
  site_order order;
  int mu;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    links.store(parity, i, mu, link_moved_along(exponents.load(parity, i, mu), links.load(parity, i, mu)));
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
    : links_(copy_of(links)), exponents_(links.get_context()) {
  // The first stage takes zero times the numbers that stand there.
  fill_bytes(links.get_context().queue(), exponents_.sites().begin, 0,
             static_cast<std::size_t>(2 * exponents_.parity_bytes()));
}

void gradient_flow::advance(double step) {
  require_usable_flow_step(step);
  const context& ctx = links_.get_context();
  const gauge_configuration& exponents = exponents_;
  for (const flow_stage& stage : flow_stages) {
    const links_with_ghosts around(links_);
    for (int mu = 0; mu < dimensions; ++mu)
      for_each_index(ctx.queue(), sites_of(ctx),
                     next_exponent{exponents_.sites(), around.sites(), ctx.order(), mu, step, stage}, 128);
    for (int mu = 0; mu < dimensions; ++mu)
      for_each_index(ctx.queue(), sites_of(ctx),
                     move_along_exponent{links_.sites(), exponents.sites(), ctx.order(), mu}, 128);
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
