// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Solvers of the CUDA library for the GPU of a run. A program that was built without it has the same functions; they
/// say so.
#pragma once

#include <memory>

#include "common/solvers/overlap_solver.hpp"
#include "miniapps/shared/gpu_access.hpp"

namespace plaquette {

/// See gpu::make_overlap_solver.
std::unique_ptr<overlap_solver> overlap_solver_on_gpu(gpu_access& gpu, const gauge_configuration& links,
                                                      const overlap_settings& settings);

}  // namespace plaquette
