// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/stout.hpp"

#include <utility>

#include "common/algebra/staple.hpp"
#include "common/algebra/stout.hpp"
#include "common/lattice/ghosts.hpp"
#include "common/random/random_matrix.hpp"
#include "cpu_ref/fields/site_sum.hpp"

namespace plaquette::cpu {
namespace {

/// The sum of rho_munu times the two staples of each plane, which close U_mu(x) to plaquettes.
su3<double> weighted_staples(const gauge_configuration& links, const coordinate& x, int mu,
                             const stout_smearing& smearing) {
  su3<double> sum;
  for (int nu = 0; nu < dimensions; ++nu) {
    const double weight = smearing.weight(mu, nu);
    if (nu == mu || weight == 0.0) continue;
    const coordinate ahead = shifted(x, mu, +1), below = shifted(x, nu, -1);
    const su3<double> up = staple_above(links(ahead)[nu], links(shifted(x, nu, +1))[mu], links(x)[nu]);
    const su3<double> down = staple_below(links(below)[mu], links(shifted(ahead, nu, -1))[nu], links(below)[nu]);
    sum += weight * (up + down);
  }
  return sum;
}

}  // namespace

gauge_configuration stout_smeared(const gauge_configuration& links, const stout_smearing& smearing,
                                  const communicator& comm) {
  require_usable(smearing);
  require_current_ghosts(links, comm, "stout_smeared");
  gauge_configuration now = links, next = links;
  for (int step = 0; step < smearing.steps; ++step) {
    for_each_site(links.geometry(), [&](const coordinate& x) {
      for (int mu = 0; mu < dimensions; ++mu)
        if (smearing.smears(mu))
          next(x)[mu] = put_into_su3(stout_smeared_link(now(x)[mu], weighted_staples(now, x, mu, smearing)));
    });
    exchange_ghosts(next, comm);
    std::swap(now, next);
  }
  return now;
}

}  // namespace plaquette::cpu
