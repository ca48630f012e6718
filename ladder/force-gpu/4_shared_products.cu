// SPDX-License-Identifier: BSD-3-Clause
// ladder/force-gpu/4_shared_products.cu: like 3_two_spins, but the four loops of a plaquette share products of
// matrices: 8 for 17.
#include "ladder/force-cpu/shared_products.hpp"
#include "ladder/force-gpu/two_spins.hpp"

namespace ladder::force_gpu {
namespace {

struct shared_products_loops {
  LADDER_BOTH matrix operator()(const device_fields<site_order>& f, int site, int mu) const {
    return clover_loops_of_shared_products(f, site, mu);
  }
};

class shared_products : public gpu_rung<site_order> {
 public:
  using gpu_rung::gpu_rung;

  void run() override {
    for_each_index(p.sites * 6, leaf_of_four_products_body{fields()});
    for_each_index(p.sites, hops_body{fields()});
    for_each_index(p.sites * 4, clover_body<shared_products_loops>{fields(), {}});
  }
};

const add<shared_products> rung_4("force-gpu", 4, "shared products", 4e-15,
                                  "like 3, but 8 products a plaquette for 17");

}  // namespace
}  // namespace ladder::force_gpu
