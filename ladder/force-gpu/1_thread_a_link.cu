// SPDX-License-Identifier: BSD-3-Clause
// ladder/force-gpu/1_thread_a_link.cu: the formula of rung 1 of force-cpu, on the same plain arrays, but a thread for
// each leaf, then one for each link. Threads of a warp read numbers that lie 576 bytes apart.
#include "ladder/force-gpu/formula.hpp"

namespace ladder::force_gpu {
namespace {

class formula_in_plain_order : public gpu_rung<plain_order> {
 public:
  using gpu_rung::gpu_rung;

  void run() override {
    for_each_index(p.sites * 6, leaf_body<plain_order>{fields()});
    for_each_index(p.sites * 4, force_body<plain_order>{fields()});
  }
};

double sites_of_run(size s) {
  const auto e = extents_of(s);
  return double(e[0] * e[1] * e[2] * e[3]);
}
const describe ladder("force-gpu", "the force of a pair of spinors on links: hops and clover term, on a GPU", "site",
                      sites_of_run, 0);
const add<formula_in_plain_order> rung_1("force-gpu", 1, "a thread a link", 0, "the formula on plain arrays");

}  // namespace
}  // namespace ladder::force_gpu
