// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-cpu/4_lanes.cpp: like 3_even_odd, but each number is a register of eight, one for each of eight sites.
// The formula is the same text: add_hop for registers in place of numbers.
#include "ladder/dirac-cpu/lanes.hpp"

namespace ladder::dirac {
namespace {

class lanes : public lane_rung<double> {
 public:
  lanes(size s, std::uint64_t seed) : lane_rung(s, seed), links_(packed_links()) {
    for (int column = 0; column < p.columns; ++column) {
      in_.push_back(packed_in(column));
      out_.push_back(in_.back());
    }
  }

  void run() override {
    for (int column = 0; column < p.columns; ++column)
      for (int parity : {0, 1}) apply(column, parity);
  }

 private:
  void apply(int column, int parity) {
    const auto* links = reinterpret_cast<const link<R>*>(links_.data());
    const auto* in = reinterpret_cast<const spinor<R>*>(in_[column].data());
    auto* to = reinterpret_cast<spinor<R>*>(out_[column].data());
    const int half = order.blocks / 2;
    for (int x = parity * half; x < (parity + 1) * half; ++x) {
      const int* neighbours = &order.neighbours[8 * x];
      const char* turned = &order.turned[8 * x];
      spinor<R> sum{};
      for_each_hop([&]<int mu, int sign>() {
        constexpr int k = 2 * mu + (sign < 0);
        const int y = neighbours[k];
        add_hop<mu, sign>(sum, links[4 * (sign > 0 ? x : y) + mu], in[y], turned[k], order.partner[k]);
      });
      for (int spin = 0; spin < 4; ++spin)
        for (int c = 0; c < 3; ++c) to[x][spin][c] = sum[spin][c];
    }
  }

  double output(int column, int block, int lane, int k) const override {
    const complex<R>& v = out_[column][block * 12 + k / 2];
    return k % 2 == 0 ? v.re[lane] : v.im[lane];
  }

  std::vector<complex<R>> links_;
  std::vector<std::vector<complex<R>>> in_, out_;  // a column each
};

const add<lanes> here("dirac-cpu", 4, "8 sites a register", 4e-15,
                      "like 3, but each number is a register of eight sites");

}  // namespace
}  // namespace ladder::dirac
