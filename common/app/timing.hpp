// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Time, and the figures of repeated measurements.
#pragma once

#include <vector>

#include "common/stopwatch.hpp"

namespace plaquette {

/// Of repeated measurements of one thing, in seconds.
struct sample_statistics {
  double min = 0, median = 0, max = 0;
  int samples = 0;
};

/// Of an empty list: zeros. The median of an even number of samples is the mean of the middle two.
sample_statistics statistics(std::vector<double> samples);

}  // namespace plaquette
