// SPDX-License-Identifier: BSD-3-Clause
#include "validation/gpu-vs-cpu/dg/speed/variants.hpp"

namespace plaquette::gpu::dg {

void time_maxwell_single(const dg_domain& domain, const queue& q, const speed_options& options) {
  stage_bench<float, 6> b(domain, q, options);
  try_simple(b);
  using system = maxwell_float;
  try_fused<system, fma_engine<float, 4, 5, 1>, 3, fused_shape<8, 1, 8, 2, true, 1, 4, 2>>(b, "f4x5x1");
  try_fused<system, tf32_engine<2>, 7, fused_shape<16, 8, 1, 2, false, 1, 4, 4>>(b, "t2");
  try_lanes<system, 1, lane_shape<8, 2>>(b);
  try_lanes<system, 2, lane_shape<8, 1>>(b);
  std::printf("%s\n", b.best().c_str());
}

}  // namespace plaquette::gpu::dg
