// SPDX-License-Identifier: BSD-3-Clause
// ladder/force-cpu/4_plaquette_once.cpp: like 3_shared_products, but each plaquette is multiplied once for its four
// links, and leaves are carried along links: 17 products a plaquette for 34.
#include "ladder/force-cpu/half_spinor.hpp"
#include "ladder/force-cpu/plaquette_once.hpp"

namespace ladder::force {
namespace {

class plaquette_once : public force_rung {
 public:
  using force_rung::force_rung;

  void run() override {
    for (int site = 0; site < p.sites; ++site)
      for (int mu = 0; mu < 4; ++mu)
        for (int nu = mu + 1; nu < 4; ++nu)
          leaves[6 * std::size_t(site) + plane(mu, nu)] = leaf_of_four_products(*this, site, mu, nu);
    for (int site = 0; site < p.sites; ++site)
      for_hops_of_site(*this, site, [&](int mu, const matrix& hops) { force(site, mu) = hops; });
    for (int site = 0; site < p.sites; ++site)
      for (int mu = 0; mu < 4; ++mu)
        for (int nu = mu + 1; nu < 4; ++nu)
          for_links_of_plaquette(*this, site, mu, nu, [&](int number, const matrix& f) {
            const int begin = number == 2 ? neighbour(site, mu, +1) : number == 3 ? neighbour(site, nu, +1) : site;
            matrix& sum = force(begin, number % 2 == 1 ? mu : nu);
            sum = number < 3 ? sum + f : sum - f;  // the third and fourth link run against the plaquette
          });
    for (matrix& f : forces) f = 0.5 * traceless_antihermitian(f);
  }

 private:
  matrix& force(int site, int mu) { return forces[4 * std::size_t(site) + mu]; }
};

const add<plaquette_once> rung_4("force-cpu", 4, "plaquette once", 4e-15, "like 3, but a plaquette for its four links");

}  // namespace
}  // namespace ladder::force
