// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-gpu/5_two_rows.cu: like 4_single, but reads two rows of a link and computes the third. A GPU has far
// more arithmetic than bytes.
#include "ladder/dirac-gpu/hops.hpp"

namespace ladder::dirac_gpu {
namespace {

const add<hops_rung<float, two_rows>> rung_5("dirac-gpu", 5, "two rows of a link", 1e-6,
                                             "like 4, but computes the third row of a link");

}  // namespace
}  // namespace ladder::dirac_gpu
