// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/comms/host_waiting.hpp"

#include "gpu/device/check.hpp"

namespace plaquette::gpu {

#ifdef PLAQUETTE_CUDA_RUNTIME
void choose_waiting(int device, wait_mode mode) {
  check(cudaSetDevice(device));
  check(cudaSetDeviceFlags(mode == wait_mode::block ? cudaDeviceScheduleBlockingSync : cudaDeviceScheduleSpin));
}
#else
void choose_waiting(int /*device*/, wait_mode /*mode*/) {}
#endif

}  // namespace plaquette::gpu
