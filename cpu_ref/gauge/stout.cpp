// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/stout.hpp"

#include <utility>

#include "common/algebra/stout.hpp"
#include "common/lattice/ghosts.hpp"
#include "common/random/random_matrix.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/gauge/staples.hpp"

namespace plaquette::cpu {

gauge_configuration stout_smeared(const gauge_configuration& links, const stout_smearing& smearing,
                                  const communicator& comm) {
  require_usable(smearing);
  require_current_ghosts(links, comm, "stout_smeared");
  gauge_configuration now = links, next = links;
  for (int step = 0; step < smearing.steps; ++step) {
    stop_point();
    for_each_site(links.geometry(), [&](const coordinate& x) {
      for (int mu = 0; mu < dimensions; ++mu)
        if (smearing.smears(mu))
          next(x)[mu] = put_into_su3(stout_smeared_link(
              now(x)[mu], closing_staples(now, x, mu, [&](int nu) { return smearing.weight(mu, nu); })));
    });
    exchange_ghosts(next, comm);
    std::swap(now, next);
  }
  return now;
}

}  // namespace plaquette::cpu
