// SPDX-License-Identifier: BSD-3-Clause
#include "validation/gpu-vs-cpu/dg/speed/variants.hpp"

namespace plaquette::gpu::dg {

void time_maxwell_single(const dg_domain& domain, const queue& q, const speed_options& options) {
  stage_bench<float, 6> b(domain, q, options);
  try_simple(b);
  using system = maxwell_float;

  try_fused<system, fma_engine<float, 4, 1, 2>, 1, fused_shape<16, 1, 8, 2, true, 2, 2, 2>>(b, "f4x1x2");
  try_lanes<system, 1, lane_shape<5, 3>>(b);
  try_lanes<system, 2, lane_shape<8, 1>>(b);
  try_fused<system, tf32_engine<1>, 6, fused_shape<8, 6, 1, 3, false, 1, 4, 2, true>>(b, "t1");
  try_fused<system, tf32_engine<1>, 7, fused_shape<8, 8, 1, 2, false, 1, 4, 4, true>>(b, "t1");
  try_fused<system, tf32_engine<1>, 7, fused_shape<8, 4, 1, 4, false, 1, 4, 4>>(b, "t1");
  try_fused<system, tf32_engine<1>, 8, fused_shape<8, 11, 1, 1, false, 1, 3, 4, true>>(b, "t1");
  try_fused<system, tf32_engine<1>, 9, fused_shape<8, 14, 1, 1, false, 1, 4, 4, true>>(b, "t1");
  std::printf("%s\n", b.best().c_str());
}

}  // namespace plaquette::gpu::dg
