// SPDX-License-Identifier: BSD-3-Clause
// ladder/force-gpu/3_two_spins.cu: like 2_site_order, but of four outer products a hop and a leaf, not of 32 and 16.
// Hops have a kernel of their own.
#include "ladder/force-cpu/formula.hpp"
#include "ladder/force-gpu/two_spins.hpp"

namespace ladder::force_gpu {
namespace {

struct two_spins_loops {
  LADDER_BOTH matrix operator()(const device_fields<site_order>& f, int site, int mu) const {
    return clover_loops(f, site, mu);
  }
};

class two_spins : public gpu_rung<site_order> {
 public:
  using gpu_rung::gpu_rung;

  void run() override {
    for_each_index(p.sites * 6, leaf_of_four_products_body{fields()});
    for_each_index(p.sites, hops_body{fields()});
    for_each_index(p.sites * 4, clover_body<two_spins_loops>{fields(), {}});
  }
};

const add<two_spins> rung_3("force-gpu", 3, "two spins", 4e-15,
                            "like 2, but two spins of a hop, four numbers of a leaf");

}  // namespace
}  // namespace ladder::force_gpu
