// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The bent links of a plane (common/gauge/force.hpp) on the device. For .cu files only.
#pragma once

#include "common/gauge/force.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/gauge/links_with_ghosts.hpp"

namespace plaquette::gpu {

/// One bent link of a site.
struct bend_link {
  gauge_configuration::pointer bent;
  ghosted_links links;
  site_order order;
  int mu, nu, which;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const site_number own = site_of_loop(order, n);
    bent.store(own.parity, own.index, which, bent_link(links, links.site(order, own), mu, nu, which));
  }
};

/// Makes the bent links of a plane: four matrices a site.
inline void bend_links(gauge_configuration& bent, const links_with_ghosts& links, int mu, int nu) {
  const context& ctx = links.get_context();
  for (int which = 0; which < 4; ++which)
    for_each_index(ctx.queue(), 2 * static_cast<std::int64_t>(ctx.order().sites),
                   bend_link{bent.sites(), links.sites(), ctx.order(), mu, nu, which}, 128);
}

}  // namespace plaquette::gpu
