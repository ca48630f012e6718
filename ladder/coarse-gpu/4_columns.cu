// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-gpu/4_columns.cu: like 3_matrix_order, but a thread takes four columns of the batch. Matrices
// are nearly all that is read, and a number of them now serves four times. There are fewer threads again.
#include "ladder/coarse-gpu/problem.hpp"

namespace ladder::coarse_gpu {
namespace {

struct columns_body : arrays {
  LADDER_BOTH void operator()(int index) const {
    const int row = index % n, site = index / n;
    number sum[columns]{};
    for (int k = 0; k < matrices; ++k)
      for (int j = 0; j < n; ++j) {
        const number a = matrix(site, k)[j * n + row];
        for (int batch = 0; batch < columns; ++batch) add_product(sum[batch], a, vector(batch, site, k)[j]);
      }
    for (int batch = 0; batch < columns; ++batch) result(batch, site, row) = sum[batch];
  }
};

class four_columns : public coarse_rung<order::by_columns> {
 public:
  using coarse_rung::coarse_rung;
  void run() override { for_each_index(sites * n, columns_body{pointers()}); }
};

const add<four_columns> rung_4("coarse-gpu", 4, "columns", 2e-6, "like 3, but a thread takes four columns");

}  // namespace
}  // namespace ladder::coarse_gpu
