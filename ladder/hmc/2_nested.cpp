// SPDX-License-Identifier: BSD-3-Clause
// ladder/hmc/2_nested.cpp: like 1_leapfrog, but the quarks, whose force is smaller and dearer, kick in long steps. In
// place of a drift between two of these kicks stands a leapfrog of the links alone. (Sexton, Weingarten 1992)
#include "ladder/hmc/problem.hpp"

namespace ladder::hmc {
namespace {

constexpr int long_steps = 12, short_steps = 4;

class nested : public hmc_rung {
 public:
  nested(size s, std::uint64_t seed) : hmc_rung(s, seed, {{0, 0}}) {}

  void trajectory() override {
    const double dt = tau / long_steps;
    for (int step = 0; step < long_steps; ++step) {
      at.kick_by_quarks(0, step == 0 ? dt / 2 : dt);  // two halves meet: one whole kick
      move_links(dt);
    }
    at.kick_by_quarks(0, dt / 2);
  }

 private:
  /// A drift of length t under the force of the links.
  void move_links(double t) {
    const double dt = t / short_steps;
    for (int step = 0; step < short_steps; ++step) {
      at.kick_by_links(step == 0 ? dt / 2 : dt);
      at.drift(dt);
    }
    at.kick_by_links(dt / 2);
  }
};

const add<nested> rung_2("hmc", 2, "nested", 0.5, "a step of the quarks holds four of the links");

}  // namespace
}  // namespace ladder::hmc
