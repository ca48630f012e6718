// SPDX-License-Identifier: BSD-3-Clause
// ladder/dg-cpu/2_blocked.cpp: like 1_page, but each number is a register of eight, one for each of eight elements.
#include "ladder/dg-cpu/blocks.hpp"

namespace ladder::dg {
namespace {

class blocked : public block_rung {
 public:
  using block_rung::block_rung;

  void run() override {
    q = packed();
    lserk4_steps(q, p.dt, [this](R* rate, const R* state) {
      for (int block = 0; block < blocks; ++block) rate_of(block, rate + block * fields * np, state);
    });
  }

 private:
  void rate_of(int block, R* rate, const R* state) const {
    const auto& reference = p.domain.reference;
    const block_geometry& g = geometry[std::size_t(block)];
    for (int n = 0; n < np; ++n) {
      lanes3 gradient[fields]{};
      for (int f = 0; f < fields; ++f)
        for (int a = 0; a < 3; ++a) {
          R along{};
          for (int m = 0; m < np; ++m)
            along += reference.derivative[std::size_t(a)](n, m) * state[(block * fields + f) * np + m];
          for (int i = 0; i < 3; ++i) gradient[f][i] += g.metric[a][i] * along;
        }
      for (int i = 0; i < 3; ++i) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        rate[i * np + n] = -(gradient[3 + k][j] - gradient[3 + j][k]);
        rate[(3 + i) * np + n] = gradient[k][j] - gradient[j][k];
      }
    }
    for (int face = 0; face < faces; ++face)
      for (int m = 0; m < nfp; ++m) {
        lanes3 h, e;
        fluxes(h, e, state, block, face, m);
        for (int n = 0; n < np; ++n)
          for (int i = 0; i < 3; ++i) {
            rate[i * np + n] += reference.lift(n, face * nfp + m) * h[i];
            rate[(3 + i) * np + n] += reference.lift(n, face * nfp + m) * e[i];
          }
      }
  }
};

const add<blocked> rung_2("dg-cpu", 2, "blocked", 6e-15, "like 1, but each number is a register of eight elements");

}  // namespace
}  // namespace ladder::dg
