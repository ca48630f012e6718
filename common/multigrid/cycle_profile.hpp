// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The time of multigrid cycles, lattice by lattice.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace plaquette {

/// The time of cycles on one lattice.
struct lattice_profile {
  double smoothing = 0.0, transfer = 0.0;  ///< seconds; transfer: residual, restriction, prolongation
  double below = 0.0;                      ///< seconds in the coarser lattices
  double whole = 0.0;                      ///< seconds of whole cycles
  std::int64_t cycles = 0;
  std::int64_t krylov_steps = 0;  ///< of the GCR on this lattice
};

/// The same for all lattices, 0 the finest. Every stage waits for all queued work.
struct cycle_profile {
  std::function<void()> finish = [] {};
  std::vector<lattice_profile> lattices{};

  /// Runs `body` and adds its seconds.
  template <class Body>
  void timed(std::size_t lattice, double lattice_profile::* where, Body&& body) {
    finish();
    const auto start = std::chrono::steady_clock::now();
    body();
    finish();
    lattices.at(lattice).*where += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
};

}  // namespace plaquette
