// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The lattice, ranks, device and memory that every part of the CUDA library needs, passed down from `main`.
#pragma once

#include <memory>

#include "common/comms/communicator.hpp"
#include "common/lattice/geometry.hpp"
#include "gpu/execution.hpp"
#include "gpu/lattice/site_order.hpp"

namespace plaquette::gpu {

class halo;  // gpu/halo/halo.hpp

/// A lattice on an execution. Copies share everything. `on` makes another lattice on the same execution: work of the
/// two may be queued in turn, with no wait in between. A context is taken wherever its execution alone is needed.
class context {
 public:
  /// A lattice on an execution of its own: see `execution`. Collective. Throws input_error also if the process grid
  /// does not fit the ranks.
  context(const lattice_geometry& geometry, const communicator& comm, int device = 0,
          std::shared_ptr<gpu::tuner> tuner = nullptr, const rank_options& ranks = {});
  /// A lattice on an execution that others may use. Collective. Throws input_error if the process grid does not fit the
  /// ranks, or if the halo cannot take the way that the options name.
  context(const lattice_geometry& geometry, const gpu::execution& on);

  /// Returns the context of another lattice on the same execution. Each call makes a halo of its own at its first use:
  /// keep the result. Collective; throws as the constructor.
  context on(const lattice_geometry& geometry) const { return {geometry, state_->execution}; }

  const gpu::execution& execution() const { return state_->execution; }
  operator const gpu::execution&() const { return state_->execution; }
  const lattice_geometry& geometry() const { return state_->geometry; }
  /// Returns how sites are numbered.
  const site_order& order() const { return state_->order; }
  /// Returns the exchange of operators with neighbours; null on one rank. If the way is left open it is made, and
  /// tuned, at first use: collective then.
  gpu::halo* halo() const { return comm().size() > 1 ? halo_of_ranks() : nullptr; }

  // Members of the execution.
  const communicator& comm() const { return execution().comm(); }
  const gpu::queue& queue() const { return execution().queue(); }
  const device_description& device() const { return execution().device(); }
  gpu::tuner& tuner() const { return execution().tuner(); }
  const rank_options& ranks() const { return execution().ranks(); }
  memory_pool& workspace() const { return execution().workspace(); }
  watchdog* watch() const { return execution().watch().get(); }
  bool kernels_sum_over_ranks(int columns) const { return execution().kernels_sum_over_ranks(columns); }
  const rank_sum* sums_of_next_kernel(int columns, int count) const {
    return execution().sums_of_next_kernel(columns, count);
  }
  void add_over_ranks(const std::shared_ptr<std::byte>& memory, double* numbers, int columns, int count) const {
    execution().add_over_ranks(memory, numbers, columns, count);
  }
  void complete_sums() const { execution().complete_sums(); }

 private:
  struct state {
    gpu::execution execution;
    lattice_geometry geometry;
    site_order order;
    mutable std::shared_ptr<gpu::halo> halo = {};  ///< null until its first use; for one caller at a time
  };

  gpu::halo* halo_of_ranks() const;

  std::shared_ptr<const state> state_;
};

}  // namespace plaquette::gpu
