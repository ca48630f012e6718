// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Every call of the CUDA runtime goes through `check`. For sources of the library only: in its build for a device they
/// have PLAQUETTE_CUDA_RUNTIME, in the host build nothing of this.
#pragma once

#ifdef PLAQUETTE_CUDA_RUNTIME
#include <cuda_runtime.h>

#include <source_location>
#include <stdexcept>
#include <string>

namespace plaquette::gpu {

/// Throws std::runtime_error with the error's text and the place of the call.
inline void check(cudaError_t status, const std::source_location& where = std::source_location::current()) {
  if (status == cudaSuccess) return;
  throw std::runtime_error("CUDA: " + std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) +
                           ") at " + where.file_name() + ":" + std::to_string(where.line()));
}

}  // namespace plaquette::gpu
#endif
