// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/solvers.hpp"
#include "miniapps/shared/gpu_solvers.hpp"

namespace plaquette {

std::unique_ptr<overlap_solver> overlap_solver_on_gpu(gpu_access& gpu, const gauge_configuration& links,
                                                      const overlap_settings& settings) {
  return gpu::make_overlap_solver(gpu.context(), links, settings);
}

}  // namespace plaquette
