// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/heatbath_textbook.hpp"

#include <cmath>
#include <iterator>

#include "common/gauge/staples.hpp"
#include "common/gauge/subgroup_updates.hpp"
#include "common/random/su2_sampler.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/gauge/link_reader.hpp"

namespace plaquette::cpu::textbook {

namespace {

/// Multiplies U_mu(x), in each subgroup in turn, with choose(r, its number). Here Re tr(g U A) = Re tr(g r) + (terms
/// without g), and A are the weighted staples.
template <class Choose>
void update_link(gauge_configuration& links, const coordinate& x, int mu, const gauge_action& action, Choose&& choose) {
  su3<double> u = links(x)[mu];
  su3<double> u_staples =
      u * closing_staples(link_reader{links}, x, mu, [&](int nu) { return action.plane_weight(mu, nu); });
  update_in_subgroups(u, u_staples, choose);
  links(x)[mu] = reunitarised(u, [](double value) { return std::sqrt(value); });
}

/// Calls update(x, mu) for all links.
template <class Update>
void sweep(gauge_configuration& links, const communicator& comm, Update&& update) {
  for (int mu = 0; mu < dimensions; ++mu)
    for (const int wanted : {0, 1}) {
      stop_point();
      for_each_site(links.geometry(), [&](const coordinate& x) {
        if (parity(x) == wanted) update(x, mu);
      });
      exchange_ghosts(links, comm);
    }
}

void heatbath_sweep(gauge_configuration& links, const gauge_action& action, std::uint64_t seed,
                    std::uint64_t sweep_number, const communicator& comm) {
  sweep(links, comm, [&](const coordinate& x, int mu) {
    const std::uint64_t direction = sweep_number * dimensions + static_cast<std::uint64_t>(mu);
    const auto site = static_cast<std::uint64_t>(links.geometry().global_index(x));
    update_link(links, x, mu, action, [&](const quaternion<double>& r, int subgroup) {
      const std::uint64_t first = random_stream_id(random_purpose::heatbath, direction * std::size(su2_subgroups));
      random_stream random(seed, first + static_cast<std::uint64_t>(subgroup), site);
      return heatbath_element(r, action.beta, random);
    });
  });
}

void overrelaxation_sweep(gauge_configuration& links, const gauge_action& action, const communicator& comm) {
  sweep(links, comm, [&](const coordinate& x, int mu) {
    update_link(links, x, mu, action, [](const quaternion<double>& r, int) { return reflection(r); });
  });
}

}  // namespace

void combined_sweep(gauge_configuration& links, const gauge_action& action, const sweep_plan& plan, std::uint64_t seed,
                    std::uint64_t number, const communicator& comm) {
  for (int i = 0; i < plan.heatbath; ++i)
    heatbath_sweep(links, action, seed,
                   number * static_cast<std::uint64_t>(plan.heatbath) + static_cast<std::uint64_t>(i), comm);
  for (int i = 0; i < plan.overrelaxation; ++i) overrelaxation_sweep(links, action, comm);
}

}  // namespace plaquette::cpu::textbook
