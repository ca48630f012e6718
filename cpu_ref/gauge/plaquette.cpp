// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/plaquette.hpp"

#include "common/lattice/ghosts.hpp"
#include "cpu_ref/fields/stoppable_sites.hpp"

namespace plaquette::cpu {
namespace {

/// Re tr a b^+
double real_trace_with_adjoint(const su3<double>& a, const su3<double>& b) {
  double sum = 0.0;
  for (int i = 0; i < colours; ++i)
    for (int j = 0; j < colours; ++j) sum += a(i, j).re * b(i, j).re + a(i, j).im * b(i, j).im;
  return sum;
}

/// Re tr P_munu(x)
double plaquette_trace(const gauge_configuration& links, const coordinate& x, int mu, int nu) {
  const su3<double> there = links(x)[mu] * links(shifted(x, mu, +1))[nu];
  const su3<double> here = links(x)[nu] * links(shifted(x, nu, +1))[mu];
  return real_trace_with_adjoint(there, here);
}

}  // namespace

plaquettes measure_plaquettes(const gauge_configuration& links, const communicator& comm) {
  require_current_ghosts(links, comm, "measure_plaquettes");
  const lattice_geometry& geometry = links.geometry();
  const auto [spatial, temporal] = sum_over_sites_stoppably<2>(geometry, comm, [&](const coordinate& x) {
    std::array<double, 2> sum{};
    for (int mu = 0; mu < dimensions; ++mu)
      for (int nu = mu + 1; nu < dimensions; ++nu) sum[nu == 3] += plaquette_trace(links, x, mu, nu);
    return sum;
  });
  const double planes = 3.0 * colours * static_cast<double>(geometry.global_volume());
  return {spatial / planes, temporal / planes, (spatial + temporal) / (2.0 * planes)};
}

double average_plaquette(const gauge_configuration& links, const communicator& comm) {
  return measure_plaquettes(links, comm).average;
}

double link_trace(const gauge_configuration& links, const communicator& comm) {
  const lattice_geometry& geometry = links.geometry();
  const auto [sum] = sum_over_sites_stoppably<1>(geometry, comm, [&](const coordinate& x) {
    std::array<double, 1> traces{};
    for (const su3<double>& u : links(x)) traces[0] += trace(u).re;
    return traces;
  });
  return sum / (1.0 * dimensions * colours * static_cast<double>(geometry.global_volume()));
}

}  // namespace plaquette::cpu
