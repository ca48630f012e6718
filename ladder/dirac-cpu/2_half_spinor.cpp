// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-cpu/2_half_spinor.cpp: like 1_textbook, but projects before it multiplies: two SU(3) products a hop, not
// four, and no product with a Dirac matrix. The compiler sees all loops, since mu and sign are known to it.
#include "ladder/dirac-cpu/half_spinor.hpp"
#include "ladder/dirac-cpu/problem.hpp"

namespace ladder::dirac {
namespace {

class half_spinors : public dirac_rung {
 public:
  using dirac_rung::dirac_rung;

  void run() override {
    const auto* links = reinterpret_cast<const link<double>*>(p.links.data());  // [site][mu]
    for (int column = 0; column < p.columns; ++column) {
      const std::size_t first = static_cast<std::size_t>(column) * p.sites;
      const auto* in = reinterpret_cast<const spinor<double>*>(p.in.data()) + first;
      auto* to = reinterpret_cast<spinor<double>*>(out.data()) + first;
      for (int x = 0; x < p.sites; ++x) {
        spinor<double> sum{};
        for_each_hop([&]<int mu, int sign>() {
          const int y = p.neighbour(x, mu, sign);
          add_hop<mu, sign>(sum, links[4 * (sign > 0 ? x : y) + mu], in[y]);
        });
        for (int spin = 0; spin < 4; ++spin)
          for (int c = 0; c < 3; ++c) to[x][spin][c] = sum[spin][c];
      }
    }
  }
};

const add<half_spinors> here("dirac-cpu", 2, "half spinors", 4e-15, "like 1, but projects before it multiplies");

}  // namespace
}  // namespace ladder::dirac
