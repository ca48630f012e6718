// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The GPU's engine of a program that was built without CUDA.
#include "miniapps/mixed-precision-solver/solve_engine.hpp"
#include "miniapps/shared/gpu_access.hpp"

namespace plaquette {

std::unique_ptr<solve_engine> make_gpu_engine(gpu_access&, const gauge_configuration&, const solver_options&,
                                              const gauge_configuration*) {
  throw gpu_is_absent();
}

}  // namespace plaquette
