// SPDX-License-Identifier: BSD-3-Clause
#include "validation/gpu-vs-cpu/dg/speed/variants.hpp"

namespace plaquette::gpu::dg {

void time_acoustics_double(const dg_domain& domain, const queue& q, const speed_options& options) {
  stage_bench<double, 4> b(domain, q, options);
  try_simple(b);
  using system = acoustics_double;
  try_fused<system, dmma_engine<2, true>, 6, fused_shape<16, 6, 1, 2, false, 1, 3, 2, true>>(b, "d16x2");
  try_fused<system, dmma_engine<2, true>, 7, fused_shape<16, 8, 1, 2, false, 1, 2, 1, true>>(b, "d16x2");
  try_fused<system, dmma_engine<2, true>, 8, fused_shape<16, 11, 1, 1, false, 2, 3, 4, true>>(b, "d16x2");
  try_fused<system, dmma_engine<2, true>, 9, fused_shape<16, 14, 1, 1, false, 1, 3, 2, true>>(b, "d16x2");
  try_lanes<system, 1, lane_shape<4, 3>>(b);
  try_lanes<system, 2, lane_shape<3, 2>>(b);
  std::printf("%s\n", b.best().c_str());
}

}  // namespace plaquette::gpu::dg
