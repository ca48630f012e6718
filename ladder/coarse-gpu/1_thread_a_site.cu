// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-gpu/1_thread_a_site.cu: the formula, with a thread for each site and column of the batch. Coarse
// lattices are small: 1024 sites and four columns are 4096 threads, where a GPU wants a hundred times as many.
#include "ladder/coarse-gpu/problem.hpp"

namespace ladder::coarse_gpu {
namespace {

struct site_body : arrays {
  LADDER_BOTH void operator()(int index) const {
    const int site = index % sites, batch = index / sites;
    for (int row = 0; row < n; ++row) {
      number sum{};
      for (int k = 0; k < matrices; ++k)
        for (int j = 0; j < n; ++j) add_product(sum, matrix(site, k)[row * n + j], vector(batch, site, k)[j]);
      result(batch, site, row) = sum;
    }
  }
};

class thread_a_site : public coarse_rung<order::by_rows> {
 public:
  using coarse_rung::coarse_rung;
  void run() override { for_each_index(sites * columns, site_body{pointers()}); }
};

double sites_of_run(size s) { return double(lattice_of(s).sites()) * columns; }
const describe ladder("coarse-gpu", "the operator of a coarse lattice with 16 numbers a site, four columns, on a GPU",
                      "coarse site", sites_of_run, 8.0 * matrices * of_matrix);
const add<thread_a_site> rung_1("coarse-gpu", 1, "a thread a site", 0, "the formula on plain arrays");

}  // namespace
}  // namespace ladder::coarse_gpu
