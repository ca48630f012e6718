// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dg/fused_launcher.hpp"

#include <stdexcept>

namespace plaquette::gpu::dg {

template <>
std::unique_ptr<stage_launcher<float, 4>> make_fused_launcher_of<float, 4, false>(const reference_element&,
                                                                                  const std::vector<element_geometry>&,
                                                                                  bool, const queue&);
template <>
std::unique_ptr<stage_launcher<float, 4>> make_fused_launcher_of<float, 4, true>(const reference_element&,
                                                                                 const std::vector<element_geometry>&,
                                                                                 bool, const queue&);
template <>
std::unique_ptr<stage_launcher<double, 4>> make_fused_launcher_of<double, 4, false>(
    const reference_element&, const std::vector<element_geometry>&, bool, const queue&);
template <>
std::unique_ptr<stage_launcher<double, 4>> make_fused_launcher_of<double, 4, true>(const reference_element&,
                                                                                   const std::vector<element_geometry>&,
                                                                                   bool, const queue&);
template <>
std::unique_ptr<stage_launcher<float, 6>> make_fused_launcher_of<float, 6, false>(const reference_element&,
                                                                                  const std::vector<element_geometry>&,
                                                                                  bool, const queue&);
template <>
std::unique_ptr<stage_launcher<float, 6>> make_fused_launcher_of<float, 6, true>(const reference_element&,
                                                                                 const std::vector<element_geometry>&,
                                                                                 bool, const queue&);
template <>
std::unique_ptr<stage_launcher<double, 6>> make_fused_launcher_of<double, 6, false>(
    const reference_element&, const std::vector<element_geometry>&, bool, const queue&);
template <>
std::unique_ptr<stage_launcher<double, 6>> make_fused_launcher_of<double, 6, true>(const reference_element&,
                                                                                   const std::vector<element_geometry>&,
                                                                                   bool, const queue&);

template <class T, int fields>
std::unique_ptr<stage_launcher<T, fields>> make_fused_launcher(const reference_element& reference,
                                                               const std::vector<element_geometry>& geometry,
                                                               bool is_upwind, const queue& q) {
  if (reference.dimension != 3 || reference.order > highest_fused_order)
    throw std::logic_error("make_fused_launcher: no such kernels; ask has_fused_stage before");
  if (reference.order > last_low_order)
    return make_fused_launcher_of<T, fields, true>(reference, geometry, is_upwind, q);
  return make_fused_launcher_of<T, fields, false>(reference, geometry, is_upwind, q);
}

template std::unique_ptr<stage_launcher<float, 4>> make_fused_launcher(const reference_element&,
                                                                       const std::vector<element_geometry>&, bool,
                                                                       const queue&);
template std::unique_ptr<stage_launcher<double, 4>> make_fused_launcher(const reference_element&,
                                                                        const std::vector<element_geometry>&, bool,
                                                                        const queue&);
template std::unique_ptr<stage_launcher<float, 6>> make_fused_launcher(const reference_element&,
                                                                       const std::vector<element_geometry>&, bool,
                                                                       const queue&);
template std::unique_ptr<stage_launcher<double, 6>> make_fused_launcher(const reference_element&,
                                                                        const std::vector<element_geometry>&, bool,
                                                                        const queue&);

}  // namespace plaquette::gpu::dg
