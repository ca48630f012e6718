// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Large messages between GPUs if no kernel waits for them: setups.
#pragma once

#include <cstddef>

#include "gpu/execution.hpp"

namespace plaquette::gpu {

/// A message of device memory to one rank, and one from another.
struct staged_message {
  int send_to, receive_from;  ///< ranks
  int tag;
  const std::byte* mine;
  std::size_t sent;  ///< bytes
  std::byte* theirs;
  std::size_t received;  ///< bytes
};

/// Exchanges messages through page-locked memory of the host, some MiB at a time, and waits for them. A message is as
/// long as the message that its neighbour receives. Collective.
void exchange_staged(const execution& on, const staged_message& message);

}  // namespace plaquette::gpu
