// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dg/fused_launcher_of.hpp"

namespace plaquette::gpu::dg {

template <>
std::unique_ptr<stage_launcher<double, 4>> make_fused_launcher_of<double, 4, true>(
    const reference_element& reference, const std::vector<element_geometry>& geometry, bool is_upwind, const queue& q) {
  if (is_upwind)
    return launcher_of_order<acoustics_double, last_low_order + 1, highest_fused_order>(reference, geometry, q);
  return launcher_of_order<acoustics_double_any, last_low_order + 1, highest_fused_order>(reference, geometry, q);
}

}  // namespace plaquette::gpu::dg
