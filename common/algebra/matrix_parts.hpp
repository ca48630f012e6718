// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Traces of products and parts of 3x3 matrices, on host and device.
#pragma once

#include "common/algebra/su3.hpp"

namespace plaquette {

/// Returns Re tr a b^+; of Hermitian matrices tr a b.
PLAQUETTE_HOST_DEVICE constexpr double real_trace_with_adjoint(const su3<double>& a, const su3<double>& b) {
  double sum = 0.0;
  for (int i = 0; i < colours; ++i)
    for (int j = 0; j < colours; ++j) sum += a(i, j).re * b(i, j).re + a(i, j).im * b(i, j).im;
  return sum;
}

/// Returns (i/2) (a^+ - a) without its trace: Hermitian. For a = 1 + i h it is h, to first order.
PLAQUETTE_HOST_DEVICE constexpr su3<double> traceless_hermitian_part(const su3<double>& a) {
  su3<double> h = complex<double>{0.0, 0.5} * (adjoint(a) - a);
  const double third = trace(h).re / 3.0;
  for (int i = 0; i < colours; ++i) h(i, i).re -= third;
  return h;
}

/// Returns (a - a^+) / 2 without its trace: in the algebra su(3).
PLAQUETTE_HOST_DEVICE constexpr su3<double> traceless_antihermitian_part(const su3<double>& a) {
  su3<double> h = 0.5 * (a - adjoint(a));
  const double third = trace(h).im / 3.0;
  for (int i = 0; i < colours; ++i) h(i, i) = {0.0, h(i, i).im - third};
  return h;
}

}  // namespace plaquette
