// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gauge/plaquette.hpp"

#include <span>

#include "gpu/fields/host_sums.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/gauge/links_with_ghosts.hpp"

namespace plaquette::gpu {
namespace {

/// Re tr a b^+
PLAQUETTE_HOST_DEVICE inline double real_trace_with_adjoint(const su3<double>& a, const su3<double>& b) {
  double sum = 0.0;
  PLAQUETTE_GPU_UNROLL
  for (int k = 0; k < colours * colours; ++k) {
    const complex<double> x = a(k / colours, k % colours), y = b(k / colours, k % colours);
    sum += x.re * y.re + x.im * y.im;
  }
  return sum;
}

/// Re tr P summed over the planes of a site: those of space, those with time.
struct sum_planes {
  ghosted_links links;
  site_order order;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n, int, double (&sums)[2]) const {
    const auto [own_parity, own_i] = site_of_loop(order, n);
    const site_order& box = links.box.order;
    const site_coordinate at = links.box.coordinate_of(order.coordinate_of(own_parity, own_i));
    const int parity = links.box.parity_of(own_parity);
    const std::int32_t i = box.index(at);
    // Not unrolled: the six planes' code would be six times as long and no faster.
#pragma unroll 1
    for (int mu = 0; mu < dimensions; ++mu)
#pragma unroll 1
      for (int nu = mu + 1; nu < dimensions; ++nu) {
        const std::int32_t i_mu = box.index(moved(box, at, mu, +1)), i_nu = box.index(moved(box, at, nu, +1));
        const su3<double> there = links.at.load(parity, i, mu) * links.at.load(1 - parity, i_mu, nu);
        const su3<double> here = links.at.load(parity, i, nu) * links.at.load(1 - parity, i_nu, mu);
        const double trace = real_trace_with_adjoint(there, here);
        sums[0] += nu == 3 ? 0.0 : trace;
        sums[1] += nu == 3 ? trace : 0.0;
      }
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

double link_trace(const gauge_configuration& links) {
  const context& ctx = links.get_context();
  const std::vector<double> sums = lattice_sums<1>(ctx, sum_traces{links.sites(), ctx.order()});
  return sums[0] / (1.0 * dimensions * colours * static_cast<double>(ctx.geometry().global_volume()));
}

}  // namespace plaquette::gpu
