// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gauge/momenta.hpp"

#include <cmath>
#include <span>
#include <vector>

#include "common/error.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/host_maximum.hpp"
#include "gpu/fields/host_sums.hpp"
#include "gpu/fields/lattice_sites.hpp"

namespace plaquette::gpu {
namespace {

/// The momenta of a site, from its stream.
struct draw_momenta {
  gauge_momenta::pointer to;
  site_order order;
  global_order whole;
  std::uint64_t seed, index;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    random_stream random = momentum_stream(seed, index, whole.index(order.coordinate_of(parity, i)));
    for (int mu = 0; mu < dimensions; ++mu) to.store(parity, i, mu, gaussian_momentum(random));
  }
};

struct sum_kinetic_energies {
  gauge_momenta::const_pointer momenta;
  site_order order;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n, int, double (&sums)[1]) const {
    const auto [parity, i] = site_of_loop(order, n);
    for (int mu = 0; mu < dimensions; ++mu) sums[0] += plaquette::kinetic_energy(momenta.load(parity, i, mu));
  }
};

struct sum_kinetic_differences {
  gauge_momenta::const_pointer after, before;
  site_order order;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n, int, double (&sums)[1]) const {
    const auto [parity, i] = site_of_loop(order, n);
    for (int mu = 0; mu < dimensions; ++mu)
      sums[0] += plaquette::kinetic_energy_difference(after.load(parity, i, mu), before.load(parity, i, mu));
  }
};

/// The largest -tr F^2 of a site's links.
struct largest_energy {
  gauge_momenta::const_pointer momenta;
  site_order order;

  PLAQUETTE_HOST_DEVICE double operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    double largest = 0.0;
    for (int mu = 0; mu < dimensions; ++mu)
      largest = larger(largest, plaquette::kinetic_energy(momenta.load(parity, i, mu)));
    return largest;
  }
};

std::int64_t sites_of(const context& ctx) { return 2 * static_cast<std::int64_t>(ctx.order().sites); }

template <class Body>
double lattice_sum(const context& ctx, const Body& body) {
  std::vector<double> sums = host_sums<1>(ctx, sites_of(ctx), 1, body);
  ctx.comm().sum(std::span<double>(sums));
  return sums[0];
}

}  // namespace

gauge_momenta random_momenta(const context& ctx, std::uint64_t seed, std::uint64_t index) {
  gauge_momenta momenta(ctx);
  refresh_momenta(momenta, seed, index);
  return momenta;
}

/// Writes 576 bytes a site; some 600 flops, and 16 logarithms and pairs of sine and cosine.
void refresh_momenta(gauge_momenta& momenta, std::uint64_t seed, std::uint64_t index) {
  const context& ctx = momenta.get_context();
  for_each_index(ctx.queue(), sites_of(ctx),
                 draw_momenta{momenta.sites(), ctx.order(), global_order(ctx.geometry()), seed, index}, 128);
}

double kinetic_energy(const gauge_momenta& momenta) {
  const context& ctx = momenta.get_context();
  return lattice_sum(ctx, sum_kinetic_energies{momenta.sites(), ctx.order()});
}

double kinetic_energy_difference(const gauge_momenta& after, const gauge_momenta& before) {
  const context& ctx = after.get_context();
  if (!(ctx.geometry() == before.get_context().geometry()))
    throw input_error("the kinetic energies of two lattices have no difference: " + to_string(ctx.geometry().global()) +
                      " and " + to_string(before.get_context().geometry().global()));
  return lattice_sum(ctx, sum_kinetic_differences{after.sites(), before.sites(), ctx.order()});
}

force_size size_of_force(const gauge_momenta& force) {
  const context& ctx = force.get_context();
  const double links = dimensions * static_cast<double>(ctx.geometry().global_volume());
  const double largest = host_maximum(ctx, sites_of(ctx), largest_energy{force.sites(), ctx.order()});
  return {std::sqrt(2.0 * kinetic_energy(force) / links), std::sqrt(2.0 * largest)};
}

}  // namespace plaquette::gpu
