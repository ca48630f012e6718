// SPDX-License-Identifier: BSD-3-Clause
#include "common/host_memory.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>

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

}  // namespace plaquette
