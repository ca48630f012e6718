// SPDX-License-Identifier: BSD-3-Clause
#include "validation/gpu-vs-cpu/dg/speed/variants.hpp"

namespace plaquette::gpu::dg {

void time_acoustics_single(const dg_domain& domain, const queue& q, const speed_options& options) {
  stage_bench<float, 4> b(domain, q, options);
  try_simple(b);
  using system = acoustics_float;
  try_fused<system, fma_engine<float, 4, 1, 4>, 1, fused_shape<32, 1, 8, 2, true, 2, 4, 4>>(b, "f4x1x4");
  try_fused<system, fma_engine<float, 4, 1, 2>, 1, fused_shape<16, 1, 8, 4, true, 1, 2, 2>>(b, "f4x1x2");
  try_fused<system, fma_engine<float, 4, 1, 2>, 1, fused_shape<16, 1, 8, 3, true, 2, 2, 2>>(b, "f4x1x2");
  try_fused<system, fma_engine<float, 4, 3, 2>, 2, fused_shape<16, 1, 8, 2, true, 1, 4, 4>>(b, "f4x3x2");
  try_fused<system, fma_engine<float, 4, 3, 2>, 2, fused_shape<16, 1, 8, 2, true, 2, 5, 6>>(b, "f4x3x2");
  try_fused<system, fma_engine<float, 4, 3, 1>, 2, fused_shape<8, 1, 8, 4, true, 1, 3, 3>>(b, "f4x3x1");
  try_fused<system, fma_engine<float, 8, 2, 4>, 2, fused_shape<16, 1, 8, 2, true, 1, 5, 4>>(b, "f8x2x4");
  try_fused<system, fma_engine<float, 4, 5, 2>, 3, fused_shape<16, 1, 8, 2, true, 1, 4, 4>>(b, "f4x5x2");
  try_fused<system, fma_engine<float, 4, 5, 2>, 3, fused_shape<16, 1, 8, 2, true, 1, 5, 5>>(b, "f4x5x2");
  try_fused<system, fma_engine<float, 4, 5, 1>, 3, fused_shape<8, 1, 8, 3, true, 1, 5, 5>>(b, "f4x5x1");
  try_fused<system, fma_engine<float, 4, 5, 1>, 3, fused_shape<8, 1, 8, 2, true, 2, 5, 5>>(b, "f4x5x1");
  try_fused<system, fma_engine<float, 8, 3, 4>, 3, fused_shape<16, 1, 8, 2, true, 1, 4, 4>>(b, "f8x3x4");
  try_fused<system, tf32_engine<1>, 3, fused_shape<8, 2, 4, 2, true, 1, 5, 4>>(b, "t1");
  try_fused<system, fma_engine<float, 8, 5, 2>, 4, fused_shape<8, 1, 8, 2, true, 1, 4, 4>>(b, "f8x5x2");
  try_fused<system, fma_engine<float, 8, 5, 2>, 4, fused_shape<8, 1, 8, 2, true, 2, 5, 5>>(b, "f8x5x2");
  try_fused<system, fma_engine<float, 4, 9, 1>, 4, fused_shape<8, 1, 8, 2, true, 1, 5, 3>>(b, "f4x9x1");
  try_fused<system, tf32_engine<2>, 4, fused_shape<16, 3, 3, 2, true, 1, 4, 4>>(b, "t2");
  try_fused<system, tf32_engine<1>, 4, fused_shape<8, 3, 3, 2, true, 1, 4, 4>>(b, "t1");
  try_fused<system, tf32_engine<1>, 4, fused_shape<8, 3, 7, 1, true, 1, 4, 4>>(b, "t1");
  try_fused<system, tf32_engine<2>, 5, fused_shape<16, 4, 4, 1, true, 1, 4, 4>>(b, "t2");
  try_fused<system, tf32_engine<2>, 5, fused_shape<16, 4, 5, 1, true, 1, 4, 4>>(b, "t2");
  try_fused<system, tf32_engine<2>, 5, fused_shape<16, 4, 1, 4, false, 1, 4, 4>>(b, "t2");
  try_fused<system, tf32_engine<1>, 5, fused_shape<8, 4, 5, 1, true, 1, 4, 4>>(b, "t1");
  try_fused<system, tf32_engine<2>, 5, fused_shape<32, 8, 1, 2, false, 1, 4, 4>>(b, "t2");
  try_fused<system, tf32_engine<1>, 5, fused_shape<8, 4, 1, 5, false, 1, 4, 4>>(b, "t1");
  try_fused<system, tf32_engine<2>, 6, fused_shape<16, 6, 1, 2, false, 1, 4, 4>>(b, "t2");
  try_fused<system, tf32_engine<2>, 6, fused_shape<16, 6, 1, 3, false, 1, 4, 4>>(b, "t2");
  try_fused<system, tf32_engine<2>, 6, fused_shape<16, 6, 2, 1, true, 1, 4, 4>>(b, "t2");
  try_fused<system, tf32_engine<2>, 6, fused_shape<32, 6, 1, 2, false, 1, 4, 4>>(b, "t2");
  try_fused<system, tf32_engine<4>, 6, fused_shape<32, 6, 1, 2, false, 1, 4, 4>>(b, "t4");
  try_fused<system, tf32_engine<3>, 6, fused_shape<24, 6, 1, 2, false, 1, 4, 4>>(b, "t3");
  try_fused<system, tf32_engine<2>, 7, fused_shape<16, 8, 1, 2, false, 1, 4, 4>>(b, "t2");
  try_fused<system, tf32_engine<2>, 7, fused_shape<32, 8, 1, 2, false, 1, 4, 4>>(b, "t2");
  try_fused<system, tf32_engine<4>, 7, fused_shape<32, 8, 1, 2, false, 1, 4, 4>>(b, "t4");
  try_fused<system, tf32_engine<3>, 7, fused_shape<24, 8, 1, 2, false, 1, 4, 4>>(b, "t3");
  try_fused<system, tf32_engine<2>, 7, fused_shape<16, 8, 1, 3, false, 1, 4, 2>>(b, "t2");
  try_fused<system, tf32_engine<2>, 8, fused_shape<32, 11, 1, 1, false, 1, 4, 4>>(b, "t2");
  try_fused<system, tf32_engine<2>, 8, fused_shape<16, 11, 1, 2, false, 1, 4, 2>>(b, "t2");
  try_fused<system, tf32_engine<3>, 8, fused_shape<24, 11, 1, 1, false, 1, 4, 4>>(b, "t3");
  try_fused<system, tf32_engine<4>, 8, fused_shape<32, 11, 1, 1, false, 1, 4, 4>>(b, "t4");
  try_fused<system, tf32_engine<2>, 8, fused_shape<32, 6, 1, 1, false, 1, 4, 4>>(b, "t2");
  try_fused<system, tf32_engine<2>, 8, fused_shape<16, 6, 1, 2, false, 1, 4, 4>>(b, "t2");
  std::printf("%s\n", b.best().c_str());
}

}  // namespace plaquette::gpu::dg
