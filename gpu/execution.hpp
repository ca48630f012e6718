// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The ranks, device, queue and memory that lattices, and meshes without any lattice, share in the CUDA library.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "common/comms/communicator.hpp"
#include "gpu/comms/rank_options.hpp"
#include "gpu/device/memory_pool.hpp"
#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

class halo;                // gpu/halo/halo.hpp
class neighbour_messages;  // gpu/comms/neighbour_messages.hpp
class tuner;               // gpu/tuning/tuner.hpp
class watchdog;            // gpu/comms/watchdog.hpp
struct rank_sum;           // gpu/device/rank_sum.hpp

/// Copies share everything. Work of all lattices of one execution goes to one queue, in the same order on all ranks. So
/// nothing has to wait between them. On several ranks kernels wait for kernels of neighbours. So before work of another
/// execution is queued, the work of this one has ended on all ranks (queue().synchronize()).
class execution {
 public:
  /// \param tuner  chooses between kernels, and between ways of the halo; without one, defaults are taken
  /// \param ranks  how several of them work together
  /// Collective. Throws input_error if there is no such device, or if messages and sums cannot take the way that the
  /// options name.
  explicit execution(const communicator& comm, int device = 0, std::shared_ptr<gpu::tuner> tuner = nullptr,
                     const rank_options& ranks = {});

  /// Returns the same queue and memory, with this rank by itself: for work that every rank does alike.
  execution alone() const;

  const communicator& comm() const { return state_->comm; }
  const gpu::queue& queue() const { return state_->queue; }
  const device_description& device() const { return state_->device; }
  gpu::tuner& tuner() const { return *state_->tuner; }
  const rank_options& ranks() const { return state_->ranks; }
  /// Where fields get their memory.
  memory_pool& workspace() const { return *state_->workspace; }

  /// Notices ranks that make no progress; null on one rank.
  const std::shared_ptr<watchdog>& watch() const { return state_->watch; }
  /// Returns large messages between devices; null on one rank, and if the options name another way than peer memory.
  neighbour_messages* neighbours() const { return state_->neighbours.get(); }
  /// Returns the halo of the first lattice that has one, for coarse lattices, whose messages travel as its do. May be
  /// null.
  const std::shared_ptr<gpu::halo>& first_halo() const { return state_->first_halo; }
  void set_first_halo(std::shared_ptr<gpu::halo> made) const {
    if (!state_->first_halo) state_->first_halo = std::move(made);
  }
  /// Returns whether work may be recorded in a work_graph, once it has run: on several ranks if no message and no sum
  /// is the host's business. See also complete_sums.
  bool recordable() const;
  /// Notes that messages of some lattice are the host's business.
  void note_messages_of_host() const { state_->has_messages_of_host = true; }
  /// Returns whether kernels add sums of `columns` columns over ranks themselves. Otherwise, and on one rank, use
  /// `add_over_ranks`.
  bool kernels_sum_over_ranks(int columns) const;
  /// Returns the arguments of the kernel that is queued next for that, which makes `count` sums a column. The sums that
  /// wait travel with it, and are kept until the next call. Valid until then. Collective.
  const rank_sum* sums_of_next_kernel(int columns, int count) const;
  /// Replaces numbers of the device, [columns][count], by their sums over ranks; nothing on one rank. Sums wait, so
  /// that several travel together: until enough of them wait, until the next kernel that sums over ranks, or until
  /// `complete_sums`. Call that before the numbers are used (handles of `scalars` do), before a work_graph records, and
  /// at the end of the recorded work. `memory` lives until the sums are queued. Collective.
  void add_over_ranks(const std::shared_ptr<std::byte>& memory, double* numbers, int columns, int count) const {
    if (state_->sums) postpone_sums(memory, numbers, columns, count);
  }
  void complete_sums() const {
    if (state_->sums) add_postponed();
  }

 private:
  struct sums_over_ranks;
  struct state {
    communicator comm;
    gpu::queue queue;
    device_description device;
    std::shared_ptr<memory_pool> workspace;
    std::shared_ptr<gpu::tuner> tuner;
    rank_options ranks;
    std::shared_ptr<watchdog> watch;                 ///< null on one rank
    std::shared_ptr<sums_over_ranks> sums;           ///< null on one rank; for one caller at a time
    std::shared_ptr<neighbour_messages> neighbours;  ///< for one caller at a time
    mutable std::shared_ptr<gpu::halo> first_halo = {};
    mutable bool has_messages_of_host = false;
  };

  explicit execution(std::shared_ptr<const state> s) : state_(std::move(s)) {}
  void postpone_sums(const std::shared_ptr<std::byte>& memory, double* numbers, int columns, int count) const;
  void add_postponed() const;

  std::shared_ptr<const state> state_;
};

}  // namespace plaquette::gpu
