// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 5 brings: threads for each of the nine matrices of a site. Their sums meet in the memory that a block of
/// threads shares. A thread has W rows that follow each other, loaded at once.
#pragma once

#include "ladder/coarse-gpu/problem.hpp"

namespace ladder::coarse_gpu {

/// W numbers of a column of a matrix, moved by one instruction.
template <int W>
struct alignas(W * sizeof(number)) group {
  number z[W];
};

/// Adds the nine products of a row and column of the batch, and stores the result.
LADDER_BOTH inline void add_nine(const arrays& of, int site, int batch, int row,
                                 const number (&products)[matrices][columns][n]) {
  number sum{};
  for (int k = 0; k < matrices; ++k) sum = dirac::add_rotated<0>(sum, products[k][batch][row]);
  of.result(batch, site, row) = sum;
}

template <int W>
struct nine_body : arrays {
  /// Sites of a block: W, so that each rung has 144 threads.
  static constexpr int block_sites = W, of_block_site = matrices * n / W;
  static constexpr int threads = block_sites * of_block_site, steps = 2;
  struct memory {
    number sum[block_sites][matrices][columns][n];
  };

  LADDER_BOTH void operator()(int step, int block, int thread, memory& shared) const {
    const int of_site = thread / of_block_site, site = block * block_sites + of_site;
    const int k = thread % of_block_site / (n / W), first = thread % (n / W) * W;
    if (step == 0) {
      number sum[columns][W]{};
      for (int j = 0; j < n; ++j) {
        const auto a = *reinterpret_cast<const group<W>*>(matrix(site, k) + j * n + first);
        for (int batch = 0; batch < columns; ++batch)
          for (int i = 0; i < W; ++i) add_product(sum[batch][i], a.z[i], vector(batch, site, k)[j]);
      }
      for (int batch = 0; batch < columns; ++batch)
        for (int i = 0; i < W; ++i) shared.sum[of_site][k][batch][first + i] = sum[batch][i];
    } else {
      for (int at = thread; at < block_sites * columns * n; at += threads) {
        const int which = at / n / columns;
        add_nine(*this, block * block_sites + which, at / n % columns, at % n, shared.sum[which]);
      }
    }
  }
};

template <int W>
class nine_rung : public coarse_rung<order::by_columns> {
 public:
  using coarse_rung::coarse_rung;
  void run() override { for_each_block(sites / W, nine_body<W>{pointers()}); }
};

}  // namespace ladder::coarse_gpu
