// SPDX-License-Identifier: BSD-3-Clause
#include "validation/gpu-vs-cpu/dg/speed/variants.hpp"

namespace plaquette::gpu::dg {

void time_acoustics_double(const dg_domain& domain, const queue& q, const speed_options& options) {
  stage_bench<double, 4> b(domain, q, options);
  try_simple(b);
  using system = acoustics_double;
  try_fused<system, fma_engine<double, 4, 1, 2>, 1, fused_shape<16, 1, 8, 2, true, 1, 4, 2>>(b, "f4x1x2");
  try_fused<system, fma_engine<double, 4, 1, 1>, 1, fused_shape<8, 1, 8, 4, true, 1, 1, 1>>(b, "f4x1x1");
  try_fused<system, fma_engine<double, 4, 3, 1>, 2, fused_shape<8, 1, 8, 2, true, 1, 4, 3>>(b, "f4x3x1");
  try_fused<system, fma_engine<double, 8, 2, 1>, 2, fused_shape<4, 1, 8, 3, true, 1, 2, 1>>(b, "f8x2x1");
  try_fused<system, dmma_engine<1, false>, 2, fused_shape<8, 2, 4, 3, true, 1, 2, 1>>(b, "d8x1");
  try_fused<system, dmma_engine<2, false>, 2, fused_shape<16, 2, 4, 2, true, 1, 2, 1>>(b, "d8x2");
  try_fused<system, dmma_engine<2, false>, 3, fused_shape<16, 3, 3, 2, true, 1, 2, 1>>(b, "d8x2");
  try_fused<system, dmma_engine<2, false>, 3, fused_shape<16, 3, 1, 6, false, 1, 2, 1>>(b, "d8x2");
  try_fused<system, dmma_engine<1, false>, 3, fused_shape<8, 3, 3, 2, true, 1, 2, 1>>(b, "d8x1");
  try_fused<system, dmma_engine<1, false>, 3, fused_shape<8, 3, 1, 7, false, 1, 2, 1>>(b, "d8x1");
  try_fused<system, fma_engine<double, 4, 5, 1>, 3, fused_shape<8, 1, 8, 2, true, 1, 2, 1>>(b, "f4x5x1");
  try_fused<system, dmma_engine<1, false>, 3, fused_shape<8, 3, 1, 6, false, 1, 4, 2>>(b, "d8x1");
  try_fused<system, dmma_engine<2, false>, 4, fused_shape<16, 5, 1, 4, false, 1, 2, 1>>(b, "d8x2");
  try_fused<system, dmma_engine<2, false>, 4, fused_shape<16, 5, 4, 1, true, 1, 2, 1>>(b, "d8x2");
  try_fused<system, dmma_engine<1, false>, 4, fused_shape<8, 5, 1, 4, false, 1, 4, 2>>(b, "d8x1");
  try_fused<system, dmma_engine<1, false>, 4, fused_shape<8, 5, 5, 1, true, 1, 2, 1>>(b, "d8x1");
  try_fused<system, dmma_engine<1, true>, 4, fused_shape<8, 3, 1, 6, false, 1, 2, 1>>(b, "d16x1");
  try_fused<system, dmma_engine<2, true>, 5, fused_shape<16, 4, 1, 4, false, 1, 2, 1>>(b, "d16x2");
  try_fused<system, dmma_engine<2, true>, 5, fused_shape<16, 4, 1, 3, false, 1, 2, 1>>(b, "d16x2");
  try_fused<system, dmma_engine<2, false>, 5, fused_shape<16, 7, 1, 3, false, 1, 2, 1>>(b, "d8x2");
  try_fused<system, dmma_engine<1, true>, 5, fused_shape<8, 4, 1, 5, false, 1, 2, 1>>(b, "d16x1");
  try_fused<system, dmma_engine<1, false>, 5, fused_shape<8, 7, 1, 3, false, 1, 2, 1>>(b, "d8x1");
  try_fused<system, dmma_engine<2, true>, 6, fused_shape<16, 6, 1, 2, false, 1, 2, 1>>(b, "d16x2");
  try_fused<system, dmma_engine<2, true>, 6, fused_shape<16, 6, 1, 3, false, 1, 2, 1>>(b, "d16x2");
  try_fused<system, dmma_engine<2, true>, 6, fused_shape<32, 12, 1, 1, false, 1, 2, 1>>(b, "d16x2");
  try_fused<system, dmma_engine<1, true>, 6, fused_shape<8, 6, 1, 3, false, 1, 2, 1>>(b, "d16x1");
  try_fused<system, dmma_engine<4, true>, 6, fused_shape<32, 6, 1, 1, false, 1, 2, 1>>(b, "d16x4");
  try_fused<system, dmma_engine<2, true>, 7, fused_shape<16, 8, 1, 2, false, 1, 2, 1>>(b, "d16x2");
  try_fused<system, dmma_engine<2, true>, 7, fused_shape<32, 16, 1, 1, false, 1, 2, 1>>(b, "d16x2");
  try_fused<system, dmma_engine<2, true>, 7, fused_shape<32, 8, 1, 1, false, 1, 2, 1>>(b, "d16x2");
  try_fused<system, dmma_engine<1, true>, 7, fused_shape<8, 8, 1, 2, false, 1, 2, 1>>(b, "d16x1");
  try_fused<system, dmma_engine<3, true>, 7, fused_shape<24, 8, 1, 1, false, 1, 2, 1>>(b, "d16x3");
  try_fused<system, dmma_engine<2, true>, 8, fused_shape<16, 11, 1, 1, false, 1, 2, 1>>(b, "d16x2");
  try_fused<system, dmma_engine<3, true>, 8, fused_shape<24, 11, 1, 1, false, 1, 2, 1>>(b, "d16x3");
  try_fused<system, dmma_engine<1, true>, 8, fused_shape<8, 11, 1, 1, false, 1, 2, 1>>(b, "d16x1");
  try_fused<system, dmma_engine<1, true>, 8, fused_shape<8, 6, 1, 3, false, 1, 2, 1>>(b, "d16x1");
  try_fused<system, dmma_engine<3, true>, 8, fused_shape<24, 6, 1, 1, false, 1, 2, 1>>(b, "d16x3");
  std::printf("%s\n", b.best().c_str());
}

}  // namespace plaquette::gpu::dg
