// SPDX-License-Identifier: BSD-3-Clause
// ladder/hmc/3_factors.cpp: like 2_nested, but det M^+ M = det(M^+ M) / det(W^+ W) times det W^+ W, W = M + i mu
// gamma_5, each with its pseudofermion. The heavy factor has most of the force, and solves for it are short; the light
// one kicks in still longer steps. (Hasenbusch, hep-lat/0107019)
#include "ladder/hmc/problem.hpp"

namespace ladder::hmc {
namespace {

constexpr double mu = 0.5;
constexpr int light_steps = 3, heavy_steps = 4, link_steps = 4;

class factors : public hmc_rung {
 public:
  factors(size s, std::uint64_t seed) : hmc_rung(s, seed, {{0, mu}, {mu, 0}}) {}

  void trajectory() override { level(0, tau); }

 private:
  /// A leapfrog of one time scale: where a drift would be, the next level moves the links.
  void level(int number, double t) {
    if (number == 3) return at.drift(t);
    const int steps = number == 0 ? light_steps : number == 1 ? heavy_steps : link_steps;
    const double dt = t / steps;
    for (int step = 0; step < steps; ++step) {
      kick(number, step == 0 ? dt / 2 : dt);
      level(number + 1, dt);
    }
    kick(number, dt / 2);
  }
  void kick(int number, double dt) {
    if (number == 2)
      at.kick_by_links(dt);
    else
      at.kick_by_quarks(number, dt);
  }
};

const add<factors> rung_3("hmc", 3, "factors", 0.5, "a light factor of longer steps, a heavy one of short solves");

}  // namespace
}  // namespace ladder::hmc
