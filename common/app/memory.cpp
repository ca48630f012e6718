// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/memory.hpp"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <span>
#include <sstream>
#include <string_view>

#include "common/app/provenance.hpp"
#include "common/comms/communicator.hpp"
#include "common/error.hpp"

namespace plaquette {

namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

/// Bytes of the line "key: N kB" of a file of /proc.
double kilobyte_line(const char* file_name, std::string_view key, double otherwise) {
  std::ifstream file(file_name);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) {
      double kilobytes = 0;
      if (std::istringstream(line.substr(key.size() + 1)) >> kilobytes) return 1024.0 * kilobytes;
    }
  return otherwise;
}

/// The number in a file of the control group; `otherwise` where it is "max" or not there.
double control_group_number(const char* file_name, double otherwise) {
  std::ifstream file(file_name);
  double bytes = 0;
  return file >> bytes ? bytes : otherwise;
}

double control_group_limit() {
  return std::min(control_group_number("/sys/fs/cgroup/memory.max", unlimited),
                  control_group_number("/sys/fs/cgroup/memory/memory.limit_in_bytes", unlimited));
}

double control_group_left() {
  const double used = control_group_number("/sys/fs/cgroup/memory.current",
                                           control_group_number("/sys/fs/cgroup/memory/memory.usage_in_bytes", 0.0));
  return std::max(0.0, control_group_limit() - used);
}

/// What the process's own limit on its address space leaves.
double address_space_left() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unlimited;
  return std::max(0.0, static_cast<double>(limit.rlim_cur) - kilobyte_line("/proc/self/status", "VmSize", 0.0));
}

}  // namespace

double total_memory() { return std::min(kilobyte_line("/proc/meminfo", "MemTotal", unlimited), control_group_limit()); }

double available_memory() {
  return std::min(
      {kilobyte_line("/proc/meminfo", "MemAvailable", unlimited), control_group_left(), address_space_left()});
}

double peak_memory() { return kilobyte_line("/proc/self/status", "VmHWM", 0.0); }

std::string format_bytes(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (bytes >= 1024.0 && unit + 1 < std::size(units)) {
    bytes /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, units[unit]);
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
