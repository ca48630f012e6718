// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links of the CPU library with the same links of the CUDA library, and their distance.
#pragma once

#include <cmath>
#include <cstdint>

#include "gpu/device/runtime.hpp"
#include "gpu/gauge/gauge_fields.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette::validation {

/// Half the distance of neighbouring numbers around 1.
inline constexpr double unit_roundoff = 0x1p-53;

/// Extents 2 and odd numbers of 32-site blocks among them.
inline const extents gauge_lattices[] = {{2, 2, 2, 2}, {4, 6, 2, 8}, {6, 2, 4, 10}, {6, 6, 6, 6}};

inline gpu::context gpu_context(const extents& lattice) { return {lattice_geometry(lattice), communicator()}; }

/// Returns what log, sqrt, sin and cos of the device may differ from the host's, in units of the last place of a
/// result: CUDA states 1, 0, 2 and 2 (C++ Programming Guide, mathematical functions), glibc 1 each. In the host build
/// they are the same functions.
inline double function_ulps() { return gpu::kernels_run_on_host() ? 0.0 : 3.0; }

/// Returns the largest difference of a real number in two matrices; NaN if one holds one.
inline double largest_difference(const su3<double>& a, const su3<double>& b) {
  double worst = 0.0;
  for (int i = 0; i < colours; ++i)
    for (int j = 0; j < colours; ++j)
      for (const double d : {std::abs(a(i, j).re - b(i, j).re), std::abs(a(i, j).im - b(i, j).im)})
        if (!(d <= worst)) worst = d;
  return worst;
}
inline double largest_difference(const plaquette::gauge_configuration& a, const plaquette::gauge_configuration& b) {
  double worst = 0.0;
  visit_sites(a.geometry(), [&](const coordinate& x) {
    for (int mu = 0; mu < dimensions; ++mu) {
      const double d = largest_difference(a(x)[mu], b(x)[mu]);
      if (!(d <= worst)) worst = d;
    }
  });
  return worst;
}

/// Ghosts too.
template <class Value>
bool same_bits(const site_field<Value>& a, const site_field<Value>& b) {
  const extents& local = a.geometry().local();
  coordinate x;
  for (x[3] = -1; x[3] <= local[3]; ++x[3])
    for (x[2] = -1; x[2] <= local[2]; ++x[2])
      for (x[1] = -1; x[1] <= local[1]; ++x[1])
        for (x[0] = -1; x[0] <= local[0]; ++x[0])
          if (a(x) != b(x)) return false;
  return true;
}

/// Fills memory of the next field of this kind with NaN, on a device too (the host build does that by itself).
template <class MatrixField>
void poison_workspace(const gpu::context& ctx) {
  MatrixField first(ctx), second(ctx);
  for (MatrixField* field : {&first, &second})
    gpu::fill_bytes(ctx.queue(), field->sites().begin, 0xff, static_cast<std::size_t>(2 * field->parity_bytes()));
}

}  // namespace plaquette::validation
