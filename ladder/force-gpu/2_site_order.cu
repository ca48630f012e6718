// SPDX-License-Identifier: BSD-3-Clause
// ladder/force-gpu/2_site_order.cu: like 1_thread_a_link, but number k of all sites lies together: a warp reads 32
// numbers that follow each other. The formula is the same.
#include "ladder/force-gpu/formula.hpp"

namespace ladder::force_gpu {
namespace {

class formula_in_site_order : public gpu_rung<site_order> {
 public:
  using gpu_rung::gpu_rung;

  void run() override {
    for_each_index(p.sites * 6, leaf_body<site_order>{fields()});
    for_each_index(p.sites * 4, force_body<site_order>{fields()});
  }
};

const add<formula_in_site_order> rung_2("force-gpu", 2, "site order", 4e-15,
                                        "like 1, but a number of all sites lies together");

}  // namespace
}  // namespace ladder::force_gpu
