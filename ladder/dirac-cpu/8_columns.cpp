// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-cpu/8_columns.cpp: like 7_half, but works on all right-hand sides of a site at once. A link is loaded,
// unpacked and completed once for all of them. A propagator has twelve right-hand sides, so this is no special case.
#include "ladder/dirac-cpu/fixed_point.hpp"

namespace ladder::dirac {
namespace {

class several_columns : public short_rung {
 public:
  using short_rung::short_rung;

  void run() override {
    for (int parity : {0, 1}) apply(parity);
  }

 private:
  void apply(int parity) {
    const int half = order.blocks / 2;
    for (int x = parity * half; x < (parity + 1) * half; ++x) {
      spinor<R> sums[problem::columns]{};
      for_each_hop([&]<int mu, int sign>() {
        constexpr int k = 2 * mu + (sign < 0);
        const int y = order.neighbours[8 * x + k];
        link<R> u;
        load(u, link_at(sign > 0 ? x : y, mu));
        for (int column = 0; column < p.columns; ++column) {
          spinor<R> psi;
          load(psi, in_[place(y, column)]);
          add_hop<mu, sign>(sums[column], u, psi, order.turned[8 * x + k], order.partner[k]);
        }
      });
      for (int column = 0; column < p.columns; ++column) store(out_[place(x, column)], sums[column]);
    }
  }
};

const add<several_columns> here("dirac-cpu", 8, "several columns", 4e-4,
                                "like 7, but a link serves all right-hand sides");

}  // namespace
}  // namespace ladder::dirac
