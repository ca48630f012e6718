// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Time, and the figures of repeated measurements.
#pragma once

#include <vector>

namespace plaquette {

/// Returns the seconds of a clock that never goes back; only differences mean anything.
double seconds_now();

/// Measures from its making.
class stopwatch {
 public:
  stopwatch() : start_(seconds_now()) {}
  double seconds() const { return seconds_now() - start_; }

 private:
  double start_;
};

/// Of repeated measurements of one thing, in seconds.
struct sample_statistics {
  double min = 0, median = 0, max = 0;
  int samples = 0;
};

/// Of an empty list: zeros. The median of an even number of samples is the mean of the middle two.
sample_statistics statistics(std::vector<double> samples);

}  // namespace plaquette
