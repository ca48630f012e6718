// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A program outside this repository that uses the CUDA library: |x|^2 of a field of zeros, if there is a GPU.
#include <cstdio>
#include <vector>

#include "common/comms/communicator.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/context.hpp"
#include "gpu/device/runtime.hpp"
#include "gpu/fields/field.hpp"

int main() {
  using namespace plaquette;
  const int devices = gpu::device_count();
  std::printf("GPUs: %d\n", devices);
  if (devices == 0) return 0;
  const gpu::context ctx(lattice_geometry({4, 2, 2, 6}), communicator());
  gpu::field<float> x(ctx, {.columns = 1});
  zero(x);
  const std::vector<complex<double>> norm = host_values(norm2(x));
  std::printf("|0|^2 = %g\n", norm[0].re);
  return norm[0].re == 0.0 ? 0 : 1;
}
