// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/stout.hpp"

#include <utility>

#include "common/gauge/smearing.hpp"
#include "common/lattice/ghosts.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/fields/stoppable_sites.hpp"
#include "cpu_ref/gauge/link_reader.hpp"

namespace plaquette::cpu {

gauge_configuration stout_smeared(const gauge_configuration& links, const stout_smearing& smearing,
                                  const communicator& comm) {
  require_usable(smearing);
  require_current_ghosts(links, comm, "stout_smeared");
  gauge_configuration now = links, next = links;
  for (int step = 0; step < smearing.steps; ++step) {
    stop_point();
    for_each_site_stoppably(links.geometry(), [&](const coordinate& x) {
      for (int mu = 0; mu < dimensions; ++mu)
        if (smearing.smears(mu))
          next(x)[mu] = stout_smeared_link(link_reader{now}, x, mu, [&](int nu) { return smearing.weight(mu, nu); });
    });
    exchange_ghosts(next, comm);
    std::swap(now, next);
  }
  return now;
}

}  // namespace plaquette::cpu
