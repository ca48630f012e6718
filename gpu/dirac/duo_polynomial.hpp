// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The smoother of multigrid for batches: polynomials of the red-black system in floating-point numbers of 16 bits, two
/// columns in an instruction (gpu/fields/duo.hpp).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "gpu/dirac/wilson_clover.hpp"

namespace plaquette::gpu {

/// Computes x += p(A) r for real polynomials p, as a preconditioner does: to about three digits of |r|.
///
/// Columns are scaled, and sites are not, so that kernels convert nothing. With 11 bits a number far below the largest
/// is still right to 6e-8 of it. The polynomial is one of B = A / a - 1, where a is the centre of the spectrum, since
/// in powers of A the terms would cancel. As the product of its linear factors it reads one field less in each step.
class duo_polynomial {
 public:
  /// \param system        asymmetric, with a clover term
  /// \param coefficients  of A^0, A^1, ...; at least two, the last not zero
  /// Collective.
  duo_polynomial(const schur_wilson_clover<half>& system, int columns, const std::vector<double>& coefficients);

  /// Takes any columns up to the number in the constructor. Collective; with the same norms it gives the same bits on
  /// any number of ranks.
  /// \param norms  |r|^2
  void add_to(field<half>& x, const field<half>& r, const scalars& norms) const;

  /// Whether a system and its columns are such that it is faster than fields of half precision.
  static bool serves(const schur_wilson_clover<half>& system, int columns);

 private:
  struct parts;
  std::shared_ptr<parts> parts_;
};

/// x += p(A) r, with |r|^2, as common/krylov/relaxation.hpp takes it.
using fused_steps = std::function<void(field<half>& x, const field<half>& r, const scalars& norms)>;

/// Returns null if half precision is as fast.
fused_steps fused_polynomial(const schur_wilson_clover<half>& system, const field<half>& shape,
                             const std::vector<double>& coefficients);

}  // namespace plaquette::gpu
