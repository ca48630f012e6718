// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/context.hpp"

#include "common/error.hpp"
#include "gpu/tuning/tuner.hpp"

namespace plaquette::gpu {

context::context(const lattice_geometry& geometry, const communicator& comm, int device,
                 std::shared_ptr<gpu::tuner> tuner) {
  if (comm.size() != 1 || volume(geometry.grid()) != 1)
    throw input_error("the CUDA library of this version runs on one rank; found " + std::to_string(comm.size()) +
                      " ranks and process grid " + plaquette::to_string(geometry.grid()));
  state_ = std::make_shared<const state>(state{geometry, comm, gpu::queue(device), describe_device(device),
                                               site_order(geometry.local()), std::make_shared<memory_pool>(device),
                                               tuner ? std::move(tuner) : std::make_shared<gpu::tuner>()});
}

}  // namespace plaquette::gpu
