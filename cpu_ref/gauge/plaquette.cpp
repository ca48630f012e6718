// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/plaquette.hpp"

#include "common/gauge/staples.hpp"
#include "common/lattice/ghosts.hpp"
#include "cpu_ref/fields/stoppable_sites.hpp"
#include "cpu_ref/gauge/bent_links.hpp"
#include "cpu_ref/gauge/link_reader.hpp"

namespace plaquette::cpu {

plaquettes measure_plaquettes(const gauge_configuration& links, const communicator& comm) {
  require_current_ghosts(links, comm, "measure_plaquettes");
  const lattice_geometry& geometry = links.geometry();
  const auto [spatial, temporal] = sum_over_sites_stoppably<2>(geometry, comm, [&](const coordinate& x) {
    double sums[2]{};
    add_plaquettes(link_reader{links}, x, sums);
    return std::array{sums[0], sums[1]};
  });
  const double planes = 3.0 * colours * static_cast<double>(geometry.global_volume());
  return {spatial / planes, temporal / planes, (spatial + temporal) / (2.0 * planes)};
}

double average_plaquette(const gauge_configuration& links, const communicator& comm) {
  return measure_plaquettes(links, comm).average;
}

double mean_rectangle(const gauge_configuration& links, const communicator& comm) {
  require_current_ghosts(links, comm, "mean_rectangle");
  const lattice_geometry& geometry = links.geometry();
  gauge_configuration bent(geometry);
  double total = 0.0;
  for (int mu = 0; mu < dimensions; ++mu)
    for (int nu = mu + 1; nu < dimensions; ++nu) {
      bend_links(bent, links, mu, nu, comm);
      const auto [sum] = sum_over_sites_stoppably<1>(geometry, comm, [&](const coordinate& x) {
        return std::array{loops_of_plane(link_reader{links}, link_reader{bent}, x, mu, nu, 0.0, 1.0)};
      });
      total += sum;
    }
  return total / (12.0 * colours * static_cast<double>(geometry.global_volume()));
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
