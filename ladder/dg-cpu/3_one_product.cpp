// SPDX-License-Identifier: BSD-3-Clause
// ladder/dg-cpu/3_one_product.cpp: like 2_blocked, but derivatives and lifting are one matrix product. A coefficient is
// loaded once for six fields of eight elements, and sums stay in registers.
#include "ladder/dg-cpu/one_product.hpp"

namespace ladder::dg {
namespace {

class one_product_rung : public block_rung {
 public:
  one_product_rung(size s, std::uint64_t seed) : block_rung(s, seed), product_(p.domain.reference) {}

  void run() override {
    q = packed();
    lserk4_steps(q, p.dt, [this](R* rate, const R* state) {
      stack x;
      for (int block = 0; block < blocks; ++block) {
        one_product::fill(x, geometry[std::size_t(block)], state + block * fields * np);
        for (int m = 0; m < faces * nfp; ++m) {
          lanes3 h, e;
          fluxes(h, e, state, block, m / nfp, m % nfp);
          for (int i = 0; i < 3; ++i) x[3 * np + m][i] = h[i], x[3 * np + m][3 + i] = e[i];
        }
        R* const to = rate + block * fields * np;
        product_.multiply(x, [to](int field, int node, const R& number) { to[field * np + node] = number; });
      }
    });
  }

 private:
  one_product product_;
};

const add<one_product_rung> rung_3("dg-cpu", 3, "one product", 6e-15, "like 2, but one product [Dr Ds Dt LIFT] x");

}  // namespace
}  // namespace ladder::dg
