// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The bench on a CPU: the hopping term, and what batches and half precision gain in whole solves.
#pragma once

#include "common/app/report.hpp"
#include "common/app/run_control.hpp"
#include "miniapps/bench/bench_options.hpp"

namespace plaquette::bench {

/// Prints the table while it is measured, and adds it to the report.
void run_cpu_bench(const options& o, run_control& control, report& r);

}  // namespace plaquette::bench
