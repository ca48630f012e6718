// SPDX-License-Identifier: BSD-3-Clause
// ladder/force-cpu/3_shared_products.cpp: like 2_two_spins, but the four loops of a plaquette share products of
// matrices: 8 for 17.
#include "ladder/force-cpu/half_spinor.hpp"
#include "ladder/force-cpu/shared_products.hpp"

namespace ladder::force {
namespace {

class shared_products : public force_rung {
 public:
  using force_rung::force_rung;

  void run() override {
    for (int site = 0; site < p.sites; ++site)
      for (int mu = 0; mu < 4; ++mu)
        for (int nu = mu + 1; nu < 4; ++nu)
          leaves[6 * std::size_t(site) + plane(mu, nu)] = leaf_of_four_products(*this, site, mu, nu);
    for (int site = 0; site < p.sites; ++site)
      for_hops_of_site(*this, site, [&](int mu, const matrix& hops) {
        forces[4 * std::size_t(site) + mu] =
            0.5 * traceless_antihermitian(hops + clover_loops_of_shared_products(*this, site, mu));
      });
  }
};

const add<shared_products> rung_3("force-cpu", 3, "shared products", 4e-15,
                                  "like 2, but 8 products a plaquette for 17");

}  // namespace
}  // namespace ladder::force
