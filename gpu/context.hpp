// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What every part of the CUDA library needs to know, passed down from `main`.
#pragma once

#include <memory>

#include "common/comms/communicator.hpp"
#include "common/lattice/geometry.hpp"
#include "gpu/comms/rank_options.hpp"
#include "gpu/device/memory_pool.hpp"
#include "gpu/device/runtime.hpp"
#include "gpu/fields/site_order.hpp"

namespace plaquette::gpu {

class tuner;      // gpu/tuning/tuner.hpp
class halo;       // gpu/halo/halo.hpp
class watchdog;   // gpu/comms/watchdog.hpp
struct rank_sum;  // gpu/comms/rank_sum.hpp

/// The lattice, a device, its queue and its memory. Copies share everything. On several ranks kernels wait for those of
/// neighbours: before work of another context is queued, that of this one has ended on all ranks
/// (queue().synchronize()).
class context {
 public:
  /// \param tuner  chooses between kernels, and between ways of the halo; without one, defaults are taken
  /// \param ranks  how several of them work together
  /// Collective. Throws input_error where the process grid does not fit the ranks, there is no such device, or messages
  /// and sums cannot take the way that was asked for.
  context(const lattice_geometry& geometry, const communicator& comm, int device = 0,
          std::shared_ptr<gpu::tuner> tuner = nullptr, const rank_options& ranks = {});

  const lattice_geometry& geometry() const { return state_->geometry; }
  const communicator& comm() const { return state_->comm; }
  const gpu::queue& queue() const { return state_->queue; }
  const device_description& device() const { return state_->device; }
  gpu::tuner& tuner() const { return *state_->tuner; }
  const rank_options& ranks() const { return state_->ranks; }
  /// How neighbours exchange what operators need; null on one rank. Where the way is left open it
  /// is made, and tuned, at first use: collective then.
  gpu::halo* halo() const { return state_->among_ranks ? halo_of_ranks() : nullptr; }
  /// Who notices that ranks wait in vain; null on one rank.
  watchdog* watch() const;
  /// Whether kernels add so many columns of sums over ranks themselves; otherwise, and on one rank, `add_over_ranks`.
  bool kernels_sum_over_ranks(int columns) const;
  /// What the kernel that is queued next needs for that, which makes `count` sums a column: the sums that wait travel
  /// with it, and are kept until the next call. Valid until then. Collective.
  const rank_sum* sums_of_next_kernel(int columns, int count) const;
  /// Numbers of the device, [columns][count], become their sums over ranks; nothing on one rank. Queued when several
  /// such wait, with the next kernel that sums itself, and no later than `complete_sums`, which whoever uses the
  /// numbers calls before (handles of `scalars` do): so sums that are not needed at once travel with others. `memory`
  /// lives until then. Call `complete_sums` before a work_graph records and at the end of what it records. Collective.
  void add_over_ranks(const std::shared_ptr<std::byte>& memory, double* numbers, int columns, int count) const {
    if (state_->among_ranks) postpone_sums(memory, numbers, columns, count);
  }
  void complete_sums() const {
    if (state_->among_ranks) add_postponed();
  }

  /// Where fields get their memory.
  memory_pool& workspace() const { return *state_->workspace; }
  /// How sites are numbered.
  const site_order& order() const { return state_->order; }

 private:
  struct several_ranks;
  struct state {
    lattice_geometry geometry;
    communicator comm;
    gpu::queue queue;
    device_description device;
    site_order order;
    std::shared_ptr<memory_pool> workspace;
    std::shared_ptr<gpu::tuner> tuner;
    rank_options ranks;
    std::shared_ptr<several_ranks> among_ranks;  ///< null on one rank; for one caller at a time
  };

  gpu::halo* halo_of_ranks() const;
  void postpone_sums(const std::shared_ptr<std::byte>& memory, double* numbers, int columns, int count) const;
  void add_postponed() const;

  std::shared_ptr<const state> state_;
};

}  // namespace plaquette::gpu
