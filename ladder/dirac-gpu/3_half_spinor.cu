// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-gpu/3_half_spinor.cu: like 2_site_order, but projects before it multiplies: two products of a link with
// a colour vector a hop, not four. A link and a spinor are in registers once.
#include "ladder/dirac-gpu/hops.hpp"

namespace ladder::dirac_gpu {
namespace {

const add<hops_rung<double, whole_links>> rung_3("dirac-gpu", 3, "half spinors", 4e-15,
                                                 "like 2, but projects before it multiplies");

}  // namespace
}  // namespace ladder::dirac_gpu
