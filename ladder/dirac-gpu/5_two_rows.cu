// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-gpu/5_two_rows.cu: like 4_single, but reads two rows of a link and computes the third. A GPU has far
// more arithmetic than bytes.
#include "ladder/dirac-gpu/hops.hpp"

namespace ladder::dirac_gpu {
namespace {

/// Reads two rows of a link. The third is the conjugate of their cross product, since the link is in SU(3).
template <class R>
struct two_rows {
  static constexpr int numbers_of_link = 6;
  const complex<R>* numbers;  ///< [mu][row][column][site]; the third row is not read
  int sites;
  LADDER_BOTH void operator()(link<R>& u, int site, int mu) const {
    for (int k = 0; k < 6; ++k) u[k / 3][k % 3] = numbers[(mu * 9 + k) * sites + site];
    make_third_row(u);
  }
};

const add<hops_rung<float, two_rows>> rung_5("dirac-gpu", 5, "two rows of a link", 1e-6,
                                             "like 4, but computes the third row of a link");

}  // namespace
}  // namespace ladder::dirac_gpu
