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

/// What ranks share with each other.
struct context::several_ranks {
  std::shared_ptr<watchdog> watch;
  global_sum over_ranks;
  std::shared_ptr<gpu::halo> halo = {};
  /// Sums that nobody has used yet, and the memory they are in.
  std::vector<number_range> postponed = {};
  std::vector<std::shared_ptr<std::byte>> memory = {};
};

context::context(const lattice_geometry& geometry, const communicator& comm, int device,
                 std::shared_ptr<gpu::tuner> tuner, const rank_options& ranks) {
  if (comm.size() != volume(geometry.grid()) || comm.rank() != geometry.rank())
    throw input_error("process grid " + plaquette::to_string(geometry.grid()) + " has " +
                      std::to_string(volume(geometry.grid())) + " ranks, this rank is number " +
                      std::to_string(geometry.rank()) + "; expected " + std::to_string(comm.size()) + " and number " +
                      std::to_string(comm.rank()));
  const device_description description = describe_device(device);
  choose_waiting(device, ranks.wait);
  gpu::queue q(device);
  std::shared_ptr<several_ranks> among_ranks;
  if (comm.size() > 1) {
    const auto watch = std::make_shared<watchdog>(comm, ranks.stall_timeout);
    among_ranks = std::make_shared<several_ranks>(several_ranks{watch, global_sum(comm, device, ranks, watch)});
  }
  state_ = std::make_shared<const state>(
      state{geometry, comm, q, description, site_order(geometry.local()), std::make_shared<memory_pool>(device),
            tuner ? std::move(tuner) : std::make_shared<gpu::tuner>(), ranks, std::move(among_ranks)});
  if (comm.size() > 1 && ranks.policy != halo_policy::automatic) halo_of_ranks();  // who asks for one hears of it now
}

gpu::halo* context::halo_of_ranks() const {
  several_ranks& among = *state_->among_ranks;
  if (!among.halo) among.halo = make_halo(geometry(), comm(), queue(), ranks(), among.watch, tuner());
  return among.halo.get();
}

watchdog* context::watch() const { return state_->among_ranks ? state_->among_ranks->watch.get() : nullptr; }

const rank_sum* context::sums_in_kernels(int columns) const {
  return state_->among_ranks ? state_->among_ranks->over_ranks.in_kernels(columns) : nullptr;
}

void context::postpone_sums(const std::shared_ptr<std::byte>& memory, double* numbers, int count) const {
  several_ranks& among = *state_->among_ranks;
  among.postponed.push_back({numbers, count});
  among.memory.push_back(memory);
  if (std::ssize(among.postponed) == global_sum::most_ranges) add_postponed();
}

void context::add_postponed() const {
  several_ranks& among = *state_->among_ranks;
  if (among.postponed.empty()) return;
  among.over_ranks.add(queue(), among.postponed);
  among.postponed.clear();
  among.memory.clear();
}

}  // namespace plaquette::gpu
