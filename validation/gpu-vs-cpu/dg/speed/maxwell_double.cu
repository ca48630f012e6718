// SPDX-License-Identifier: BSD-3-Clause
#include "validation/gpu-vs-cpu/dg/speed/variants.hpp"

namespace plaquette::gpu::dg {

void time_maxwell_double(const dg_domain& domain, const queue& q, const speed_options& options) {
  stage_bench<double, 6> b(domain, q, options);
  try_simple(b);
  using system = maxwell_double;
  try_fused<system, dmma_engine<1, true>, 6, fused_shape<8, 6, 1, 2, false, 1, 2, 1, true>>(b, "d16x1");
  try_fused<system, dmma_engine<1, true>, 7, fused_shape<8, 8, 1, 2, false, 1, 2, 2, true>>(b, "d16x1");
  try_fused<system, dmma_engine<1, true>, 8, fused_shape<8, 11, 1, 1, false, 1, 2, 1, true>>(b, "d16x1");
  try_fused<system, dmma_engine<1, true>, 9, fused_shape<8, 14, 1, 1, false, 1, 2, 1, true>>(b, "d16x1");
  try_lanes<system, 1, lane_shape<8, 1>>(b);
  std::printf("%s\n", b.best().c_str());
}

}  // namespace plaquette::gpu::dg
