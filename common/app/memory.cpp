// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/memory.hpp"

#include <fmt/core.h>

#include <array>
#include <iterator>
#include <span>

#include "common/comms/communicator.hpp"
#include "common/comms/host_name.hpp"
#include "common/error.hpp"

namespace plaquette {

std::string format_bytes(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (bytes >= 1024.0 && unit + 1 < std::size(units)) {
    bytes /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : bytes < 10.0 ? 2 : 1, units[unit]);
}

void require_memory(const communicator& world, double bytes, const std::string& what) {
  const double available = available_memory() / ranks_on_this_host(world);
  std::array<double, 1> shortage{bytes - available};
  world.maximum(std::span(shortage));
  if (shortage[0] <= 0.0) return;
  std::array<double, 1> least{-available};
  world.maximum(std::span(least));
  throw memory_error(fmt::format("{} needs {} on each rank, and {} are available", what, format_bytes(bytes),
                                 format_bytes(-least[0])));
}

}  // namespace plaquette
