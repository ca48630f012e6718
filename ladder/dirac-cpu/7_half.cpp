// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-cpu/7_half.cpp: like 6_two_rows, but memory holds 16 bits a number, with one scale a spinor. Half of the
// bytes come from memory; more instructions unpack them. It pays where memory is what one waits for.
#include "ladder/dirac-cpu/fixed_point.hpp"

namespace ladder::dirac {
namespace {

class half : public short_rung {
 public:
  using short_rung::short_rung;

  void run() override {
    for (int column = 0; column < p.columns; ++column)
      for (int parity : {0, 1}) apply(column, parity);
  }

 private:
  void apply(int column, int parity) {
    const int half = order.blocks / 2;
    for (int x = parity * half; x < (parity + 1) * half; ++x) {
      spinor<R> sum{};
      for_each_hop([&]<int mu, int sign>() {
        constexpr int k = 2 * mu + (sign < 0);
        const int y = order.neighbours[8 * x + k];
        link<R> u;
        load(u, link_at(sign > 0 ? x : y, mu));
        spinor<R> psi;
        load(psi, in_[place(y, column)]);
        add_hop<mu, sign>(sum, u, psi, order.turned[8 * x + k], order.partner[k]);
      });
      store(out_[place(x, column)], sum);
    }
  }
};

const add<half> here("dirac-cpu", 7, "16 bits", 4e-4, "like 6, but memory holds 16 bits a number");

}  // namespace
}  // namespace ladder::dirac
