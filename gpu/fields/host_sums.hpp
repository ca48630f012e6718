// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums over sites whose result the host wants at once. For .cu files only.
#pragma once

#include <vector>

#include "gpu/device/launch.hpp"
#include "gpu/execution.hpp"

namespace plaquette::gpu {

/// Calls `sum_over`, and then waits for the numbers: [column][Count].
template <int Count, class Body>
std::vector<double> host_sums(const execution& on, std::int64_t sites, int columns, const Body& body) {
  std::vector<double> sums(static_cast<std::size_t>(columns) * Count);
  const std::size_t bytes = sums.size() * sizeof(double);
  const std::shared_ptr<std::byte> memory = on.workspace().take(bytes);
  sum_over<Count>(on.queue(), sites, columns, reinterpret_cast<double*>(memory.get()), body);
  copy_to_host(on.queue(), sums.data(), memory.get(), bytes);
  return sums;
}

}  // namespace plaquette::gpu
