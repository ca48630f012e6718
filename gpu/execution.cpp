// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/execution.hpp"

#include <utility>
#include <vector>

#include "gpu/comms/global_sum.hpp"
#include "gpu/comms/host_waiting.hpp"
#include "gpu/comms/neighbour_messages.hpp"
#include "gpu/comms/watchdog.hpp"
#include "gpu/device/rank_sum.hpp"
#include "gpu/tuning/tuner.hpp"

namespace plaquette::gpu {

namespace {

/// Sums that no kernel has used yet, and the memory they are in.
struct postponed_sums {
  std::shared_ptr<std::byte> memory;
  number_rows rows;
  int columns;
};

}  // namespace

struct execution::sums_over_ranks {
  global_sum over_ranks;
  std::vector<postponed_sums> postponed = {};
  rank_sum next_kernel = {};
  std::vector<postponed_sums> carried = {};  ///< by the next kernel
};

execution::execution(const communicator& comm, int device, std::shared_ptr<gpu::tuner> tuner,
                     const rank_options& ranks) {
  const device_description description = describe_device(device);
  choose_waiting(device, ranks.wait);
  if (tuner && comm.rank() != 0) tuner->hide_progress();
  gpu::queue q(device);
  std::shared_ptr<watchdog> watch;
  std::shared_ptr<sums_over_ranks> sums;
  std::shared_ptr<neighbour_messages> neighbours;
  if (comm.size() > 1) {
    watch = std::make_shared<watchdog>(comm, ranks.stall_timeout);
    sums = std::make_shared<sums_over_ranks>(sums_over_ranks{global_sum(comm, device, ranks, watch)});
    if (ranks.policy == halo_policy::automatic || ranks.policy == halo_policy::peer)
      neighbours = std::make_shared<neighbour_messages>(comm.split(0), device);  // its tags do not meet other tags
  }
  state_ = std::make_shared<const state>(state{comm, q, description, std::make_shared<memory_pool>(device),
                                               tuner ? std::move(tuner) : std::make_shared<gpu::tuner>(), ranks,
                                               std::move(watch), std::move(sums), std::move(neighbours)});
}

execution execution::alone() const {
  return execution(std::make_shared<const state>(state{communicator(), state_->queue, state_->device, state_->workspace,
                                                       state_->tuner, state_->ranks, nullptr, nullptr, nullptr}));
}

bool execution::recordable() const {
  return !state_->has_messages_of_host && (!state_->sums || state_->sums->over_ranks.capturable());
}

bool execution::kernels_sum_over_ranks(int columns) const {
  return state_->sums && state_->sums->over_ranks.in_kernels() != nullptr && columns <= rank_sum::most_columns;
}

const rank_sum* execution::sums_of_next_kernel(int columns, int count) const {
  sums_over_ranks& sums = *state_->sums;
  const auto fit = [&] {
    int all = count;
    for (const postponed_sums& waiting : sums.postponed) {
      if (waiting.columns != columns) return false;
      all += waiting.rows.count;
    }
    return all <= rank_sum::most_numbers && std::ssize(sums.postponed) <= rank_sum::most_carried;
  };
  if (!fit()) add_postponed();
  sums.next_kernel = *sums.over_ranks.in_kernels();
  for (std::size_t i = 0; i < sums.postponed.size(); ++i) {
    sums.next_kernel.carried[i] = sums.postponed[i].rows;
    sums.next_kernel.carried_numbers += sums.postponed[i].rows.count;
  }
  sums.carried = std::exchange(sums.postponed, {});
  return &sums.next_kernel;
}

void execution::postpone_sums(const std::shared_ptr<std::byte>& memory, double* numbers, int columns, int count) const {
  sums_over_ranks& sums = *state_->sums;
  sums.postponed.push_back({memory, {numbers, count}, columns});
  if (std::ssize(sums.postponed) == global_sum::most_ranges) add_postponed();
}

void execution::add_postponed() const {
  sums_over_ranks& sums = *state_->sums;
  if (sums.postponed.empty()) return;
  std::vector<number_range> ranges;
  for (const postponed_sums& waiting : sums.postponed)
    ranges.push_back({waiting.rows.begin, waiting.columns * waiting.rows.count});
  sums.over_ranks.add(queue(), ranges);
  sums.postponed.clear();
}

}  // namespace plaquette::gpu
