// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The names of the CUDA library, for what is written once for both.
#pragma once

#include "gpu/blas/blas.hpp"
#include "gpu/dirac/wilson_clover.hpp"
#include "gpu/fields/field.hpp"

namespace plaquette {

struct gpu_library {
  using context = gpu::context;
  template <class T>
  using field = gpu::field<T>;
  template <class T>
  using wilson_clover = gpu::wilson_clover<T>;
  template <class T>
  using schur_wilson_clover = gpu::schur_wilson_clover<T>;
};

}  // namespace plaquette
