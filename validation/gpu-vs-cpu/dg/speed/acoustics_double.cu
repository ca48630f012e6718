// SPDX-License-Identifier: BSD-3-Clause
#include "validation/gpu-vs-cpu/dg/speed/variants.hpp"

namespace plaquette::gpu::dg {

void time_acoustics_double(const dg_domain& domain, const queue& q, const speed_options& options) {
  stage_bench<double, 4> b(domain, q, options);
  try_simple(b);
  using system = acoustics_double;
  try_fused<system, dmma_engine<2, false>, 3, fused_shape<16, 3, 3, 2, true, 1, 2, 1>>(b, "d8x2");
  try_fused<system, dmma_engine<2, false>, 4, fused_shape<16, 5, 1, 4, false, 1, 2, 1>>(b, "d8x2");
  try_fused<system, dmma_engine<2, false>, 5, fused_shape<16, 7, 1, 3, false, 1, 2, 1>>(b, "d8x2");
  try_fused<system, dmma_engine<4, true>, 7, fused_shape<32, 8, 1, 1, false, 1, 2, 2>>(b, "d16x4");
  try_fused<system, dmma_engine<3, true>, 8, fused_shape<24, 11, 1, 1, false, 1, 2, 1>>(b, "d16x3");
  try_fused<system, dmma_engine<1, true>, 9, fused_shape<8, 14, 1, 1, false, 1, 3, 2>>(b, "d16x1");
  try_fused<system, dmma_engine<1, true>, 9, fused_shape<8, 7, 1, 2, false, 1, 3, 2>>(b, "d16x1");
  try_lanes<system, 1, lane_shape<4, 3>>(b);
  try_lanes<system, 2, lane_shape<3, 2>>(b);
  std::printf("%s\n", b.best().c_str());
}

}  // namespace plaquette::gpu::dg
