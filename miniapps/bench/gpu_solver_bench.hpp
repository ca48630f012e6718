// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whole solves on a GPU, held against what the rates of their parts allow.
#pragma once

#include "common/app/verification.hpp"
#include "miniapps/bench/gpu_lattice.hpp"
#include "miniapps/bench/gpu_rows.hpp"

namespace plaquette::bench {

/// The system of all solves of a run: the symmetric Schur complement of the Wilson-clover operator.
struct gpu_system {
  double mass = 0.0, csw = 1.0;
  double tolerance = 1e-10;        ///< of the relative residual; where the solution is single, 1e-6
  double delta = 0.03;             ///< see reliable_updates
  double copy_gbytes_per_s = 0.0;  ///< of the device
};

struct gpu_solve {
  std::string solution_precision, inner_precision;
  double tolerance = 0.0;
  int iterations = 0;
  int updates = 0;  ///< residuals recomputed, most of any right-hand side
  double residual =
      0.0;  ///< |b - Mhat x| / |b|, the worst right-hand side, by the operator of the solution's precision
  sample_statistics seconds;  ///< of the whole batch
  double tflops = 0.0;        ///< of applications of the operators alone, in standard flops
  /// Seconds that as many iterations take by the measured rates of their parts: two applications, three passes over
  /// vectors, and two vectors read for inner products. Recomputed residuals are not in it.
  double predicted_seconds = 0.0;
  /// Of a batch: the seconds of its right-hand sides one by one / seconds of the batch.
  std::optional<double> batch_gain;
};

/// Times BiCGstab, by itself or with reliable updates, with row.rhs random right-hand sides. After one solve that is
/// not counted, two are.
/// \param checks  gets the residual
gpu_solve time_solve(gpu_lattice& lattice, const gpu_row& row, const gpu_system& system, verification& checks);

}  // namespace plaquette::bench
