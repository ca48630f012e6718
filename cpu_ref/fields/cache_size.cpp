// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/fields/cache_size.hpp"

#include <algorithm>
#include <fstream>
#include <string>

namespace plaquette::cpu {

namespace {

double largest_cache() {
  double largest = 0.0;
  for (int index = 0;; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    double size = 0.0;
    char unit = 'K';
    if (!(file >> size >> unit)) break;
    largest = std::max(largest, size * (unit == 'M' ? 1 << 20 : 1 << 10));
  }
  return largest > 0.0 ? largest : 32e6;
}

}  // namespace

double last_level_cache_bytes() {
  static const double bytes = largest_cache();
  return bytes;
}

}  // namespace plaquette::cpu
