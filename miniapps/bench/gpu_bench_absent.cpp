// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/bench/gpu_bench.hpp"
#include "miniapps/shared/gpu_access.hpp"

namespace plaquette::bench {

void run_gpu_bench(const gpu_bench_options&, app_run&) { throw gpu_is_absent(); }

}  // namespace plaquette::bench
