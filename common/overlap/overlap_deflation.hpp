// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Deflation of solves by modes of D: projection, and the exact share of the modes.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/overlap/chiral_modes.hpp"

namespace plaquette {

/// Projects modes of D off, and adds their exact share. On fields of 4 spins whose columns have a chirality each.
template <class Field>
class overlap_deflation {
 public:
  explicit overlap_deflation(const overlap_mode_set<Field>& modes) : modes_(&modes) {}

  /// x loses its part along the modes.
  void project(Field& x) const {
    for (const int chi : {+1, -1}) {
      const Field& v = modes_->of(chi).vectors;
      if (v.columns() == 0) continue;
      Field half = detail::half_like(x, x.columns());
      take_chirality(half, x, chi);
      const host_matrix c = overlaps(v, half);
      // x -= P_chi (V c): made from the part itself.
      Field part = detail::half_like(x, x.columns()), whole = like(x);
      combine(part, v, c.numbers());
      put_chirality(whole, part, chi);
      axpy(x, uniform_scalars(x, -1.0), whole);
    }
  }
  /// Norms of the residual that modes of finite residuals r leave in y = V (e + sigma)^-1 V^+ b, one a column of b: the
  /// root of sum |r v^+ b / (e + sigma)|^2. An estimate.
  std::vector<double> residuals_left(const Field& b, double sigma) const {
    std::vector<double> norms2(static_cast<std::size_t>(b.columns()));
    for (const int chi : {+1, -1}) {
      const chiral_modes<Field>& modes = modes_->of(chi);
      if (modes.vectors.columns() == 0) continue;
      Field half = detail::half_like(b, b.columns());
      take_chirality(half, b, chi);
      const host_matrix c = overlaps(modes.vectors, half);
      for (int j = 0; j < c.columns(); ++j)
        for (int i = 0; i < c.rows(); ++i) {
          const auto k = static_cast<std::size_t>(i);
          const double factor = modes.residuals[k] / (std::max(modes.eigenvalues[k], 0.0) + sigma);
          norms2[static_cast<std::size_t>(j)] += factor * factor * norm2(c(i, j));
        }
    }
    for (double& x : norms2) x = std::sqrt(x);
    return norms2;
  }
  /// y += V (e + sigma)^-1 V^+ b
  void add_solution(Field& y, const Field& b, double sigma) const {
    for (const int chi : {+1, -1}) {
      const chiral_modes<Field>& modes = modes_->of(chi);
      if (modes.vectors.columns() == 0) continue;
      Field half = detail::half_like(b, b.columns());
      take_chirality(half, b, chi);
      host_matrix c = overlaps(modes.vectors, half);
      std::vector<double> factors;
      for (const double e : modes.eigenvalues) factors.push_back(1.0 / (std::max(e, 0.0) + sigma));
      scale_rows(c, factors);
      Field part = detail::half_like(b, b.columns()), whole = like(b);
      combine(part, modes.vectors, c.numbers());
      put_chirality(whole, part, chi);
      axpy(y, uniform_scalars(y, 1.0), whole);
    }
  }

 private:
  const overlap_mode_set<Field>* modes_;
};

}  // namespace plaquette
