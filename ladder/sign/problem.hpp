// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all rungs of this ladder start from: H = gamma_5 M, the Hermitian Wilson operator of mass -1.3, on a lattice so
/// small that all of its eigenvalues can be computed, and four vectors x. The operator is y = sign(H) x.
#pragma once

#include <algorithm>

#include "ladder/sign/spectrum.hpp"
#include "ladder/solvers/problem.hpp"

namespace ladder::sign {

using solvers::dot, solvers::norm2;
using vector = solvers::vector<double>;
inline constexpr double rho = 1.3;
/// The error of an approximation of the sign function on the spectrum of H.
inline constexpr double delta = 1e-8;

inline std::array<int, 4> extents_of(size s) { return {2, 2, s == size::reference ? 4 : 2, s == size::nano ? 2 : 4}; }

class sign_rung : public rung {
 public:
  sign_rung(size s, std::uint64_t seed) : p(extents_of(s), seed, 0.25), m(p) {
    const std::size_t length = std::size_t(p.sites) * 12;
    for (int column = 0; column < p.columns; ++column)
      x.emplace_back(p.in.begin() + long(column * length), p.in.begin() + long((column + 1) * length));
    y = x;
    modes = eigenvectors();
    lowest = std::abs(modes.values[0]), highest = lowest;
    for (const double value : modes.values) {
      lowest = std::min(lowest, std::abs(value));
      highest = std::max(highest, std::abs(value));
    }
  }
  std::vector<double> result() const override {
    std::vector<double> numbers;
    for (const auto& column : y)
      for (const dirac::number& v : column) numbers.insert(numbers.end(), {v.real(), v.imag()});
    return numbers;
  }
  std::string remark() const override { return std::to_string(applied / p.columns) + " products with H a column"; }

 protected:
  /// Computes out = H in. gamma_5 is 1 on spins 0 and 1, -1 on the others.
  void h(vector& out, const vector& in) const {
    m.apply(out, in);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (i % 12 >= 6) out[i] = -out[i];
  }
  /// Returns all eigenvalues and eigenvectors: H is made a dense matrix, column by column.
  spectrum eigenvectors() const {
    vector unit(x[0].size()), column = unit, dense;
    for (std::size_t j = 0; j < unit.size(); ++j) {
      unit[j] = 1;
      h(column, unit);
      unit[j] = 0;
      dense.insert(dense.end(), column.begin(), column.end());
    }
    return diagonalise(dense);
  }

  dirac::problem p;
  solvers::wilson<double> m;
  std::vector<vector> x, y;  // a column each
  spectrum modes;
  double lowest, highest;  // of |H|
  int applied = 0;         // products with H in the last run
};

}  // namespace ladder::sign
