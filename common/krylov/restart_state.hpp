// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sizes of a restarted search for eigenvectors, and its state. Numbers only.
#pragma once

#include <vector>

#include "common/algebra/dense.hpp"

namespace plaquette {

/// Sizes of the search space.
struct restart_sizes {
  int keep = 0;   ///< Ritz vectors that survive a restart: more than are wanted
  int most = 0;   ///< vectors of the search space
  int block = 1;  ///< vectors that the operator takes at once
  int cycles = 30;
  int later = 0;  ///< vectors of the search space from the second cycle on; 0: as many as in the first
};

/// The state of a search after a cycle: all numbers to go on from there.
struct restart_state {
  std::vector<double> values;     ///< Ritz values of the kept vectors, descending
  std::vector<double> estimates;  ///< of their residuals |A v - theta v|
  host_matrix coupling;           ///< <kept, A next>: kept x block; without columns: not known, and projected again
  int kept = 0;
  int cycle = 0;
  bool cut = false;  ///< the search was interrupted in the cycle after this one
};

}  // namespace plaquette
