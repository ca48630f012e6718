// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The CUDA library as `backend` (backend.hpp).
#pragma once

#include <omp.h>

#include <vector>

#include "gpu/blas/blas.hpp"
#include "gpu/dirac/clover_term.hpp"
#include "gpu/dirac/wilson_clover.hpp"
#include "gpu/gauge/gauge_fields.hpp"
#include "gpu/gauge/heatbath.hpp"
#include "gpu/gauge/plaquette.hpp"
#include "gpu/sources/sources.hpp"
#include "validation/gpu-vs-cpu/support/poison.hpp"

namespace plaquette::validation::backend {

inline constexpr const char* operators_name = "gpu";
inline constexpr bool has_textbook = false;

using namespace plaquette::gpu;

/// Threads serve the host build's loops; to a device it is all one.
inline context context_with_threads(const lattice_geometry& geometry, const communicator& comm, int threads) {
  omp_set_num_threads(threads);
  return context(geometry, comm);
}

/// Returns a right-hand side that the library has made, as a canonical field.
inline spinor_configuration canonical_source(const source_description& source, int spin, int colour,
                                             const plaquette::gauge_configuration& links) {
  const context ctx(links.geometry(), communicator());
  gpu::field<double> column(ctx, {spins, colours, site_subset::full, 1});
  make_source(column, 0, source, spin, colour, import_links(ctx, links));
  spinor_configuration canonical(links.geometry());
  export_column(canonical, column, 0);
  return canonical;
}

/// Multiplies one of the numbers that x holds.
inline void strike(gpu::field<float>& x, float factor) {
  std::vector<complex<double>> numbers = column_numbers(x, 0);
  numbers[numbers.size() / 3].re *= static_cast<double>(factor);
  set_column_numbers(x, 0, numbers);
}

}  // namespace plaquette::validation::backend
