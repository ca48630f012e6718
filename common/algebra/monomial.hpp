// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Spin matrices with one entry a row, as products of gamma matrices are.
#pragma once

#include <array>

#include "common/algebra/gamma.hpp"
#include "common/error.hpp"

namespace plaquette {

/// A spin matrix with one entry a row: row a has `entry[a]` in column `column[a]`.
struct monomial {
  std::array<int, spins> column{};
  std::array<complex<double>, spins> entry{};
};

/// Throws input_error for a matrix that is not of this kind.
inline monomial monomial_of(const spin_matrix& m) {
  monomial result;
  for (int a = 0; a < spins; ++a) {
    int entries = 0;
    for (int b = 0; b < spins; ++b)
      if (norm2(m(a, b)) > 0.0) {
        result.column[a] = b;
        result.entry[a] = m(a, b);
        ++entries;
      }
    if (entries != 1) throw input_error("a correlator's spin matrix has more or fewer than one entry in a row");
  }
  return result;
}

}  // namespace plaquette
