// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The operator and the basis of the overlap propagator in the library under test (backend.hpp), and canonical fields
/// to compare them with.
#pragma once

#include <vector>

#include "common/algebra/gamma.hpp"
#include "validation/support/production.hpp"
#include "validation/support/test_fields.hpp"
#ifdef PLAQUETTE_TEST_GPU_BACKEND
#include "gpu/blas/basis.hpp"
#include "gpu/dirac/hermitian_wilson.hpp"
#else
#include "cpu_ref/blas/basis.hpp"
#include "cpu_ref/dirac/hermitian_wilson.hpp"
#endif

namespace plaquette::validation {

namespace backend {
#ifndef PLAQUETTE_TEST_GPU_BACKEND
using cpu::hermitian_wilson;
#endif
}  // namespace backend

/// Returns gamma_5 psi of the textbook.
inline spinor_configuration times_gamma5(spinor_configuration psi) {
  for (std::int64_t s = 0; s < psi.geometry().local_volume(); ++s) psi.at_site(s) = gamma_matrix(4) * psi.at_site(s);
  return psi;
}

/// Returns (1 + sign gamma_5) / 2 psi of the textbook.
inline spinor_configuration chirality_of(const spinor_configuration& psi, int sign) {
  spinor_configuration result = psi;
  const spinor_configuration rotated = times_gamma5(psi);
  for (std::int64_t s = 0; s < psi.geometry().local_volume(); ++s)
    result.at_site(s) = 0.5 * (psi.at_site(s) + static_cast<double>(sign) * rotated.at_site(s));
  return result;
}

/// Returns the columns [1, 1 + N) of a field with two more, so that strides do not follow from the number of columns;
/// all else is NaN.
template <class T>
backend::field<T> inner_columns(const backend::context& ctx, int columns) {
  backend::field<T> storage(ctx, {spins, colours, site_subset::full, columns + 2});
  poison(storage);
  return view(storage, 1, columns);
}

/// Random columns of this kind, and the same as canonical fields. (The canonical ones agree with the field, to a few
/// roundings of double.)
template <class T>
struct stored_columns {
  backend::field<T> packed;
  std::vector<spinor_configuration> canonical;

  stored_columns(const backend::context& ctx, int columns, std::uint64_t seed)
      : packed(inner_columns<T>(ctx, columns)) {
    for (int c = 0; c < columns; ++c) {
      backend::field<T> staged = view(packed, c, 1);
      import_column(staged, 0, cpu::random_spinor(ctx.geometry(), seed, static_cast<std::uint64_t>(c), ctx.comm()));
      export_column(canonical.emplace_back(ctx.geometry()), staged, 0);
    }
  }
};

template <class T>
spinor_configuration canonical_column(const backend::field<T>& x, int column) {
  spinor_configuration canonical(x.get_context().geometry());
  export_column(canonical, x, column);
  return canonical;
}

}  // namespace plaquette::validation
