// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The smoother of multigrid for batches: polynomials of the red-black system in floating-point numbers of 16 bits, two
/// columns in an instruction (gpu/fields/twin.hpp).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "gpu/dirac/wilson_clover.hpp"

namespace plaquette::gpu {

/// Computes x += p(A) r for real polynomials p, as a preconditioner does: to about three digits of |r|.
///
/// Columns are scaled to numbers near 1, and sites are not, so that kernels convert nothing: with 11 bits a number far
/// below the largest is still right to 6e-8 of it. The polynomial is one of B = A / a - 1, where a is the centre of the
/// spectrum, by Horner's rule: in powers of A the terms would cancel.
class twin_polynomial {
 public:
  /// \param system        asymmetric, with a clover term, of fields that no rank divides
  /// \param coefficients  of A^0, A^1, ...; at least two
  twin_polynomial(const schur_wilson_clover<half>& system, int columns, const std::vector<double>& coefficients);

  /// Any columns up to those of the constructor.
  void add_to(field<half>& x, const field<half>& r) const;

  /// Whether a system and its columns are such that it is faster than fields of half precision.
  static bool serves(const schur_wilson_clover<half>& system, int columns);

 private:
  struct parts;
  std::shared_ptr<parts> parts_;
};

/// Returns x += p(A) r, as common/algorithms/relaxation.hpp looks for it; null where half precision is as fast.
std::function<void(field<half>& x, const field<half>& r)> fused_polynomial(const schur_wilson_clover<half>& system,
                                                                           const field<half>& shape,
                                                                           const std::vector<double>& coefficients);

}  // namespace plaquette::gpu
