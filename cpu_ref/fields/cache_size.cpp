// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/fields/cache_size.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace plaquette::cpu {

double largest_cache_bytes(const std::string& folder) {
  double largest = 0.0;
  for (int index = 0;; ++index) {
    std::ifstream file(folder + "/index" + std::to_string(index) + "/size");
    double size = 0.0;
    char unit = 'K';
    if (!(file >> size >> unit)) break;
    largest = std::max(largest, size * (unit == 'M' ? 1 << 20 : 1 << 10));
  }
  return largest;
}

double last_level_cache_bytes() {
  static const double bytes = [] {
    double known = largest_cache_bytes("/sys/devices/system/cpu/cpu0/cache");
#ifdef _SC_LEVEL3_CACHE_SIZE
    if (!(known > 0.0)) known = static_cast<double>(sysconf(_SC_LEVEL3_CACHE_SIZE));
#endif
    return known > 0.0 ? known : 32e6;
  }();
  return bytes;
}

}  // namespace plaquette::cpu
