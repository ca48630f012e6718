// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How a host waits for something that it must poll.
#pragma once

#include <chrono>
#include <thread>

#include "gpu/comms/rank_options.hpp"

namespace plaquette::gpu {

/// What to do between two questions: nothing for those who spin; those who block leave the core to others, for ever
/// longer stretches.
class host_backoff {
 public:
  explicit host_backoff(wait_mode mode) : mode_(mode) {}

  void pause() {
    if (mode_ == wait_mode::spin) return;
    std::this_thread::sleep_for(next_);
    if (next_ < longest) next_ *= 2;
  }
  /// Notes that something has happened: more may follow soon.
  void renew() { next_ = shortest; }

 private:
  static constexpr std::chrono::microseconds shortest{2}, longest{128};
  wait_mode mode_;
  std::chrono::microseconds next_ = shortest;
};

}  // namespace plaquette::gpu
