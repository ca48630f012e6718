// SPDX-License-Identifier: BSD-3-Clause
// ladder/force-cpu/2_two_spins.cpp: like 1_formula, but a hop and a leaf take four outer products each, not 32 and 16.
// A projector has rank two, and a row of gamma_mu gamma_nu has one number.
#include "ladder/force-cpu/half_spinor.hpp"

namespace ladder::force {
namespace {

class two_spins : public force_rung {
 public:
  using force_rung::force_rung;

  void run() override {
    for (int site = 0; site < p.sites; ++site)
      for (int mu = 0; mu < 4; ++mu)
        for (int nu = mu + 1; nu < 4; ++nu)
          leaves[6 * std::size_t(site) + plane(mu, nu)] = leaf_of_four_products(*this, site, mu, nu);
    for (int site = 0; site < p.sites; ++site)
      for_hops_of_site(*this, site, [&](int mu, const matrix& hops) {
        forces[4 * std::size_t(site) + mu] = 0.5 * traceless_antihermitian(hops + clover_loops(*this, site, mu));
      });
  }
};

const add<two_spins> rung_2("force-cpu", 2, "two spins", 4e-15,
                            "like 1, but two spins of a hop, four numbers of a leaf");

}  // namespace
}  // namespace ladder::force
