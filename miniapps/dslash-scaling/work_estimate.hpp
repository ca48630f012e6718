// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Memory and time of a run, known before it starts.
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
  double vector_bytes = 0;     ///< a rank, of the same case: input, output, intermediate vectors, arrays of the copy
  double gpu_bytes = 0;        ///< on the GPU, of the case that needs most, if a GPU is timed
  /// Of a host, a rank.
  double total() const { return canonical_bytes + operator_bytes + vector_bytes; }
};
memory_estimate estimate_memory(const scaling_options& options, const lattice_geometry& geometry);

/// Returns the time of one application of a case on a machine of which only the figures are known.
kernel_time time_of_case(const operator_case& c, const lattice_geometry& geometry, bool overlap,
                         const machine_figures& machine);

}  // namespace plaquette::scaling
