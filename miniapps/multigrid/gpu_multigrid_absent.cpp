// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The GPU's engine of a program that was built without CUDA.
#include "miniapps/multigrid/multigrid_engine.hpp"
#include "miniapps/shared/gpu_access.hpp"

namespace plaquette {

std::unique_ptr<multigrid_engine> make_gpu_multigrid(gpu_access&, const gauge_input&, const setup_origin&,
                                                     const multigrid_options&) {
  throw gpu_is_absent();
}

}  // namespace plaquette
