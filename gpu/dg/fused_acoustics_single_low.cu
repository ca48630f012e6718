// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dg/fused_launcher_of.hpp"

namespace plaquette::gpu::dg {

template <>
std::unique_ptr<stage_launcher<float, 4>> make_fused_launcher_of<float, 4, false>(
    const reference_element& reference, const std::vector<element_geometry>& geometry, bool is_upwind, const queue& q) {
  if (is_upwind) return launcher_of_order<acoustics_float, 1, last_low_order>(reference, geometry, q);
  return launcher_of_order<acoustics_float_any, 1, last_low_order>(reference, geometry, q);
}

}  // namespace plaquette::gpu::dg
