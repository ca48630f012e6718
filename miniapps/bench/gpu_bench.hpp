// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The bench on a GPU: rows of kernels and solves, what the device allows, and what other programs reach on it.
#pragma once

#include <optional>
#include <string>

#include "common/app/options.hpp"
#include "miniapps/shared/app_run.hpp"

namespace plaquette::bench {

struct gpu_bench_options {
  shared_options shared;
  /// Where links come from; not given: weak:0.3 for operators, whose rate does not depend on them, and a configuration
  /// thermalised at beta = 6 for solves.
  std::optional<gauge_choice> gauge;
  std::string rows = "all";
  std::string protocol = "both";  ///< or "cool", "sustained"
  int samples = 5;
  double idle_seconds = 2.0, running_seconds = 1.5;
  double mass = -0.285, csw = 1.769, delta = 0.03;  ///< of the solves
};

/// Measures the rows on the GPU of the run, prints the table and fills figures, checks and figure of merit. Stops
/// between two rows where the run is to stop. Throws input_error where the program was built without CUDA.
void run_gpu_bench(const gpu_bench_options& options, app_run& run);

}  // namespace plaquette::bench
