// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How long queued work takes, by the device's own clock.
#pragma once

#include <functional>

#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

/// Returns the seconds of one call of `launch`, which queues work on `q`, over `times` calls without a pause. Waits for
/// them.
double seconds_a_launch(const queue& q, int times, const std::function<void()>& launch);

/// Returns the same over as many calls as last for about `seconds`, after one that is not counted: the result of a
/// tuner's trial.
double seconds_a_launch_over(const queue& q, double seconds, const std::function<void()>& launch);

/// Returns `apply` of a timed_kernel (common/solvers/timed.hpp): calls `launch`, which has run before, as often as that
/// many applications need, and scales its seconds to them.
/// \param applications  that a call of `launch` queues on `q`
std::function<double(int)> by_device_clock(const queue& q, std::function<void()> launch, int applications = 1);

}  // namespace plaquette::gpu
