// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How long queued work takes, by the device's own clock. A device that was idle runs faster than one at its power
/// limit. So a figure comes with its protocol: cool (after 2 s of idleness) or sustained (after 1.5 s of the same
/// work).
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

enum class timing_protocol { cool, sustained };
/// Returns "cool", "sustained".
std::string_view name_of(timing_protocol protocol);

struct timing_rule {
  int samples = 5;
  double sample_seconds = 0.02;  ///< cool means that few and that short: a second of work is another clock
  double idle_seconds = 2.0;     ///< before cool samples
  double running_seconds = 1.5;  ///< before sustained samples
};

/// Returns the seconds of one call of `launch`, which queues work on `q`, over `times` calls without a pause. Waits for
/// them.
double seconds_a_launch(const queue& q, int times, const std::function<void()>& launch);

/// Returns the same over as many calls as last for about `seconds`, after one that is not counted: what a tuner's trial
/// returns.
double seconds_a_launch_over(const queue& q, double seconds, const std::function<void()>& launch);

/// Returns the seconds of one call in each sample. `launch` has run before, so that nothing is tuned or allocated in
/// it.
std::vector<double> timed_launches(const queue& q, timing_protocol protocol, const std::function<void()>& launch,
                                   const timing_rule& rule = {});

}  // namespace plaquette::gpu
