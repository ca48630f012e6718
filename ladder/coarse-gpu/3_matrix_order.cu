// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-gpu/3_matrix_order.cu: like 2_thread_a_row, but a matrix lies by columns: 16 threads, a row each, read
// 16 numbers that follow each other, and not 16 that lie 128 bytes apart.
#include "ladder/coarse-gpu/problem.hpp"

namespace ladder::coarse_gpu {
namespace {

struct column_order_body : arrays {
  LADDER_BOTH void operator()(int index) const {
    const int row = index % n, site = index / n % sites, batch = index / n / sites;
    number sum{};
    for (int k = 0; k < matrices; ++k)
      for (int j = 0; j < n; ++j) add_product(sum, matrix(site, k)[j * n + row], vector(batch, site, k)[j]);
    result(batch, site, row) = sum;
  }
};

class matrix_order : public coarse_rung<order::by_columns> {
 public:
  using coarse_rung::coarse_rung;
  void run() override { for_each_index(sites * columns * n, column_order_body{pointers()}); }
};

const add<matrix_order> rung_3("coarse-gpu", 3, "matrix order", 2e-6, "like 2, but a matrix lies by columns");

}  // namespace
}  // namespace ladder::coarse_gpu
