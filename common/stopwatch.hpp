// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Time that has passed.
#pragma once

#include <chrono>

namespace plaquette {

/// Returns the seconds of a clock that never goes back; only differences mean anything.
inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Measures from its making.
class stopwatch {
 public:
  double seconds() const { return seconds_now() - start_; }

 private:
  double start_ = seconds_now();
};

}  // namespace plaquette
