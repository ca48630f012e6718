// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-gpu/6_sixteen_bytes.cu: like 5_nine_matrices, but a thread has two rows: it loads 16 bytes at a time.
// An instruction moves no more. A number of the vector serves both rows. A block has two sites: 144 threads again.
#include "ladder/coarse-gpu/nine.hpp"

namespace ladder::coarse_gpu {
namespace {

struct two_rows_body : arrays {
  static constexpr int block_sites = 2, of_site = matrices * n / 2, threads = block_sites * of_site, steps = 2;
  struct memory {
    number sum[block_sites][matrices][columns][n];
  };

  LADDER_BOTH void operator()(int step, int block, int thread, memory& shared) const {
    if (step == 0) {
      const int here = thread / of_site, site = block * block_sites + here;
      const int k = thread % of_site / (n / 2), row = thread % (n / 2) * 2;
      number sum[columns][2]{};
      for (int j = 0; j < n; ++j) {
        // Two numbers of a column of the matrix, moved by one instruction.
        const auto a = *reinterpret_cast<const group<2>*>(matrix(site, k) + j * n + row);
        for (int batch = 0; batch < columns; ++batch)
          for (int i = 0; i < 2; ++i) add_product(sum[batch][i], a.z[i], vector(batch, site, k)[j]);
      }
      for (int batch = 0; batch < columns; ++batch)
        for (int i = 0; i < 2; ++i) shared.sum[here][k][batch][row + i] = sum[batch][i];
    } else if (thread < block_sites * columns * n) {
      const int which = thread / n / columns;
      add_nine(*this, block * block_sites + which, thread / n % columns, thread % n, shared.sum[which]);
    }
  }
};

class sixteen_bytes : public coarse_rung<order::by_columns> {
 public:
  using coarse_rung::coarse_rung;
  void run() override { for_each_block(sites / two_rows_body::block_sites, two_rows_body{pointers()}); }
};

const add<sixteen_bytes> rung_6("coarse-gpu", 6, "16 bytes a load", 2e-6,
                                "like 5, but a thread loads two rows at once");

}  // namespace
}  // namespace ladder::coarse_gpu
