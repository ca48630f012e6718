// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/comms/global_sum.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "gpu/comms/host_backoff.hpp"
#include "gpu/comms/peer_memory.hpp"
#include "gpu/comms/rank_map.hpp"
#include "gpu/comms/side_stream.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/device/rank_sum.hpp"

namespace plaquette::gpu {

namespace {

// --- Through the memory of the ranks: see rank_sum.hpp ---------------------------------------------------------------

/// Numbers times ranks of one launch.
constexpr int most_slots = 4096;

/// Where a rank has its part: the epoch of its last sum, then numbered[2][most_slots], as [parity][rank][number]; and
/// the memory of kernels that sum over ranks themselves.
constexpr std::size_t slots_begin = 256;
constexpr std::size_t columns_begin = slots_begin + 2 * most_slots * sizeof(numbered);
constexpr std::size_t bytes_of_sums = columns_begin + rank_sum::most_columns * rank_sum::column_bytes;
constexpr int most_ranks = 64;

PLAQUETTE_HOST_DEVICE inline numbered* slots_of(std::byte* memory, std::uint32_t epoch) {
  return reinterpret_cast<numbered*>(memory + slots_begin) + (epoch & 1U) * most_slots;
}

std::string text_of_word(std::uint64_t word) {
  return "rank " + std::to_string((word >> 32) - 1) + ": global sum number " + std::to_string(word & 0xffffffffU);
}

/// The sum of `count` numbers; a thread works on k or i = thread, thread + threads, ... of each step.
struct peer_sum {
  std::byte* memory[most_ranks];  ///< of each rank
  int rank, ranks;
  number_range ranges[global_sum::most_ranges];
  int count;             ///< of all ranges
  std::uint64_t* words;  ///< of a watchdog, one a rank that is waited for, or null

  PLAQUETTE_HOST_DEVICE std::uint32_t* last_epoch() const { return reinterpret_cast<std::uint32_t*>(memory[rank]); }
  PLAQUETTE_HOST_DEVICE double& number(int i) const {
    int r = 0;
    while (i >= ranges[r].count) i -= ranges[r++].count;
    return ranges[r].begin[i];
  }

  /// 0 <= k < ranks * count
  PLAQUETTE_WHERE_KERNELS_RUN void send(std::uint32_t epoch, int k) const {
    const int to = k / count, i = k % count;
    send_number(slots_of(memory[to], epoch)[rank * count + i], epoch, number(i));
  }
  PLAQUETTE_WHERE_KERNELS_RUN double receive(std::uint32_t epoch, int k) const {
    const int from = k / count;
    return receive_number(slots_of(memory[rank], epoch)[k], epoch, words != nullptr ? words + from : nullptr,
                          sum_waiting_word(from, epoch));
  }
  /// 0 <= i < count, when all have been received.
  PLAQUETTE_WHERE_KERNELS_RUN void add(std::uint32_t epoch, int i) const {
    double sum = receive(epoch, i);
    for (int from = 1; from < ranks; ++from) sum += receive(epoch, from * count + i);
    number(i) = sum;
  }
};

#ifdef __CUDACC__

constexpr int most_threads = 1024;

__global__ void __launch_bounds__(most_threads) peer_sum_kernel(const peer_sum sum) {
  trigger_dependent_launch();
  wait_for_previous_kernel();
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  // The epoch lives in memory, since the launch may be a node of a graph that runs again and again.
  const std::uint32_t epoch = *sum.last_epoch() + 1;
  for (int k = thread; k < sum.ranks * sum.count; k += threads) sum.send(epoch, k);
  for (int k = thread; k < sum.ranks * sum.count; k += threads) sum.receive(epoch, k);
  __syncthreads();
  for (int i = thread; i < sum.count; i += threads) sum.add(epoch, i);
  if (thread == 0) *sum.last_epoch() = epoch;
}

void launch(const queue& q, const peer_sum& sum) {
  const int threads = std::min((sum.ranks * sum.count + 31) / 32 * 32, most_threads);
  launch_kernel(q, dim3(1), dim3(static_cast<unsigned>(threads)), 0, true, peer_sum_kernel, sum);
}

#else

void launch(const queue& /*q*/, const peer_sum& sum) {
  const std::uint32_t epoch = *sum.last_epoch() + 1;
  order_memory();
  for (int k = 0; k < sum.ranks * sum.count; ++k) sum.send(epoch, k);
  for (int k = 0; k < sum.ranks * sum.count; ++k) sum.receive(epoch, k);
  order_memory();
  for (int i = 0; i < sum.count; ++i) sum.add(epoch, i);
  *sum.last_epoch() = epoch;
}

#endif

// --- Through the host ------------------------------------------------------------------------------------------------

/// Page-locked numbers of this rank, [count], and of all ranks, [rank][count].
class staged_sum {
 public:
  staged_sum(const communicator& comm, int device, wait_mode wait, std::shared_ptr<watchdog> watch)
      : comm_(comm), wait_(wait), watch_(std::move(watch)), left_device_(device, wait) {}

