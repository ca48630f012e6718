// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/context.hpp"

#include <string>
#include <utility>

#include "common/error.hpp"
#include "gpu/halo/halo_choice.hpp"

namespace plaquette::gpu {

namespace {

/// Returns the geometry; throws if it is not this rank's part of a lattice on these ranks.
const lattice_geometry& fitting(const lattice_geometry& geometry, const communicator& comm) {
  if (comm.size() != volume(geometry.grid()) || comm.rank() != geometry.rank())
    throw input_error("process grid " + plaquette::to_string(geometry.grid()) + " has " +
                      std::to_string(volume(geometry.grid())) + " ranks, this rank is number " +
                      std::to_string(geometry.rank()) + "; expected " + std::to_string(comm.size()) + " and number " +
                      std::to_string(comm.rank()));
  return geometry;
}

}  // namespace

context::context(const lattice_geometry& geometry, const communicator& comm, int device,
                 std::shared_ptr<gpu::tuner> tuner, const rank_options& ranks)
    : context(fitting(geometry, comm), gpu::execution(comm, device, std::move(tuner), ranks)) {}

context::context(const lattice_geometry& geometry, const gpu::execution& on)
    : state_(std::make_shared<const state>(state{on, fitting(geometry, on.comm()), site_order(geometry.local())})) {
  if (comm().size() > 1 && ranks().policy != halo_policy::automatic) halo_of_ranks();  // a refusal is heard now
}

gpu::halo* context::halo_of_ranks() const {
  if (!state_->halo) {
    state_->halo = make_halo(geometry(), comm(), queue(), ranks(), execution().watch(), tuner());
    execution().set_first_halo(state_->halo);
    if (!state_->halo->recordable()) execution().note_messages_of_host();
  }
  return state_->halo.get();
}

}  // namespace plaquette::gpu
