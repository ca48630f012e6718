// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The bench on a GPU: rows of kernels and solves with what the device allows, what QUDA reaches on an H200 and what is
/// asked of this library there.
#pragma once

#include <optional>
#include <string>

#include "common/app/options.hpp"
#include "common/app/report.hpp"
#include "common/app/run_control.hpp"
#include "common/comms/communicator.hpp"

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

/// Measures the rows, prints the table and fills figures, checks, figure of merit and the GPU's part of the machine.
/// Stops between two rows where `control` says so. Throws input_error where there is no GPU, or the program was built
/// without CUDA.
void run_gpu_bench(const gpu_bench_options& options, const communicator& world, run_control& control, report& r);

}  // namespace plaquette::bench
