// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 2 brings: a thread for each row of a site and column of the batch.
#pragma once

#include "ladder/coarse-gpu/problem.hpp"

namespace ladder::coarse_gpu {

template <order by>
struct row_body : arrays {
  LADDER_BOTH void operator()(int index) const {
    const int row = index % n, site = index / n % sites, batch = index / n / sites;
    number sum{};
    for (int k = 0; k < matrices; ++k) {
      const number *a = matrix(site, k), *v = vector(batch, site, k);
      for (int j = 0; j < n; ++j) add_product(sum, by == order::by_rows ? a[row * n + j] : a[j * n + row], v[j]);
    }
    result(batch, site, row) = sum;
  }
};

template <order by>
class rows_rung : public coarse_rung<by> {
 public:
  using coarse_rung<by>::coarse_rung;
  void run() override { for_each_index(this->sites * columns * n, row_body<by>{this->pointers()}); }
};

}  // namespace ladder::coarse_gpu
