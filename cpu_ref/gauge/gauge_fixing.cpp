// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/gauge_fixing.hpp"

#include <array>
#include <utility>

#include "common/gauge/gauge_fixing.hpp"
#include "common/lattice/ghosts.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/fields/stoppable_sites.hpp"
#include "cpu_ref/gauge/link_reader.hpp"

namespace plaquette::cpu {
namespace {

/// The matrices of a transformation as common/gauge reads them.
struct transformation_reader {
  const gauge_transformation& g;
  const su3<double>& operator()(const coordinate& x, int) const { return g(x); }
};

void sweep(gauge_transformation& g, const gauge_configuration& links, int directions, double omega,
           const communicator& comm) {
  for (int wanted = 0; wanted < 2; ++wanted) {
    stop_point();
    for_each_site_stoppably(links.geometry(), [&](const coordinate& x) {
      if (parity(x) == wanted)
        g(x) = better_transformation(link_reader{links}, transformation_reader{g}, x, directions, omega);
    });
    exchange_ghosts(g, comm);
  }
}

gauge_quality quality_of(const gauge_configuration& links, const gauge_transformation& g, int directions,
                         const communicator& comm) {
  const auto [trace_sum, squares] = sum_over_sites_stoppably<2>(links.geometry(), comm, [&](const coordinate& x) {
    double sums[2]{};
    add_gauge_quality(link_reader{links}, transformation_reader{g}, x, directions, sums);
    return std::array{sums[0], sums[1]};
  });
  return quality_of_sums(trace_sum, squares, directions, links.geometry().global_volume());
}

gauge_transformation no_transformation(const lattice_geometry& geometry, const communicator& comm) {
  gauge_transformation g(geometry);
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) g.at_site(site) = su3<double>::identity();
  exchange_ghosts(g, comm);
  return g;
}

void take_back(gauge_configuration& links, const communicator& comm) {
  for_each_site(links.geometry(), [&](const coordinate& x) {
    for (su3<double>& link : links(x)) link = taken_back(link);
  });
  exchange_ghosts(links, comm);
}

}  // namespace

gauge_quality measure_gauge(const gauge_configuration& links, gauge_condition condition, const communicator& comm) {
  require_current_ghosts(links, comm, "measure_gauge");
  return quality_of(links, no_transformation(links.geometry(), comm), directions_of(condition), comm);
}

fixed_gauge gauge_fixed(const gauge_configuration& links, gauge_condition condition, const gauge_fixing_rule& rule,
                        const communicator& comm) {
  require_usable(rule);
  require_current_ghosts(links, comm, "gauge_fixed");
  const int directions = directions_of(condition);
  gauge_transformation g = no_transformation(links.geometry(), comm);
  const int sweeps = fix_by_sweeps(
      rule, [&] { sweep(g, links, directions, rule.overrelaxation, comm); },
      [&] { return quality_of(links, g, directions, comm); });
  gauge_configuration fixed = transformed(links, g, comm);
  take_back(fixed, comm);
  const gauge_quality quality = measure_gauge(fixed, condition, comm);
  return {std::move(g), std::move(fixed), quality, sweeps, quality.theta <= rule.tolerance};
}

}  // namespace plaquette::cpu
