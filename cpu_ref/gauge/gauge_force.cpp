// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/gauge_force.hpp"

#include <array>

#include "common/error.hpp"
#include "common/gauge/force.hpp"
#include "common/lattice/ghosts.hpp"
#include "common/lattice/same_lattice.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/gauge/bent_links.hpp"
#include "cpu_ref/gauge/link_reader.hpp"

// std::fma is an instruction if the machine has it, and else a call; the bits are the same. (A clone for
// "arch=haswell" would be taken by processors of that name alone.)
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define PLAQUETTE_FMA_WHERE_POSSIBLE __attribute__((target_clones("fma", "default"), flatten))
#else
#define PLAQUETTE_FMA_WHERE_POSSIBLE
#endif

namespace plaquette::cpu {
namespace {

void require_same_geometry(const gauge_configuration& momenta, const gauge_configuration& links) {
  require_same_lattice(momenta.geometry(), links.geometry(), "matrices", "links on ");
}

PLAQUETTE_FMA_WHERE_POSSIBLE
void move_links_of_site(site_links& links, const site_links& momenta, double step) {
  for (int mu = 0; mu < dimensions; ++mu) links[mu] = moved_link(links[mu], momenta[mu], step);
}

/// Adds factor TA(U S) of plaquettes and rectangles.
void add_loop_forces(gauge_momenta& momenta, const gauge_configuration& links, const loop_action& action, double factor,
                     const communicator& comm) {
  const lattice_geometry& geometry = links.geometry();
  gauge_configuration bent(geometry);
  for (int mu = 0; mu < dimensions; ++mu)
    for (int nu = mu + 1; nu < dimensions; ++nu) {
      bend_links(bent, links, mu, nu, comm);
      for_each_site(geometry, [&](const coordinate& x) {
        for (const bool first : {true, false})
          momenta(x)[first ? mu : nu] +=
              factor * loop_force_of_plane(link_reader{links}, link_reader{bent}, x, mu, nu, first,
                                           action.plaquette_weight(mu, nu), action.c1);
      });
    }
}

}  // namespace

void add_gauge_force(gauge_momenta& momenta, const gauge_configuration& links, const loop_action& action, double step,
                     const communicator& comm) {
  require_usable(action);
  require_same_geometry(momenta, links);
  require_current_ghosts(links, comm, "add_gauge_force");
  stop_point();
  const double factor = -step * action.beta / 6.0;
  if (action.c1 != 0.0) return add_loop_forces(momenta, links, action, factor, comm);
  for_each_site(links.geometry(), [&](const coordinate& x) {
    for (int mu = 0; mu < dimensions; ++mu)
      momenta(x)[mu] +=
          factor * plaquette_force(link_reader{links}, x, mu, [&](int nu) { return action.plaquette_weight(mu, nu); });
  });
}

double action_difference(const gauge_configuration& after, const gauge_configuration& before, const loop_action& action,
                         const communicator& comm) {
  require_usable(action);
  require_same_geometry(after, before);
  require_current_ghosts(after, comm, "action_difference");
  require_current_ghosts(before, comm, "action_difference");
  const lattice_geometry& geometry = after.geometry();
  const bool rectangles = action.c1 != 0.0;
  gauge_configuration bent_after(rectangles ? geometry : lattice_geometry({2, 2, 2, 2})), bent_before = bent_after;
  double difference = 0.0;
  for (int mu = 0; mu < dimensions; ++mu)
    for (int nu = mu + 1; nu < dimensions; ++nu) {
      if (rectangles) {
        bend_links(bent_after, after, mu, nu, comm);
        bend_links(bent_before, before, mu, nu, comm);
      }
      const double weight = action.plaquette_weight(mu, nu);
      const auto [sum] = sum_over_sites<1>(geometry, comm, [&](const coordinate& x) {
        const auto loops = [&](const auto& links, const auto& bent) {
          return loops_of_plane(link_reader{links}, link_reader{bent}, x, mu, nu, weight, action.c1);
        };
        return std::array{loops(before, bent_before) - loops(after, bent_after)};
      });
      difference += sum;
    }
  return action.beta / colours * difference;
}

void move_links(gauge_configuration& links, const gauge_momenta& momenta, double step, const communicator& comm) {
  require_same_geometry(momenta, links);
  stop_point();
  for_each_site(links.geometry(), [&](const coordinate& x) { move_links_of_site(links(x), momenta(x), step); });
  exchange_ghosts(links, comm);
}

}  // namespace plaquette::cpu
