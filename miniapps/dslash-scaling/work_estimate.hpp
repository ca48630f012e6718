// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a run takes, known before it starts.
#pragma once

#include "common/lattice/geometry.hpp"
#include "miniapps/dslash-scaling/scaling_options.hpp"
#include "miniapps/shared/machine_model.hpp"

namespace plaquette::scaling {

/// Returns the work of one application of a case on all ranks.
double gflop_of(const operator_case& c, const lattice_geometry& geometry);
double fewest_bytes_of(const operator_case& c, const lattice_geometry& geometry);

struct memory_estimate {
  double canonical_bytes = 0;  ///< a rank: links and the fields of the checks, in double and in the canonical order
  double operator_bytes = 0;   ///< a rank, of the case that needs most: packed links and clover blocks
  double vector_bytes = 0;     ///< a rank, of the same case: input, output, what lies between, the arrays of the copy
  double gpu_bytes = 0;        ///< on the GPU, of the case that needs most, where it is timed there
  /// Of a host, a rank.
  double total() const { return canonical_bytes + operator_bytes + vector_bytes; }
};
memory_estimate estimate_memory(const scaling_options& options, const lattice_geometry& geometry);

/// Returns what one application of a case takes on a machine that need not be here.
kernel_time time_of_case(const operator_case& c, const lattice_geometry& geometry, bool overlap,
                         const machine_figures& machine);

}  // namespace plaquette::scaling
