// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Contexts of the device library for tests on several ranks: each rank takes the GPU of its number.
#pragma once

#include <vector>

#include "common/error.hpp"
#include "gpu/context.hpp"

namespace plaquette::validation {

inline int device_of_rank() { return communicator::world().rank() % gpu::device_count(); }

/// Returns the whole lattice, on this rank alone.
inline gpu::context one_rank(const extents& lattice) {
  return {lattice_geometry(lattice), communicator(), device_of_rank()};
}

/// Returns this rank's part of a lattice on all ranks.
inline gpu::context part_of(const extents& lattice, const extents& grid,
                            gpu::halo_policy policy = gpu::halo_policy::automatic, bool overlap = true) {
  const auto world = communicator::world();
  gpu::rank_options options;
  options.policy = policy;
  options.overlap = overlap;
  options.wait = gpu::wait_mode::block;  // there may be more ranks than cores
  return {lattice_geometry(lattice, grid, world.rank()), world, device_of_rank(), nullptr, options};
}

/// Returns the policies that can be had here: two wherever ranks share a host, on GPUs maybe more.
inline const std::vector<gpu::halo_policy>& policies() {
  static const std::vector<gpu::halo_policy> found = [] {
    const auto world = communicator::world();
    const int ranks = world.size();
    std::vector<gpu::halo_policy> list{gpu::halo_policy::peer, gpu::halo_policy::staged};
    if (ranks == 1 || gpu::kernels_run_on_host()) return list;
    for (const gpu::halo_policy policy : {gpu::halo_policy::nccl, gpu::halo_policy::mpi}) try {
        part_of({2, 2, 2, 2 * ranks}, {1, 1, 1, ranks}, policy, true);
        list.push_back(policy);
      } catch (const input_error& e) {
        if (world.rank() == 0) std::printf("[     NOTE ] %s\n", e.what());
      }
    return list;
  }();
  return found;
}

}  // namespace plaquette::validation
