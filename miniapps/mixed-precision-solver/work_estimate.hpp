// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a run takes, known before it starts: memory, flops and bytes.
#pragma once

#include <cstddef>

#include "common/comms/communicator.hpp"
#include "common/lattice/geometry.hpp"
#include "miniapps/mixed-precision-solver/solver_options.hpp"

namespace plaquette {

/// Fewest bytes of one application of the even-odd Schur operator, a site of one parity, for all columns together:
/// every number that it must see read once and written once. Two hops read 8 links each, two clover blocks are 72 reals
/// each, and a column's spinors are read three times and written twice. In half precision a spinor has a scale of 4
/// bytes beside it, and a clover term two.
double schur_bytes_per_site(bool clover, int columns, precision numbers, reconstruct links);

/// Standard flops of one application a site of one parity and column: 3696 with clover term, 2688 without.
double schur_flops_per_site(bool clover);

/// Applications of the even-odd operator in one iteration of a solver.
int applications_per_iteration(solver_kind solver);

/// How many of the right-hand sides the Krylov solver iterates at a time (cpu::columns_at_once).
int columns_at_once(precision inner, int columns, const lattice_geometry& geometry);

struct work_estimate {
  double canonical_bytes = 0;      ///< a rank: links and propagator in the canonical order
  double operator_bytes = 0;       ///< a rank: packed links and clover blocks
  double vector_bytes = 0;         ///< a rank: the solver's vectors
  double program_bytes = 0;        ///< a rank: what the process has taken already
  double measurement_bytes = 0;    ///< a rank: arrays by which the machine is measured, when all else is done
  double gpu_bytes = 0;            ///< on the GPU, where it solves: operators, vectors, the arrays of the copy
  double flops_per_iteration = 0;  ///< all ranks, all right-hand sides
  double bytes_per_iteration = 0;  ///< the same, of the operator alone

  /// The most that is in use at a time.
  double memory() const { return program_bytes + canonical_bytes + operator_bytes + vector_bytes + measurement_bytes; }
};

/// How many right-hand sides a GPU with so many bytes free is to solve at once: all, or as many as make the fewest
/// batches of one size, or nearly, that fit; 1 where not even one does. Where ranks share a GPU, the bytes of each.
int batch_that_fits(const solver_options& options, const lattice_geometry& geometry, double gpu_bytes);

/// Collective.
work_estimate estimate_work(const solver_options& options, const lattice_geometry& geometry, const communicator& world);

}  // namespace plaquette
