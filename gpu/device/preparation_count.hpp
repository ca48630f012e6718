// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Counts slow preparations of this process whose results are kept: tests see that repeated work does none of them.
#pragma once

#include <cstdint>

namespace plaquette::gpu {

/// Of all pools and queues.
struct preparation_count {
  std::int64_t segments = 0;  ///< of memory, that pools took from the driver
  std::int64_t graphs = 0;    ///< that were recorded
};
preparation_count preparations();

void note_segment();
void note_graph();

}  // namespace plaquette::gpu
