// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-gpu/2_thread_a_row.cu: like 1_thread_a_site, but a thread for each row: 16 times as many threads.
#include "ladder/coarse-gpu/problem.hpp"

namespace ladder::coarse_gpu {
namespace {

struct row_body : arrays {
  LADDER_BOTH void operator()(int index) const {
    const int row = index % n, site = index / n % sites, batch = index / n / sites;
    number sum{};
    for (int k = 0; k < matrices; ++k)
      for (int j = 0; j < n; ++j) add_product(sum, matrix(site, k)[row * n + j], vector(batch, site, k)[j]);
    result(batch, site, row) = sum;
  }
};

class thread_a_row : public coarse_rung<order::by_rows> {
 public:
  using coarse_rung::coarse_rung;
  void run() override { for_each_index(sites * columns * n, row_body{pointers()}); }
};

const add<thread_a_row> rung_2("coarse-gpu", 2, "a thread a row", 2e-6, "like 1, but a thread for each row");

}  // namespace
}  // namespace ladder::coarse_gpu
