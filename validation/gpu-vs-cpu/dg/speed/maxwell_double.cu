// SPDX-License-Identifier: BSD-3-Clause
#include "validation/gpu-vs-cpu/dg/speed/variants.hpp"

namespace plaquette::gpu::dg {

void time_maxwell_double(const dg_domain& domain, const queue& q, const speed_options& options) {
  stage_bench<double, 6> b(domain, q, options);
  try_simple(b);
  using system = maxwell_double;
  try_fused<system, fma_engine<double, 4, 1, 1>, 1, fused_shape<8, 1, 8, 3, true, 1, 2, 1>>(b, "f4x1x1");
  try_fused<system, dmma_engine<1, false>, 2, fused_shape<8, 2, 4, 2, true, 1, 2, 1>>(b, "d8x1");
  try_fused<system, dmma_engine<1, false>, 2, fused_shape<8, 2, 1, 8, true, 1, 2, 1>>(b, "d8x1");
  try_fused<system, dmma_engine<1, false>, 3, fused_shape<8, 3, 3, 2, true, 1, 2, 2>>(b, "d8x1");
  try_fused<system, dmma_engine<1, false>, 4, fused_shape<8, 5, 1, 4, false, 1, 2, 2>>(b, "d8x1");
  try_fused<system, dmma_engine<1, false>, 4, fused_shape<8, 5, 2, 2, true, 1, 2, 1>>(b, "d8x1");
  try_fused<system, dmma_engine<1, true>, 5, fused_shape<8, 4, 1, 3, false, 1, 2, 2>>(b, "d16x1");
  try_fused<system, dmma_engine<1, true>, 6, fused_shape<8, 6, 1, 2, false, 1, 3, 2>>(b, "d16x1");
  try_fused<system, dmma_engine<1, true>, 7, fused_shape<8, 8, 1, 2, false, 1, 2, 2>>(b, "d16x1");
  try_fused<system, dmma_engine<2, true>, 7, fused_shape<16, 8, 1, 1, false, 1, 2, 2>>(b, "d16x2");
  try_fused<system, dmma_engine<1, true>, 8, fused_shape<8, 11, 1, 1, false, 1, 3, 2>>(b, "d16x1");
  try_fused<system, dmma_engine<2, true>, 8, fused_shape<16, 11, 1, 1, false, 1, 3, 2>>(b, "d16x2");
  try_lanes<system, 1, lane_shape<8, 1>>(b);
  try_lanes<system, 1, lane_shape<4, 2>>(b);
  try_lanes<system, 2, lane_shape<4, 1>>(b);
  std::printf("%s\n", b.best().c_str());
}

}  // namespace plaquette::gpu::dg
