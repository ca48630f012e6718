// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-cpu/6_two_rows.cpp: like 5_single, but keeps two rows of each link. The third is the conjugate of their
// cross product, since U is in SU(3): 12 numbers come from memory, not 18. The arithmetic is not counted as work.
#include "ladder/dirac-cpu/lanes.hpp"

namespace ladder::dirac {
namespace {

class two_rows : public lane_rung<float> {
 public:
  two_rows(size s, std::uint64_t seed) : lane_rung(s, seed) {
    const std::vector<complex<R>> whole = packed_links();
    for (std::size_t k = 0; k < whole.size(); ++k)
      if (k % 9 < 6) rows_.push_back(whole[k]);
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
  /// u = the link at rows: [row][column].
  static void rebuild(link<R>& u, const complex<R>* rows) {
    for (int k = 0; k < 6; ++k) u[k / 3][k % 3] = rows[k];
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      complex<R> plus{}, minus{};
      add_product(plus, u[0][j], u[1][k]);
      add_product(minus, u[0][k], u[1][j]);
      u[2][i] = complex<R>{plus.re - minus.re, minus.im - plus.im};  // conjugated
    }
  }

  void apply(int column, int parity) {
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
        link<R> u;
        rebuild(u, &rows_[(4 * (sign > 0 ? x : y) + mu) * 6]);
        add_hop<mu, sign>(sum, u, in[y], turned[k], order.partner[k]);
      });
      for (int spin = 0; spin < 4; ++spin)
        for (int c = 0; c < 3; ++c) to[x][spin][c] = sum[spin][c];
    }
  }

  double output(int column, int block, int lane, int k) const override {
    const complex<R>& v = out_[column][block * 12 + k / 2];
    return k % 2 == 0 ? v.re[lane] : v.im[lane];
  }

  std::vector<complex<R>> rows_;                   // [block][mu][two rows][column]
  std::vector<std::vector<complex<R>>> in_, out_;  // a column each
};

const add<two_rows> here("dirac-cpu", 6, "two rows of a link", 1.5e-6,
                         "like 5, but the third row is computed, not loaded");

}  // namespace
}  // namespace ladder::dirac
