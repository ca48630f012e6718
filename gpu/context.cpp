// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/context.hpp"

#include <utility>
#include <vector>

#include "common/error.hpp"
#include "gpu/comms/global_sum.hpp"
#include "gpu/comms/host_waiting.hpp"
#include "gpu/comms/rank_sum.hpp"
#include "gpu/comms/watchdog.hpp"
#include "gpu/halo/halo_choice.hpp"
#include "gpu/tuning/tuner.hpp"

namespace plaquette::gpu {

namespace {

/// Sums that nobody has used yet, and the memory they are in.
struct postponed_sums {
  std::shared_ptr<std::byte> memory;
  number_rows rows;
  int columns;
};

}  // namespace

/// What ranks share with each other.
struct context::several_ranks {
  std::shared_ptr<watchdog> watch;
  global_sum over_ranks;
  std::shared_ptr<gpu::halo> halo = {};
  std::vector<postponed_sums> postponed = {};
  rank_sum next_kernel = {};
  std::vector<postponed_sums> carried = {};  ///< by the next kernel
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

bool context::kernels_sum_over_ranks(int columns) const {
  return state_->among_ranks && state_->among_ranks->over_ranks.in_kernels() != nullptr &&
         columns <= rank_sum::most_columns;
}

const rank_sum* context::sums_of_next_kernel(int columns, int count) const {
  several_ranks& among = *state_->among_ranks;
  const auto fit = [&] {
    int all = count;
    for (const postponed_sums& sums : among.postponed) {
      if (sums.columns != columns) return false;
      all += sums.rows.count;
    }
    return all <= rank_sum::most_numbers && std::ssize(among.postponed) <= rank_sum::most_carried;
  };
  if (!fit()) add_postponed();
  among.next_kernel = *among.over_ranks.in_kernels();
  for (std::size_t i = 0; i < among.postponed.size(); ++i) {
    among.next_kernel.carried[i] = among.postponed[i].rows;
    among.next_kernel.carried_numbers += among.postponed[i].rows.count;
  }
  among.carried = std::exchange(among.postponed, {});
  return &among.next_kernel;
}

void context::postpone_sums(const std::shared_ptr<std::byte>& memory, double* numbers, int columns, int count) const {
  several_ranks& among = *state_->among_ranks;
  among.postponed.push_back({memory, {numbers, count}, columns});
  if (std::ssize(among.postponed) == global_sum::most_ranges) add_postponed();
}

void context::add_postponed() const {
  several_ranks& among = *state_->among_ranks;
  if (among.postponed.empty()) return;
  std::vector<number_range> ranges;
  for (const postponed_sums& sums : among.postponed)
    ranges.push_back({sums.rows.begin, sums.columns * sums.rows.count});
  among.over_ranks.add(queue(), ranges);
  among.postponed.clear();
}

}  // namespace plaquette::gpu
