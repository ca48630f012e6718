// SPDX-License-Identifier: BSD-3-Clause
#include "library/open_library.hpp"

#include "common/error.hpp"
#include "cpu_ref/library.hpp"
#ifdef PLAQUETTE_LIBRARY_WITH_GPU
#include "gpu/library.hpp"
#endif

namespace plaquette {

const platform* find_platform(device_kind device) {
  if (device == device_kind::cpu) return &cpu::this_platform();
#ifdef PLAQUETTE_LIBRARY_WITH_GPU
  return &gpu::this_platform();
#else
  return nullptr;
#endif
}

std::shared_ptr<library> open_library(device_kind device, const lattice_geometry& geometry, const communicator& comm,
                                      const library_options& options) {
  const platform* const found = find_platform(device);
  if (found == nullptr)
    throw input_error("device gpu: this build has no CUDA library (PLAQUETTE_CUDA=ON builds it); device cpu is there");
  if (found->devices() == 0)
    throw input_error("device gpu: no GPU was found, or no driver for it; device cpu is there");
  return found->open(geometry, comm, options);
}

}  // namespace plaquette
