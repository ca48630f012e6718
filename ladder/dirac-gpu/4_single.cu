// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-gpu/4_single.cu: like 3_half_spinor, but in single precision: half of the bytes, and half of the
// registers.
#include "ladder/dirac-gpu/hops.hpp"

namespace ladder::dirac_gpu {
namespace {

const add<hops_rung<float, whole_links>> rung_4("dirac-gpu", 4, "single precision", 1e-6,
                                                "like 3, but in single precision");

}  // namespace
}  // namespace ladder::dirac_gpu
