// SPDX-License-Identifier: BSD-3-Clause
#include "validation/gpu-vs-cpu/dg/speed/variants.hpp"

namespace plaquette::gpu::dg {

void time_acoustics_single(const dg_domain& domain, const queue& q, const speed_options& options) {
  stage_bench<float, 4> b(domain, q, options);
  try_simple(b);
  using system = acoustics_float;
  try_fused<system, tf32_engine<2>, 7, fused_shape<16, 8, 1, 2, false, 1, 4, 4, true>>(b, "t2");
  try_fused<system, tf32_engine<2>, 8, fused_shape<16, 11, 1, 1, false, 1, 4, 4, true>>(b, "t2");
  try_fused<system, tf32_engine<1>, 9, fused_shape<8, 14, 1, 2, false, 1, 4, 4, true>>(b, "t1");
  try_fused<acoustics_float_any, fma_engine<float, 4, 1, 2>, 1, fused_shape<16, 1, 8, 4, true, 1, 2, 2>>(b, "f4x1x2");
  try_fused<acoustics_float_any, fma_engine<float, 4, 3, 1>, 2, fused_shape<8, 1, 4, 4, true, 1, 3, 3>>(b, "f4x3x1");
  try_lanes<system, 1, lane_shape<8, 2>>(b);
  try_lanes<system, 2, lane_shape<6, 2>>(b);
  try_lanes<system, 3, lane_shape<7, 1>>(b);
  std::printf("%s\n", b.best().c_str());
}

}  // namespace plaquette::gpu::dg
