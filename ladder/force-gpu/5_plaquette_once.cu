// SPDX-License-Identifier: BSD-3-Clause
// ladder/force-gpu/5_plaquette_once.cu: like 4_shared_products, but a thread a plaquette, which is multiplied once for
// its four links (plaquette_once.hpp of force-cpu): 17 products for 34. Memory pays for it.
#include "ladder/force-cpu/plaquette_once.hpp"
#include "ladder/force-gpu/parts.hpp"

namespace ladder::force_gpu {
namespace {

struct whole_matrix {
  static constexpr int numbers = 18;

  template <class Take>
  LADDER_BOTH static void for_links(const device_fields<site_order>& f, int site, int mu, int nu, const Take& take) {
    for_links_of_plaquette(f, site, mu, nu, take);
  }
  LADDER_BOTH static matrix load(const double* from, int sites) {
    return matrix_of([&](int i, int j) {
      const double* at = from + (6 * i + 2 * j) * sites;
      return complex{at[0], at[sites]};
    });
  }
  LADDER_BOTH static void store(double* to, int sites, const matrix& m) {
    for (int k = 0; k < 9; ++k) {
      to[2 * k * sites] = m.at[k / 3][k % 3].re;
      to[(2 * k + 1) * sites] = m.at[k / 3][k % 3].im;
    }
  }
};

const add<parts_rung<whole_matrix>> rung_5("force-gpu", 5, "plaquette once", 4e-15,
                                           "like 4, but a thread a plaquette, for its four links");

}  // namespace
}  // namespace ladder::force_gpu
