// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/link_smearing.hpp"

#include <array>
#include <utility>

#include "common/gauge/blocking.hpp"
#include "common/lattice/ghosts.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/fields/stoppable_sites.hpp"
#include "cpu_ref/gauge/link_reader.hpp"

namespace plaquette::cpu {
namespace {

using paired_links = site_field<std::array<su3<double>, direction_pairs>>;

/// make(x, mu, nu) for each pair of different directions, ghosts filled.
template <class Make>
void make_pairs(paired_links& pairs, const communicator& comm, Make&& make) {
  stop_point();
  for_each_site_stoppably(pairs.geometry(), [&](const coordinate& x) {
    for (int mu = 0; mu < dimensions; ++mu)
      for (int nu = 0; nu < dimensions; ++nu)
        if (nu != mu) pairs(x)[direction_pair(mu, nu)] = make(x, mu, nu);
  });
  exchange_ghosts(pairs, comm);
}

gauge_configuration hyp_step(const gauge_configuration& links, const hyp_smearing& s, const communicator& comm) {
  stop_point();
  const link_reader u{links};
  paired_links inner(links.geometry()), middle(links.geometry());
  make_pairs(inner, comm,
             [&](const coordinate& x, int mu, int eta) { return hyp_inner_link(u, x, mu, eta, s.alpha_3); });
  make_pairs(middle, comm, [&](const coordinate& x, int mu, int nu) {
    return hyp_middle_link(u, link_reader{inner}, x, mu, nu, s.alpha_2);
  });
  gauge_configuration next(links.geometry());
  for_each_site_stoppably(links.geometry(), [&](const coordinate& x) {
    for (int mu = 0; mu < dimensions; ++mu) next(x)[mu] = hyp_smeared_link(u, link_reader{middle}, x, mu, s.alpha_1);
  });
  exchange_ghosts(next, comm);
  return next;
}

}  // namespace

gauge_configuration ape_smeared(const gauge_configuration& links, const ape_smearing& smearing,
                                const communicator& comm) {
  require_usable(smearing);
  require_current_ghosts(links, comm, "ape_smeared");
  gauge_configuration now = links, next = links;
  for (int step = 0; step < smearing.steps; ++step) {
    stop_point();
    for_each_site_stoppably(links.geometry(), [&](const coordinate& x) {
      for (int mu = 0; mu < smearing.directions(); ++mu)
        next(x)[mu] = ape_smeared_link(link_reader{now}, x, mu, smearing.alpha, smearing.directions());
    });
    exchange_ghosts(next, comm);
    std::swap(now, next);
  }
  return now;
}

gauge_configuration hyp_smeared(const gauge_configuration& links, const hyp_smearing& smearing,
                                const communicator& comm) {
  require_usable(smearing);
  require_current_ghosts(links, comm, "hyp_smeared");
  gauge_configuration now = links;
  for (int step = 0; step < smearing.steps; ++step) now = hyp_step(now, smearing, comm);
  return now;
}

}  // namespace plaquette::cpu
