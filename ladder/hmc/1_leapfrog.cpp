// SPDX-License-Identifier: BSD-3-Clause
// ladder/hmc/1_leapfrog.cpp: half a kick, a drift, half a kick; all forces in each step. The largest force, that of
// the links, says how short a step is, and each step solves for the quarks. (Duane, Kennedy, Pendleton, Roweth 1987)
#include "ladder/hmc/problem.hpp"

namespace ladder::hmc {
namespace {

constexpr int steps = 48;

class leapfrog : public hmc_rung {
 public:
  leapfrog(size s, std::uint64_t seed) : hmc_rung(s, seed, {{0, 0}}) {}

  void trajectory() override {
    const double dt = tau / steps;
    kick(dt / 2);
    for (int step = 1; step < steps; ++step) {
      at.drift(dt);
      kick(dt);
    }
    at.drift(dt);
    kick(dt / 2);
  }

 private:
  void kick(double dt) {
    at.kick_by_links(dt);
    at.kick_by_quarks(0, dt);
  }
};

double one_trajectory(size) { return 1; }
const describe ladder("hmc", "a trajectory of links with two quarks: dH small, and the way back ends at the start",
                      "trajectory", one_trajectory, 0);
const add<leapfrog> rung_1("hmc", 1, "leapfrog", 0, "half a kick, drifts and kicks by turns, half a kick");

}  // namespace
}  // namespace ladder::hmc
