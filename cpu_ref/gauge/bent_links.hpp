// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The bent links of a plane (common/gauge/force.hpp) of the canonical field.
#pragma once

#include "common/gauge/force.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/gauge/link_reader.hpp"

namespace plaquette::cpu {

/// Makes the bent links of a plane, four matrices a site, with their ghosts. Collective.
inline void bend_links(gauge_configuration& bent, const gauge_configuration& links, int mu, int nu,
                       const communicator& comm) {
  stop_point();
  for_each_site(links.geometry(), [&](const coordinate& x) {
    for (int which = 0; which < 4; ++which) bent(x)[which] = bent_link(link_reader{links}, x, mu, nu, which);
  });
  exchange_ghosts(bent, comm);
}

}  // namespace plaquette::cpu
