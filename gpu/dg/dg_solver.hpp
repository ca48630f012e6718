// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Nodal discontinuous Galerkin on a device: the twin of cpu_ref/dg/production.hpp.
#pragma once

#include <memory>
#include <string>

#include "common/dg/dg_solver.hpp"
#include "common/krylov/precision.hpp"
#include "gpu/comms/rank_options.hpp"
#include "gpu/device/runtime.hpp"
#include "gpu/dg/stage_kernels.hpp"

namespace plaquette::gpu {

struct dg_solver_options {
  /// Which kernels do a stage. Without a choice: fused if there are such kernels (three dimensions), else classic.
  enum class choice { automatic, products, gather, classic, fused };
  choice kernel = choice::automatic;
  rank_options ranks;  ///< how ghost faces travel; `peer` means automatic
};

/// Orders that kernels of the device know.
inline constexpr int highest_dg_order = 9;

/// Whether fused kernels can do this domain.
bool has_fused_stage(const dg_domain& domain, precision p);

/// Collective. The domain is read here and not kept. `columns` states advance side by side.
/// \param q of the rank's device; several ranks may share one.
/// Throws input_error if the order is above highest_dg_order, the precision is half, or the chosen kernel cannot do
/// this domain. Throws memory_error if the device has no room.
std::unique_ptr<dg_solver> make_dg_solver(const dg_domain& domain, precision p, int columns, const queue& q,
                                          const dg_solver_options& options = {});

/// Returns the bytes of the device's memory that such a solver takes on this rank.
std::size_t bytes_of_dg_solver(const dg_domain& domain, precision p, int columns, dg_solver_options::choice kernel);

}  // namespace plaquette::gpu
