// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Contexts of the device library for tests on several ranks: each rank takes the GPU of its number.
#pragma once

#include "gpu/context.hpp"

namespace plaquette::validation {

inline int device_of_rank() { return communicator::world().rank() % gpu::device_count(); }

/// The whole lattice, on this rank alone.
inline gpu::context one_rank(const extents& lattice) {
  return {lattice_geometry(lattice), communicator(), device_of_rank()};
}

/// This rank's part of a lattice on all ranks.
inline gpu::context part_of(const extents& lattice, const extents& grid,
                            gpu::halo_policy policy = gpu::halo_policy::automatic, bool overlap = true) {
  const auto world = communicator::world();
  gpu::rank_options options;
  options.policy = policy;
  options.overlap = overlap;
  options.wait = gpu::wait_mode::block;  // there may be more ranks than cores
  return {lattice_geometry(lattice, grid, world.rank()), world, device_of_rank(), nullptr, options};
}

}  // namespace plaquette::validation
