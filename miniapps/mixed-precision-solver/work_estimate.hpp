// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The cost of a run, known before it starts: memory, flops and bytes.
#pragma once

#include <cstddef>

#include "common/comms/communicator.hpp"
#include "common/lattice/geometry.hpp"
#include "miniapps/mixed-precision-solver/solver_options.hpp"
#include "miniapps/shared/machine_model.hpp"

namespace plaquette {

struct work_estimate {
  double canonical_bytes = 0;      ///< a rank: links and propagator in the canonical order
  double operator_bytes = 0;       ///< a rank: packed links and clover blocks
  double vector_bytes = 0;         ///< a rank: the solver's vectors
  double program_bytes = 0;        ///< a rank: memory of the process so far
  double measurement_bytes = 0;    ///< a rank: arrays by which the machine is measured, when all else is done
  double gpu_bytes = 0;            ///< on the GPU, if it solves: operators, vectors, the arrays of the copy
  double flops_per_iteration = 0;  ///< all ranks, all right-hand sides
  double bytes_per_iteration = 0;  ///< the same, of the operator alone

  /// The most that is in use at a time.
  double memory() const { return program_bytes + canonical_bytes + operator_bytes + vector_bytes + measurement_bytes; }
};

/// Returns the number of right-hand sides that a GPU with this number of free bytes should solve at once. It is all, or
/// the size of the fewest equal batches, or nearly, that fit; 1 if not even one does. If ranks share a GPU, the bytes
/// of each.
int batch_that_fits(const solver_options& options, const lattice_geometry& geometry, double gpu_bytes);

/// Collective.
work_estimate estimate_work(const solver_options& options, const lattice_geometry& geometry, const communicator& world);

/// The time of solves on a machine of which only the figures are known.
struct solve_times {
  kernel_time application;  ///< of the operator of the Krylov space, to the columns of a batch
  double iteration = 0.0;   ///< of a batch
  double solves = 0.0;      ///< of all batches, for the expected iterations; 0 if they are not known
};
solve_times times_of_solve(const solver_options& options, const lattice_geometry& geometry,
                           const machine_figures& machine);

}  // namespace plaquette
