// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums over ranks of numbers that live on their devices. The order of additions is the order of the ranks, whichever
/// way the numbers take: the same bits on every rank and in every run.
#pragma once

#include <memory>
#include <span>

#include "common/comms/communicator.hpp"
#include "gpu/comms/rank_options.hpp"
#include "gpu/comms/watchdog.hpp"
#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

struct rank_sum;  // rank_sum.hpp

/// How the numbers travel.
enum class sum_path {
  alone,  ///< one rank: there is nothing to do
  peer,   ///< a kernel writes them into every rank's memory and adds the numbers that the others have written there
  staged  ///< through the host, which waits for the device
};

/// Numbers of the device that follow each other.
struct number_range {
  double* begin;
  int count;
};

class global_sum {
 public:
  /// Most ranges that travel together.
  static constexpr int most_ranges = 4;

  /// Collective, and so is the end of the object's life. `peer` is taken where all ranks reach each other's memory and
  /// none shares a GPU with another, unless the policy is `staged`. Throws input_error, on every rank, if the policy is
  /// `peer` and cannot be met.
  /// \param watch  may be null
  global_sum(const communicator& comm, int device, const rank_options& options = {},
             std::shared_ptr<watchdog> watch = nullptr);
  global_sum(global_sum&&) noexcept;
  global_sum& operator=(global_sum&&) noexcept;
  ~global_sum();

  /// Replaces numbers of the device by their sums over ranks, before work that is queued on q afterwards. All ranks
  /// call it with the same counts in the same order. One object is for one queue.
  void add(const queue& q, double* numbers, int count) const;
  /// Does the same for several ranges, at most most_ranges, by one exchange if they are few numbers.
  void add(const queue& q, std::span<const number_range> ranges) const;

  /// Returns the arguments of kernels that add their sums over ranks themselves, before they end (`sum_over`); null if
  /// they cannot. It lives as long as this.
  const rank_sum* in_kernels() const;

  sum_path path() const;
  /// Whether `add` may be recorded in a work_graph. Recorded sums may be launched any number of times, in the same
  /// order on all ranks.
  bool capturable() const { return path() != sum_path::staged; }

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace plaquette::gpu
