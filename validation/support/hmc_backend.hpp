// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Molecular dynamics of the library that a test is built for.
#pragma once

#include "validation/support/backend.hpp"
#ifdef PLAQUETTE_TEST_GPU_BACKEND
#include "gpu/solvers.hpp"
#else
#include "cpu_ref/solvers.hpp"
#endif

namespace plaquette::validation {

#ifdef PLAQUETTE_TEST_GPU_BACKEND
using gpu::make_molecular_dynamics;
#else
using cpu::make_molecular_dynamics;
#endif

}  // namespace plaquette::validation
