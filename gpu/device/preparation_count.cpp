// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/device/preparation_count.hpp"

#include <atomic>

namespace plaquette::gpu {

namespace {

std::atomic<std::int64_t> segments = 0, graphs = 0;

}  // namespace

preparation_count preparations() { return {segments, graphs}; }
void note_segment() { ++segments; }
void note_graph() { ++graphs; }

}  // namespace plaquette::gpu
