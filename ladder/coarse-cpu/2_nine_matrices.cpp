// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-cpu/2_nine_matrices.cpp: like 1_product, but the product is made once, as nine small matrices a coarse
// site. The fine lattice is not visited again.
#include "ladder/coarse-cpu/nine_matrices.hpp"

namespace ladder::coarse {
namespace {

class by_matrices : public coarse_rung {
 public:
  by_matrices(size s, std::uint64_t seed) : coarse_rung(s, seed), matrices_(p, blocks, diagonal) {}

  void run() override {
    for (std::size_t column = 0; column < columns; ++column)
      for (int site = 0; site < matrices_.sites; ++site) {
        number* sum = &out[column][std::size_t(site) * n];
        for (int i = 0; i < n; ++i) sum[i] = 0;
        for (int k = 0; k < 1 + hops; ++k) {
          const number* a = matrices_.matrix(site, k);
          const number* from = &in[column][std::size_t(matrices_.neighbours[std::size_t(site * (1 + hops) + k)]) * n];
          for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) sum[i] += a[i * n + j] * from[j];
        }
      }
  }

 private:
  nine_matrices matrices_;
};

const add<by_matrices> rung_2("coarse-cpu", 2, "nine matrices", 1e-14, "like 1, but the product is made once");

}  // namespace
}  // namespace ladder::coarse
