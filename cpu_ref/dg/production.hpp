// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Nodal discontinuous Galerkin on the CPU, fast. Elements lie in the lanes of vectors, threads share blocks of
/// elements, ranks parts of the mesh. Float or double, several states at once.
#pragma once

#include <memory>
#include <string>

#include "common/dg/dg_solver.hpp"
#include "cpu_ref/simd/kernels.hpp"

namespace plaquette::cpu {

struct dg_options {
  std::string precision = "double";  ///< or "single"
  int columns = 1;                   ///< states
  int threads = 0;                   ///< 0: OpenMP's own default
  bool time_parts = false;           ///< measure volume, surface and update, which costs a little
  instruction_set isa = best_instruction_set();
  /// Ranks that wait for messages sleep in between, and leave the core to others; else they ask all the time.
  bool waits_asleep = false;
  bool overlap = true;  ///< messages travel while elements are worked on whose neighbours are all here
  stop_check stop{};    ///< of the set-up, on this rank
};

/// Keeps a reference to the domain. A state is the same bits on any partition and any number of threads. Collective.
std::unique_ptr<dg_solver> make_dg_solver(const dg_domain& domain, const dg_options& options);

/// Returns the bytes that a solver takes on this rank, without the domain.
double dg_memory_needed(const dg_domain& domain, const dg_options& options);

}  // namespace plaquette::cpu
