// SPDX-License-Identifier: BSD-3-Clause
// ladder/dg-gpu/4_covariant.cu: like 3_fused, but derives covariant components: 12 derivatives a node, not 18.
#include "ladder/dg-gpu/covariant.hpp"

namespace ladder::dg_gpu {
namespace {

const add<covariant_rung<double>> rung_4("dg-gpu", 4, "covariant components", 6e-15,
                                         "like 3, but 12 derivatives, not 18");

}  // namespace
}  // namespace ladder::dg_gpu
