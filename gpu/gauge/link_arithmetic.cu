// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>

#include "gpu/device/launch.hpp"
#include "gpu/gauge/box_with_ghosts.hpp"
#include "gpu/gauge/link_arithmetic.hpp"

namespace plaquette::gpu {
namespace {

/// All matrices of a site.
struct combine_site {
  gauge_configuration::pointer p;
  gauge_configuration::const_pointer f;
  site_order order;
  double a, b;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    for (int mu = 0; mu < dimensions; ++mu)
      p.store(parity, i, mu, a * p.load(parity, i, mu) + b * f.load(parity, i, mu));
  }
};

struct clear_site {
  gauge_configuration::pointer p;
  site_order order;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    for (int mu = 0; mu < dimensions; ++mu) p.store(parity, i, mu, su3<double>());
  }
};

struct reunitarise_site {
  gauge_configuration::pointer links;
  site_order order;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    for (int mu = 0; mu < dimensions; ++mu)
      links.store(parity, i, mu,
                  reunitarised(links.load(parity, i, mu), [](double number) { return std::sqrt(number); }));
  }
};

template <class Body>
void for_each_site(const context& ctx, const Body& body) {
  for_each_index(ctx.queue(), 2 * static_cast<std::int64_t>(ctx.order().sites), body, 128);
}

}  // namespace

void assign(gauge_configuration& to, const gauge_configuration& from) {
  copy_on_device(from.get_context().queue(), to.sites().begin, from.sites().begin,
                 static_cast<std::size_t>(2 * from.parity_bytes()));
}

void clear(gauge_configuration& matrices) {
  const context& ctx = matrices.get_context();
  for_each_site(ctx, clear_site{matrices.sites(), ctx.order()});
}

void combine(gauge_configuration& p, double a, const gauge_configuration& f, double b) {
  const context& ctx = p.get_context();
  for_each_site(ctx, combine_site{p.sites(), f.sites(), ctx.order(), a, b});
}

void reunitarise(gauge_configuration& links) {
  const context& ctx = links.get_context();
  for_each_site(ctx, reunitarise_site{links.sites(), ctx.order()});
}

}  // namespace plaquette::gpu
