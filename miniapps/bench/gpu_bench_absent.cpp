// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The benchmarks of the CUDA library's own parts, of a program that was built without it.
#include <stdexcept>

#include "miniapps/bench/gpu_bench.hpp"

namespace plaquette::bench {

void run_gpu_bench(const gpu_bench_options&, app_run&) { throw std::logic_error("no GPU was opened"); }

}  // namespace plaquette::bench
