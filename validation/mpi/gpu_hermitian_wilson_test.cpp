// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// hermitian_wilson_test.cpp, about the CUDA library.
#define PLAQUETTE_TEST_GPU_BACKEND
#include "validation/mpi/hermitian_wilson_test.cpp"
