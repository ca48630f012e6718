// SPDX-License-Identifier: BSD-3-Clause
#include "common/stopwatch.hpp"

#include <chrono>

namespace plaquette {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace plaquette
