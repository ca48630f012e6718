// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/gradient_flow.hpp"

#include <array>
#include <utility>

#include "common/gauge/field_strength.hpp"
#include "common/gauge/smearing.hpp"
#include "common/lattice/ghosts.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/fields/stoppable_sites.hpp"
#include "cpu_ref/gauge/link_reader.hpp"

namespace plaquette::cpu {

gradient_flow::gradient_flow(gauge_configuration links, const communicator& comm)
    : links_(std::move(links)), exponents_(links_.geometry()), comm_(comm) {
  require_current_ghosts(links_, comm_, "gradient_flow");
}

void gradient_flow::advance(double step) {
  require_usable_flow_step(step);
  for (const flow_stage& stage : flow_stages) {
    stop_point();
    for_each_site_stoppably(links_.geometry(), [&](const coordinate& x) {
      for (int mu = 0; mu < dimensions; ++mu)
        exponents_(x)[mu] = flow_exponent(flow_direction(link_reader{links_}, x, mu), step, stage, exponents_(x)[mu]);
    });
    for_each_site_stoppably(links_.geometry(), [&](const coordinate& x) {
      for (int mu = 0; mu < dimensions; ++mu) links_(x)[mu] = link_moved_along(exponents_(x)[mu], links_(x)[mu]);
    });
    exchange_ghosts(links_, comm_);
  }
  time_ += step;
}

flow_measurement measure_field_strength(const gauge_configuration& links, const communicator& comm) {
  require_current_ghosts(links, comm, "measure_field_strength");
  const auto [energy, charge] = sum_over_sites_stoppably<2>(links.geometry(), comm, [&](const coordinate& x) {
    double sums[2]{};
    add_field_strength(link_reader{links}, x, sums);
    return std::array{sums[0], sums[1]};
  });
  return measurement_of(energy, charge, links.geometry().global_volume());
}

}  // namespace plaquette::cpu