  void add(const queue& q, double* numbers, int count) {
    const auto n = static_cast<std::size_t>(count), ranks = static_cast<std::size_t>(comm_.size());
    // The copy back to the device of the sum before has ended when the copy from it has: it is in the queue before.
    grow(q, n);
    fetch(q, numbers, n);
    gather(n);
    for (std::size_t i = 0; i < n; ++i) {
      double sum = all_[i];
      for (std::size_t rank = 1; rank < ranks; ++rank) sum += all_[rank * n + i];
      mine_[i] = sum;
    }
    copy_to_device(q, numbers, mine_, n * sizeof(double));
    ++sums_;
  }

 private:
  void grow(const queue& q, std::size_t count) {
    if (count <= room_) return;
    q.synchronize();
    room_ = count;
    memory_ = allocate_pinned((1 + static_cast<std::size_t>(comm_.size())) * count * sizeof(double));
    mine_ = reinterpret_cast<double*>(memory_.get());
    all_ = mine_ + count;
  }
  void fetch(const queue& q, const double* numbers, std::size_t count) {
#ifdef __CUDACC__
    check(cudaMemcpyAsync(mine_, numbers, count * sizeof(double), cudaMemcpyDeviceToHost, stream_of(q)));
#else
    copy_to_host(q, mine_, numbers, count * sizeof(double));
#endif
    left_device_.mark_on(q.native());
    if (wait_ == wait_mode::block) {
      left_device_.wait();
    } else {
      while (!left_device_.is_passed()) {
      }
    }
  }
  void gather(std::size_t count) {
    const host_wait waiting(watch_.get(), [this] {
      return "all " + std::to_string(comm_.size()) + " ranks: global sum number " + std::to_string(sums_ + 1);
    });
    auto gathering =
        comm_.start_gather(std::as_bytes(std::span(mine_, count)),
                           std::as_writable_bytes(std::span(all_, count * static_cast<std::size_t>(comm_.size()))));
    host_backoff backoff(wait_);
    while (!gathering.poll()) backoff.pause();
    gathering.wait();
  }

  communicator comm_;
  wait_mode wait_;
  std::shared_ptr<watchdog> watch_;
  stream_mark left_device_;
  std::shared_ptr<std::byte> memory_;
  double *mine_ = nullptr, *all_ = nullptr;
  std::size_t room_ = 0;
  std::uint64_t sums_ = 0;
};

}  // namespace

struct global_sum::state {
  communicator comm;
  sum_path path = sum_path::alone;
  std::optional<peer_memory> memory = {};
  std::shared_ptr<std::uint64_t> words = {};
  mutable std::optional<staged_sum> staged = {};
  std::shared_ptr<watchdog> watch = {};
  rank_sum kernels = {};  ///< of one rank where kernels cannot

