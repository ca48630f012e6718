// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How long copies and exchanges of memory of devices take, from a few bytes to many.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/comms/timed_transfer.hpp"
#include "gpu/execution.hpp"

namespace plaquette::gpu {

/// Times copies between host and device, and from it to the other devices of its host that it reaches.
/// \param seconds_each  about how long a measurement may take
std::vector<timed_transfer> time_transfers(const execution& on, std::span<const std::size_t> sizes,
                                           double seconds_each);

/// Times exchanges of memory of the devices of ranks 0 and 1, both ways at once: once for each halo policy that the
/// host drives, if it is there. They are "exchange staged", "exchange mpi", "exchange nccl". Collective.
std::vector<timed_transfer> time_exchanges(const execution& on, std::span<const std::size_t> sizes,
                                           double seconds_each);

}  // namespace plaquette::gpu
