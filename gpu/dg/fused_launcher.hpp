// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fused kernels of all orders behind one type. Each precision, system and half of the orders is a file of its own, so
/// that they are compiled side by side.
#pragma once

#include <memory>
#include <vector>

#include "common/dg/element_geometry.hpp"
#include "common/dg/reference_element.hpp"
#include "gpu/device/runtime.hpp"
#include "gpu/dg/stage_kernels.hpp"

namespace plaquette::gpu::dg {

inline constexpr int highest_fused_order = 9;

/// For acoustics (4 fields) or Maxwell's equations (6) in three dimensions.
/// \param is_upwind  whether the flux of all faces is: those kernels lift half as much
template <class T, int fields>
std::unique_ptr<stage_launcher<T, fields>> make_fused_launcher(const reference_element& reference,
                                                               const std::vector<element_geometry>& geometry,
                                                               bool is_upwind, const queue& q);

/// Returns the launchers of the orders of one file; null for others.
template <class T, int fields, bool high>
std::unique_ptr<stage_launcher<T, fields>> make_fused_launcher_of(const reference_element& reference,
                                                                  const std::vector<element_geometry>& geometry,
                                                                  bool is_upwind, const queue& q);
inline constexpr int last_low_order = 5;  ///< orders above are `high`

}  // namespace plaquette::gpu::dg
