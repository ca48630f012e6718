// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Loops over the numbers of a site are unrolled: indexed arrays must end in registers.
#pragma once

#ifdef __CUDACC__
#define PLAQUETTE_GPU_UNROLL _Pragma("unroll")
#else
#define PLAQUETTE_GPU_UNROLL _Pragma("GCC unroll 16")
#endif
