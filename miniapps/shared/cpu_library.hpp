// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The names of the CPU library, for what is written once for both.
#pragma once

#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "cpu_ref/fields/field.hpp"

namespace plaquette {

struct cpu_library {
  using context = cpu::context;
  template <class T>
  using field = cpu::field<T>;
  template <class T>
  using wilson_clover = cpu::wilson_clover<T>;
  template <class T>
  using schur_wilson_clover = cpu::schur_wilson_clover<T>;
};

}  // namespace plaquette
