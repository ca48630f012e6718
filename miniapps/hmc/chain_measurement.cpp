// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/hmc/chain_measurement.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "common/algebra/su3.hpp"
#include "common/stopwatch.hpp"
#include "cpu_ref/gauge/gradient_flow.hpp"
#include "cpu_ref/gauge/plaquette.hpp"

namespace plaquette {

complex<double> polyakov_loop(const gauge_configuration& links, const communicator& comm) {
  constexpr std::size_t reals = 18;
  const lattice_geometry& geometry = links.geometry();
  const extents global = geometry.global();
  const std::int64_t space = volume(global) / global[3];
  std::vector<su3<double>> product(static_cast<std::size_t>(space), su3<double>::identity());
  std::vector<double> slice(product.size() * reals);
  // Each link of a slice in time has one owner, so that the sum over ranks adds zeros.
  for (int t = 0; t < global[3]; ++t) {
    std::ranges::fill(slice, 0.0);
    for (std::int64_t n = 0; n < space; ++n) {
      coordinate here;
      if (!geometry.holds(coordinate_of(n + t * space, global), here)) continue;
      const su3<double>& u = links(here)[3];
      double* to = slice.data() + reals * static_cast<std::size_t>(n);
      for (int a = 0; a < colours; ++a)
        for (int b = 0; b < colours; ++b) {
          *to++ = u(a, b).re;
          *to++ = u(a, b).im;
        }
    }
    comm.sum(slice);
    for (std::size_t n = 0; n < product.size(); ++n) {
      su3<double> u{};
      const double* from = slice.data() + reals * n;
      for (int a = 0; a < colours; ++a)
        for (int b = 0; b < colours; ++b, from += 2) u(a, b) = {from[0], from[1]};
      product[n] = product[n] * u;
    }
  }
  complex<double> sum{};
  for (const su3<double>& p : product) sum += trace(p);
  return (1.0 / (3.0 * static_cast<double>(space))) * sum;
}

double flow_time_of(const extents& lattice) {
  const double radius = *std::ranges::min_element(lattice) / 3.0;
  return radius * radius / 8.0;
}

namespace {

std::vector<flow_measurement> flow_of(const gauge_configuration& links, double time, const library& on) {
  constexpr double step = 0.02;
  if (on.is_gpu()) return on.import_links(links)->flowed(time, step).history;
  cpu::gradient_flow flow(links, on.comm());
  return flow_history(flow, time, step);
}

}  // namespace

chain_measurement measure_chain(const gauge_configuration& links, double flow_time, const library& on) {
  const communicator& comm = on.comm();
  comm.barrier();
  const stopwatch watch;
  chain_measurement found;
  const plaquettes p = cpu::measure_plaquettes(links, comm);
  found.spatial = p.spatial;
  found.temporal = p.temporal;
  found.rectangle = cpu::mean_rectangle(links, comm);
  found.polyakov = polyakov_loop(links, comm);
  const std::vector<flow_measurement> history = flow_of(links, flow_time, on);
  const double t0 = reference_time(history);
  found.t0 = std::isnan(t0) ? 0.0 : t0;
  found.charge = history.back().charge;
  found.seconds = watch.seconds();
  comm.maximum({&found.seconds, 1});
  return found;
}

}  // namespace plaquette
