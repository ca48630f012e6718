// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The library that a physics test is about: the CPU's, or the CUDA library where PLAQUETTE_TEST_GPU_BACKEND is
/// defined. Namespace `backend` has fields, operators and gauge configurations under the same names and with the same
/// arguments for both.
#pragma once

#ifdef PLAQUETTE_TEST_GPU_BACKEND
#include "validation/support/gpu_backend.hpp"
#else
#include "validation/support/cpu_backend.hpp"
#endif
