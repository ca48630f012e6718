// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-gpu/5_nine_matrices.cu: like 4_columns, but each of the nine matrices has threads of its own. Sums of
// nine meet in the memory that a block of threads shares. A block has a site: 144 threads.
#include "ladder/coarse-gpu/nine.hpp"

namespace ladder::coarse_gpu {
namespace {

struct nine_body : arrays {
  static constexpr int threads = matrices * n, steps = 2;
  struct memory {
    number sum[matrices][columns][n];
  };

  LADDER_BOTH void operator()(int step, int site, int thread, memory& shared) const {
    if (step == 0) {
      const int k = thread / n, row = thread % n;
      number sum[columns]{};
      for (int j = 0; j < n; ++j) {
        const number a = matrix(site, k)[j * n + row];
        for (int batch = 0; batch < columns; ++batch) add_product(sum[batch], a, vector(batch, site, k)[j]);
      }
      for (int batch = 0; batch < columns; ++batch) shared.sum[k][batch][row] = sum[batch];
    } else if (thread < columns * n) {
      add_nine(*this, site, thread / n, thread % n, shared.sum);
    }
  }
};

class nine_matrices : public coarse_rung<order::by_columns> {
 public:
  using coarse_rung::coarse_rung;
  void run() override { for_each_block(sites, nine_body{pointers()}); }
};

const add<nine_matrices> rung_5("coarse-gpu", 5, "nine matrices at once", 2e-6,
                                "like 4, but threads for each of the nine matrices");

}  // namespace
}  // namespace ladder::coarse_gpu