  void choose(int device, const rank_options& options) {
    if (comm.size() == 1) return;
    path = sum_path::staged;
    if (options.policy != halo_policy::staged && comm.size() <= most_ranks) try_peers(device);
    if (path == sum_path::staged && options.policy == halo_policy::peer)
      throw input_error("sums over ranks in their GPUs' memory were requested; found " + obstacle(device));
    if (path == sum_path::staged) staged.emplace(comm, device, options.wait, watch);
    if (path == sum_path::peer && watch)
      words = watch->device_words(static_cast<std::size_t>(comm.size()), text_of_word);
    if (path == sum_path::peer && comm.size() <= rank_sum::most_ranks) {
      for (int rank = 0; rank < comm.size(); ++rank) kernels.memory[rank] = memory->of(rank) + columns_begin;
      kernels.rank = comm.rank();
      kernels.ranks = comm.size();
      kernels.words = words.get();
    }
  }

  void try_peers(int device) {
    // Kernels of two processes take turns on a GPU: one that waits would keep the other from coming.
    if (rank_map(comm, device).shares_a_device()) return;
    memory.emplace(comm, device, bytes_of_sums);
    if (memory->reaches_all())
      path = sum_path::peer;
    else
      memory.reset();
  }
  std::string obstacle(int device) const {
    if (comm.size() > most_ranks)
      return std::to_string(comm.size()) + " ranks, more than " + std::to_string(most_ranks);
    return rank_map(comm, device).shares_a_device() ? "ranks that share a GPU"
                                                    : "ranks that do not reach each other's memory";
  }

  /// \param ranges  together at most most_slots / ranks numbers
  void add_in_peers(const queue& q, std::span<const number_range> ranges) const {
    peer_sum sum = {};
    for (int rank = 0; rank < comm.size(); ++rank) sum.memory[rank] = memory->of(rank);
    sum.rank = comm.rank();
    sum.ranks = comm.size();
    sum.words = words.get();
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      sum.ranges[i] = ranges[i];
      sum.count += ranges[i].count;
    }
    launch(q, sum);
  }
  void add_many_in_peers(const queue& q, const number_range& range) const {
    const int at_once = most_slots / comm.size();
    for (int done = 0; done < range.count; done += at_once) {
      const number_range part{range.begin + done, std::min(at_once, range.count - done)};
      add_in_peers(q, std::span(&part, 1));
    }
  }
  void add(const queue& q, std::span<const number_range> ranges) const {
    if (path == sum_path::peer) {
      int count = 0;
      for (const number_range& range : ranges) count += range.count;
      if (count <= most_slots / comm.size()) return add_in_peers(q, ranges);
      for (const number_range& range : ranges) add_many_in_peers(q, range);
    } else if (path == sum_path::staged) {
      for (const number_range& range : ranges) staged->add(q, range.begin, range.count);
    }
  }
};

global_sum::global_sum(const communicator& comm, int device, const rank_options& options,
                       std::shared_ptr<watchdog> watch)
    : state_(std::make_unique<state>(state{comm})) {
  state_->watch = std::move(watch);
  state_->choose(device, options);
}
global_sum::global_sum(global_sum&&) noexcept = default;
global_sum& global_sum::operator=(global_sum&&) noexcept = default;
global_sum::~global_sum() = default;

void global_sum::add(const queue& q, std::span<const number_range> ranges) const {
  std::vector<number_range> filled;
  for (const number_range& range : ranges)
    if (range.count > 0) filled.push_back(range);
  if (!filled.empty()) state_->add(q, filled);
}

void global_sum::add(const queue& q, double* numbers, int count) const {
  const number_range range{numbers, count};
  add(q, std::span(&range, 1));
}

const rank_sum* global_sum::in_kernels() const { return state_->kernels.ranks > 1 ? &state_->kernels : nullptr; }

sum_path global_sum::path() const { return state_->path; }

}  // namespace plaquette::gpu
