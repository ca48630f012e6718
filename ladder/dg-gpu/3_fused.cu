// SPDX-License-Identifier: BSD-3-Clause
// ladder/dg-gpu/3_fused.cu: like 2_fluxes_once, but one kernel does a stage. Fields and fluxes of four elements
// are in the memory that a block of threads shares, and the rate of change is in registers.
#include "ladder/dg-gpu/fused.hpp"

namespace ladder::dg_gpu {
namespace {

const add<fused_rung<double, cartesian>> rung_3("dg-gpu", 3, "one kernel", 6e-15,
                                                "like 2, but one kernel does a stage");

}  // namespace
}  // namespace ladder::dg_gpu
