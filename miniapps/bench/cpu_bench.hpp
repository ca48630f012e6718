// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The bench on a CPU: the hopping term, and what batches and half precision gain in whole solves.
#pragma once

#include "miniapps/bench/bench_options.hpp"
#include "miniapps/shared/app_run.hpp"

namespace plaquette::bench {

/// Prints the table while it is measured, and adds it to the report of the run, with the rates of the solves.
void run_cpu_bench(const options& o, app_run& run);

}  // namespace plaquette::bench
