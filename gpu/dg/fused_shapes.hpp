// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which engine and which shape a fused kernel has, by system, precision and order.
#pragma once

#include "gpu/dg/fused_stage.hpp"
#include "gpu/dg/lane_stage.hpp"

namespace plaquette::gpu::dg {

template <class System, int order>
struct fused_choice;

template <class System, class Engine, int order, class shape>
class fused_launcher;  // fused_launcher_of.hpp
template <class System, int order, class shape>
class lane_launcher;

// The fastest shapes in trials of validation/gpu-vs-cpu/dg/speed on an H200 with 3 million nodes. Arguments:
// elements, warps, groups, blocks, matrices in shared memory, batches, whether matrices are fetched a step ahead
#define PLAQUETTE_DG_CHOICE(system, order, engine, ...)                               \
  template <>                                                                         \
  struct fused_choice<system, order> {                                                \
    using launcher = fused_launcher<system, engine, order, fused_shape<__VA_ARGS__>>; \
  };
// An element a lane: warps, blocks
#define PLAQUETTE_DG_LANES(system, order, warps, blocks)                      \
  template <>                                                                 \
  struct fused_choice<system, order> {                                        \
    using launcher = lane_launcher<system, order, lane_shape<warps, blocks>>; \
  };

using acoustics_float = acoustics_in_element<float>;
using acoustics_double = acoustics_in_element<double>;
using maxwell_float = maxwell_in_element<float>;
using maxwell_double = maxwell_in_element<double>;
using acoustics_float_any = acoustics_of_any_flux<float>;
using acoustics_double_any = acoustics_of_any_flux<double>;
using maxwell_float_any = maxwell_of_any_flux<float>;
using maxwell_double_any = maxwell_of_any_flux<double>;

using fma_4x1x2 = fma_engine<float, 4, 1, 2>;
using fma_4x3x1 = fma_engine<float, 4, 3, 1>;
using fma_4x3x2 = fma_engine<float, 4, 3, 2>;
using fma_4x5x1 = fma_engine<float, 4, 5, 1>;
using fma_double_4x1x1 = fma_engine<double, 4, 1, 1>;
using dmma_8x8 = dmma_engine<1, false>;
using dmma_16x8 = dmma_engine<1, true>;
using dmma_16x16 = dmma_engine<2, true>;
using tf32_16x8 = tf32_engine<1>;
using tf32_16x16 = tf32_engine<2>;

PLAQUETTE_DG_LANES(acoustics_float, 1, 8, 2)
PLAQUETTE_DG_LANES(acoustics_float, 2, 6, 2)
PLAQUETTE_DG_CHOICE(acoustics_float, 3, fma_4x5x1, 8, 1, 8, 2, true, 2, 5, 5)
PLAQUETTE_DG_CHOICE(acoustics_float, 4, tf32_16x8, 8, 3, 3, 2, true, 1, 4, 4)
PLAQUETTE_DG_CHOICE(acoustics_float, 5, tf32_16x16, 16, 4, 1, 4, false, 1, 4, 4)
PLAQUETTE_DG_CHOICE(acoustics_float, 6, tf32_16x16, 16, 6, 1, 2, false, 1, 4, 4)
PLAQUETTE_DG_CHOICE(acoustics_float, 7, tf32_16x16, 16, 8, 1, 2, false, 1, 4, 4)
PLAQUETTE_DG_CHOICE(acoustics_float, 8, tf32_16x16, 16, 11, 1, 1, false, 1, 4, 4)
PLAQUETTE_DG_CHOICE(acoustics_float, 9, tf32_16x8, 8, 14, 1, 2, false, 1, 4, 4)

PLAQUETTE_DG_LANES(acoustics_double, 1, 4, 3)
PLAQUETTE_DG_LANES(acoustics_double, 2, 3, 2)
PLAQUETTE_DG_CHOICE(acoustics_double, 3, dmma_8x8, 8, 3, 3, 2, true, 1, 2, 2)
PLAQUETTE_DG_CHOICE(acoustics_double, 4, dmma_8x8, 8, 5, 5, 1, true, 1, 2, 1)
PLAQUETTE_DG_CHOICE(acoustics_double, 5, dmma_16x16, 16, 4, 1, 3, false, 1, 2, 2)
PLAQUETTE_DG_CHOICE(acoustics_double, 6, dmma_16x16, 16, 6, 1, 2, false, 1, 3, 2)
PLAQUETTE_DG_CHOICE(acoustics_double, 7, dmma_16x16, 16, 8, 1, 2, false, 1, 2, 1)
PLAQUETTE_DG_CHOICE(acoustics_double, 8, dmma_16x16, 16, 11, 1, 1, false, 2, 3, 4)
PLAQUETTE_DG_CHOICE(acoustics_double, 9, dmma_16x16, 16, 14, 1, 1, false, 1, 3, 2)

PLAQUETTE_DG_LANES(maxwell_float, 1, 7, 2)
PLAQUETTE_DG_CHOICE(maxwell_float, 2, fma_4x3x1, 8, 1, 8, 3, true, 1, 3, 3)
PLAQUETTE_DG_CHOICE(maxwell_float, 3, tf32_16x8, 8, 2, 4, 2, true, 1, 4, 4)
PLAQUETTE_DG_CHOICE(maxwell_float, 4, tf32_16x8, 8, 3, 1, 5, false, 1, 4, 4)
PLAQUETTE_DG_CHOICE(maxwell_float, 5, tf32_16x8, 8, 4, 1, 4, false, 1, 4, 4, true)
PLAQUETTE_DG_CHOICE(maxwell_float, 6, tf32_16x8, 8, 6, 1, 3, false, 1, 4, 2)
PLAQUETTE_DG_CHOICE(maxwell_float, 7, tf32_16x8, 8, 4, 1, 4, false, 1, 4, 4, true)
PLAQUETTE_DG_CHOICE(maxwell_float, 8, tf32_16x8, 8, 4, 1, 4, false, 1, 3, 4, true)
PLAQUETTE_DG_CHOICE(maxwell_float, 9, tf32_16x8, 8, 5, 1, 3, false, 1, 4, 4, true)

PLAQUETTE_DG_CHOICE(maxwell_double, 1, fma_double_4x1x1, 8, 1, 8, 3, true, 1, 2, 1)
PLAQUETTE_DG_CHOICE(maxwell_double, 2, dmma_8x8, 8, 2, 4, 2, true, 1, 2, 1)
PLAQUETTE_DG_CHOICE(maxwell_double, 3, dmma_8x8, 8, 3, 3, 2, true, 1, 2, 1)
PLAQUETTE_DG_CHOICE(maxwell_double, 4, dmma_8x8, 8, 5, 1, 4, false, 1, 2, 1)
PLAQUETTE_DG_CHOICE(maxwell_double, 5, dmma_16x8, 8, 4, 1, 3, false, 1, 2, 2)
PLAQUETTE_DG_CHOICE(maxwell_double, 6, dmma_16x8, 8, 6, 1, 2, false, 1, 2, 1)
PLAQUETTE_DG_CHOICE(maxwell_double, 7, dmma_16x8, 8, 8, 1, 2, false, 1, 2, 2)
PLAQUETTE_DG_CHOICE(maxwell_double, 8, dmma_16x8, 8, 11, 1, 1, false, 1, 2, 1)
PLAQUETTE_DG_CHOICE(maxwell_double, 9, dmma_16x8, 8, 14, 1, 1, false, 1, 2, 1)

// Any flux. More is lifted, and fewer sums are kept.
PLAQUETTE_DG_CHOICE(acoustics_float_any, 1, fma_4x1x2, 16, 1, 8, 3, true, 1, 2, 2)
PLAQUETTE_DG_CHOICE(acoustics_float_any, 2, fma_4x3x2, 16, 1, 8, 2, true, 1, 5, 6)
PLAQUETTE_DG_CHOICE(acoustics_float_any, 3, fma_4x5x1, 8, 1, 8, 2, true, 2, 5, 5)
PLAQUETTE_DG_CHOICE(acoustics_float_any, 4, tf32_16x8, 8, 3, 3, 2, true, 1, 4, 4)
PLAQUETTE_DG_CHOICE(acoustics_float_any, 5, tf32_16x16, 16, 4, 1, 4, false, 1, 4, 4)
PLAQUETTE_DG_CHOICE(acoustics_float_any, 6, tf32_16x16, 16, 6, 1, 2, false, 1, 4, 4)
PLAQUETTE_DG_CHOICE(acoustics_float_any, 7, tf32_16x16, 16, 8, 1, 2, false, 1, 4, 4)
PLAQUETTE_DG_CHOICE(acoustics_float_any, 8, tf32_16x16, 16, 11, 1, 1, false, 1, 4, 4)
PLAQUETTE_DG_CHOICE(acoustics_float_any, 9, tf32_16x16, 16, 14, 1, 1, false, 1, 4, 4)

PLAQUETTE_DG_CHOICE(acoustics_double_any, 1, fma_double_4x1x1, 8, 1, 8, 3, true, 1, 2, 1)
PLAQUETTE_DG_CHOICE(acoustics_double_any, 2, dmma_8x8, 8, 2, 4, 2, true, 1, 2, 1)
PLAQUETTE_DG_CHOICE(acoustics_double_any, 3, dmma_8x8, 8, 3, 3, 2, true, 1, 2, 2)
PLAQUETTE_DG_CHOICE(acoustics_double_any, 4, dmma_8x8, 8, 5, 1, 4, false, 1, 2, 1)
PLAQUETTE_DG_CHOICE(acoustics_double_any, 5, dmma_16x16, 16, 4, 1, 3, false, 1, 2, 2)
PLAQUETTE_DG_CHOICE(acoustics_double_any, 6, dmma_16x16, 16, 6, 1, 2, false, 1, 3, 2)
PLAQUETTE_DG_CHOICE(acoustics_double_any, 7, dmma_16x16, 16, 8, 1, 2, false, 1, 2, 1)
PLAQUETTE_DG_CHOICE(acoustics_double_any, 8, dmma_16x16, 16, 11, 1, 1, false, 2, 3, 4)
PLAQUETTE_DG_CHOICE(acoustics_double_any, 9, dmma_16x16, 16, 14, 1, 1, false, 1, 3, 2)

PLAQUETTE_DG_CHOICE(maxwell_float_any, 1, fma_4x1x2, 16, 1, 8, 2, true, 1, 2, 2)
PLAQUETTE_DG_CHOICE(maxwell_float_any, 2, fma_4x3x1, 8, 1, 8, 2, true, 1, 3, 3)
PLAQUETTE_DG_CHOICE(maxwell_float_any, 3, tf32_16x8, 8, 2, 4, 2, true, 1, 4, 4)
PLAQUETTE_DG_CHOICE(maxwell_float_any, 4, tf32_16x8, 8, 3, 1, 5, false, 1, 4, 4)
PLAQUETTE_DG_CHOICE(maxwell_float_any, 5, tf32_16x8, 8, 4, 1, 4, false, 1, 4, 4)
PLAQUETTE_DG_CHOICE(maxwell_float_any, 6, tf32_16x8, 8, 6, 1, 3, false, 1, 4, 2)
PLAQUETTE_DG_CHOICE(maxwell_float_any, 7, tf32_16x8, 8, 8, 1, 2, false, 1, 4, 4)
PLAQUETTE_DG_CHOICE(maxwell_float_any, 8, tf32_16x8, 8, 11, 1, 1, false, 1, 3, 4)
PLAQUETTE_DG_CHOICE(maxwell_float_any, 9, tf32_16x8, 8, 14, 1, 1, false, 1, 4, 4)

PLAQUETTE_DG_CHOICE(maxwell_double_any, 1, fma_double_4x1x1, 8, 1, 8, 2, true, 1, 2, 1)
PLAQUETTE_DG_CHOICE(maxwell_double_any, 2, dmma_8x8, 8, 2, 4, 2, true, 1, 2, 1)
PLAQUETTE_DG_CHOICE(maxwell_double_any, 3, dmma_8x8, 8, 3, 1, 5, false, 1, 2, 1)
PLAQUETTE_DG_CHOICE(maxwell_double_any, 4, dmma_8x8, 8, 5, 1, 3, false, 1, 2, 1)
PLAQUETTE_DG_CHOICE(maxwell_double_any, 5, dmma_16x8, 8, 4, 1, 3, false, 1, 2, 2)
PLAQUETTE_DG_CHOICE(maxwell_double_any, 6, dmma_16x8, 8, 6, 1, 2, false, 1, 2, 1)
PLAQUETTE_DG_CHOICE(maxwell_double_any, 7, dmma_16x8, 8, 8, 1, 2, false, 1, 2, 2)
PLAQUETTE_DG_CHOICE(maxwell_double_any, 8, dmma_16x8, 8, 11, 1, 1, false, 1, 2, 1)
PLAQUETTE_DG_CHOICE(maxwell_double_any, 9, dmma_16x8, 8, 14, 1, 1, false, 1, 2, 1)

#undef PLAQUETTE_DG_CHOICE
#undef PLAQUETTE_DG_LANES

}  // namespace plaquette::gpu::dg
