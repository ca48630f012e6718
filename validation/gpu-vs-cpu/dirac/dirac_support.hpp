// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Functions that tests of the device's Dirac operators share: the same columns on both sides, poisoned outputs,
/// distances.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/blas/blas.hpp"
#include "gpu/dirac/wilson_clover.hpp"
#include "validation/gpu-vs-cpu/support/poison.hpp"
#include "validation/support/production.hpp"

namespace plaquette::validation {

/// Bound on |out - M in| / |M in| of the device's operators in precision T, for one application; M is the CPU's
/// operator in double, whose own error is the second term. The sums have as many products as the CPU's: hence its bound
/// (support/production.hpp). In 16-bit fixed point the scale belongs to another basis, in which the largest of 24
/// numbers is as large.
template <class T>
double application_tolerance(reconstruct stored) {
  return application_multiple * (unit_roundoff<T> * reconstruction_multiple(stored) + unit_roundoff<double>);
}

/// Random columns: canonical, on the CPU in double, and on the device. There they are columns [1, 1 + N) of a field
/// with two more, so that strides do not follow from the number of columns.
template <class T>
struct columns_on_both {
  std::vector<spinor_configuration> canonical;
  cpu::field<double> host;
  gpu::field<T> storage, device;

  columns_on_both(const cpu::context& host_ctx, const gpu::context& ctx, int columns, std::uint64_t seed)
      : host(host_ctx, {spins, colours, site_subset::full, columns}),
        storage(ctx, {spins, colours, site_subset::full, columns + 2}),
        device(view(storage, 1, columns)) {
    poison(storage);
    for (int c = 0; c < columns; ++c) {
      canonical.push_back(cpu::random_spinor(ctx.geometry(), seed, static_cast<std::uint64_t>(c), communicator()));
      cpu::import_column(host, c, canonical.back());
      gpu::import_column(device, c, canonical.back());
    }
  }
};

/// Returns the largest |a - b| / |b| of any column; NaN if there is one. Sites that the fields do not have are zero in
/// both.
template <class T, class U>
double worst_distance(const gpu::field<T>& a, const cpu::field<U>& b) {
  double worst = 0.0;
  for (int c = 0; c < b.columns(); ++c) {
    spinor_configuration found(a.get_context().geometry()), expected(a.get_context().geometry());
    gpu::export_column(found, a, c);
    cpu::export_column(expected, b, c);
    const double d = relative_distance(found, expected, communicator());
    if (!(d <= worst)) worst = d;
    if (worst != worst) break;
  }
  return worst;
}

inline gpu::context device_context(const lattice_geometry& geometry) { return gpu::context(geometry, communicator()); }

}  // namespace plaquette::validation
