// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Time that has passed.
#pragma once

namespace plaquette {

/// Returns the seconds of a clock that never goes back; only differences mean anything.
double seconds_now();

/// Measures from its making.
class stopwatch {
 public:
  double seconds() const { return seconds_now() - start_; }

 private:
  double start_ = seconds_now();
};

}  // namespace plaquette
