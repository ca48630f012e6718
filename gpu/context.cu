// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/context.hpp"

#include <vector>

#include "common/error.hpp"
#include "gpu/comms/global_sum.hpp"
#include "gpu/comms/host_waiting.hpp"
#include "gpu/comms/watchdog.hpp"
#include "gpu/halo/halo_choice.hpp"
#include "gpu/tuning/tuner.hpp"

namespace plaquette::gpu {

/// Sums that nobody has used yet.
struct context::postponed_sums {
  global_sum over_ranks;
  std::vector<number_range> ranges = {};
  std::vector<std::shared_ptr<std::byte>> memory = {};
};

context::context(const lattice_geometry& geometry, const communicator& comm, int device,
                 std::shared_ptr<gpu::tuner> tuner, const rank_options& ranks) {
  if (comm.size() != volume(geometry.grid()) || comm.rank() != geometry.rank())
    throw input_error("process grid " + plaquette::to_string(geometry.grid()) + " has " +
                      std::to_string(volume(geometry.grid())) + " ranks, this rank is number " +
                      std::to_string(geometry.rank()) + "; expected " + std::to_string(comm.size()) + " and number " +
                      std::to_string(comm.rank()));
  choose_waiting(device, ranks.wait);
  gpu::queue q(device);
  std::shared_ptr<watchdog> watch;
  std::shared_ptr<gpu::halo> halo;
  std::shared_ptr<postponed_sums> sums;
  if (!tuner) tuner = std::make_shared<gpu::tuner>();
  if (comm.size() > 1) {
    watch = std::make_shared<watchdog>(comm, ranks.stall_timeout);
    halo = make_halo(geometry, comm, q, ranks, watch, *tuner);
    sums = std::make_shared<postponed_sums>(postponed_sums{global_sum(comm, device, ranks, watch)});
  }
  state_ = std::make_shared<const state>(state{geometry, comm, q, describe_device(device), site_order(geometry.local()),
                                               std::make_shared<memory_pool>(device), std::move(tuner), ranks,
                                               std::move(watch), std::move(halo), std::move(sums)});
}

void context::postpone_sums(const std::shared_ptr<std::byte>& memory, double* numbers, int count) const {
  postponed_sums& sums = *state_->sums;
  sums.ranges.push_back({numbers, count});
  sums.memory.push_back(memory);
  if (std::ssize(sums.ranges) == global_sum::most_ranges) add_postponed();
}

void context::add_postponed() const {
  postponed_sums& sums = *state_->sums;
  if (sums.ranges.empty()) return;
  sums.over_ranks.add(queue(), sums.ranges);
  sums.ranges.clear();
  sums.memory.clear();
}

bool context::sums_are_recordable() const { return !state_->sums || state_->sums->over_ranks.capturable(); }

}  // namespace plaquette::gpu
