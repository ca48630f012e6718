// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/context.hpp"

#include "common/error.hpp"
#include "gpu/tuning/tuner.hpp"

namespace plaquette::gpu {

context::context(const lattice_geometry& geometry, const communicator& comm, int device,
                 std::shared_ptr<gpu::tuner> tuner, const rank_options& ranks) {
  if (comm.size() != volume(geometry.grid()) || comm.rank() != geometry.rank())
    throw input_error("process grid " + plaquette::to_string(geometry.grid()) + " has " +
                      std::to_string(volume(geometry.grid())) + " ranks, this rank is number " +
                      std::to_string(geometry.rank()) + "; expected " + std::to_string(comm.size()) + " and number " +
                      std::to_string(comm.rank()));
  state_ = std::make_shared<const state>(state{geometry, comm, gpu::queue(device), describe_device(device),
                                               site_order(geometry.local()), std::make_shared<memory_pool>(device),
                                               tuner ? std::move(tuner) : std::make_shared<gpu::tuner>(), ranks});
}

}  // namespace plaquette::gpu
