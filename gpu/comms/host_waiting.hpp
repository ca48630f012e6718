// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How the host waits for a device, wherever it does.
#pragma once

#include "gpu/comms/rank_options.hpp"

namespace plaquette::gpu {

/// Lets `queue::synchronize` and copies to the host wait, from here on, for this device by spinning, or by sleeping
/// until the driver wakes them. Sleeping costs some ten microseconds and leaves the core to others. Makes the device
/// current.
void choose_waiting(int device, wait_mode mode);

}  // namespace plaquette::gpu
