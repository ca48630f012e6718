// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Bytes and standard flops of the even-odd Schur operator and its solvers.
#pragma once

#include "common/algebra/reconstruct.hpp"
#include "common/algebra/spinor.hpp"
#include "common/krylov/precision.hpp"
#include "common/krylov/solver_choice.hpp"
#include "common/lattice/dirac_operator.hpp"

namespace plaquette {

constexpr double bytes_of_real(precision p) { return p == precision::half ? 2.0 : p == precision::single ? 4.0 : 8.0; }
/// In half precision with its scale.
constexpr double bytes_of_spinor(precision numbers) {
  return spinor_reals * bytes_of_real(numbers) + (numbers == precision::half ? sizeof(float) : 0.0);
}

/// Returns the fewest bytes of one application of the even-odd Schur operator, a site of one parity, for all columns
/// together: every number that it must see is read once and written once. Two hops read 8 links each, two clover blocks
/// are 72 reals each, and a column's spinors are read three times and written twice. In half precision a spinor has a
/// scale of 4 bytes, and a clover term two.
inline double schur_bytes_per_site(bool clover, int columns, precision numbers, reconstruct links) {
  const double real = bytes_of_real(numbers), scale = numbers == precision::half ? sizeof(float) : 0.0;
  const double link = stored_reals(links) * real, spinor = bytes_of_spinor(numbers),
               block = clover ? 72.0 * real + 2.0 * scale : 0.0;
  return 2.0 * 8.0 * link + 2.0 * block + 5.0 * spinor * columns;
}

/// Returns standard flops of one application a site of one parity and column: 3696 with clover term, 2688 without.
constexpr double schur_flops_per_site(bool clover) {
  return 2.0 * hopping_flops + xpay_flops + (clover ? 2.0 * clover_flops : 0.0);
}

/// Returns applications of the even-odd operator in one iteration of a solver.
constexpr int applications_per_iteration(solver_kind solver) {
  return solver == solver_kind::gcr || solver == solver_kind::mr ? 1 : 2;
}

}  // namespace plaquette
