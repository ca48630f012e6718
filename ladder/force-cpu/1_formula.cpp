// SPDX-License-Identifier: BSD-3-Clause
// ladder/force-cpu/1_formula.cpp: the formulas of problem.hpp, written out in formula.hpp: sums over all spins, and 24
// loops of five or six matrices a link. A reader who trusts it can trust all other rungs.
#include "ladder/force-cpu/formula.hpp"

namespace ladder::force {
namespace {

class formula : public force_rung {
 public:
  using force_rung::force_rung;

  void run() override {
    for (int site = 0; site < p.sites; ++site)
      for (int mu = 0; mu < 4; ++mu)
        for (int nu = mu + 1; nu < 4; ++nu)
          leaves[6 * std::size_t(site) + plane(mu, nu)] = leaf_at(*this, site, mu, nu);
    for (int site = 0; site < p.sites; ++site)
      for (int mu = 0; mu < 4; ++mu)
        forces[4 * std::size_t(site) + mu] =
            0.5 * traceless_antihermitian(hopping_loops(*this, site, mu) + clover_loops(*this, site, mu));
  }
};

double sites_of_run(size s) {
  const auto e = dirac::problem::extents_of(s);
  return double(e[0] * e[1] * e[2] * e[3]);
}
const describe ladder("force-cpu", "the force of a pair of spinors on links: hops and clover term", "site",
                      sites_of_run, 0);
const add<formula> rung_1("force-cpu", 1, "formula", 0, "the formula, with loops over all spins");

}  // namespace
}  // namespace ladder::force
