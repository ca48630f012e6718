// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Conjugate gradients on the normal equations over an operator under test: slow and plain, so that physics is tested
/// without the library's solvers.
#pragma once

#include <utility>
#include <vector>

#include "common/algebra/largest.hpp"
#include "validation/support/operator_under_test.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette::validation {

struct test_solution {
  spinor_configuration x;
  double residual;  ///< |b - M x| / |b|, computed from x
  int iterations;
};

/// Solves M x = b by CG on M^+ M x = M^+ b until the residual M^+ (b - M x) has shrunk by `tolerance`.
inline test_solution solve(const dirac_operator& m, const spinor_configuration& b, double tolerance, int limit = 2000) {
  spinor_configuration x(b.geometry()), r(b.geometry()), mp(b.geometry()), mmp(b.geometry());
  m(r, b, true);
  spinor_configuration p = r;
  double rr = dot(r, r).re;
  const double stop = tolerance * tolerance * rr;
  int iteration = 0;
  for (; iteration < limit && rr > stop; ++iteration) {
    m(mp, p, false);
    m(mmp, mp, true);
    const double alpha = rr / dot(mp, mp).re;
    visit_sites(b.geometry(), [&](const coordinate& at) {
      x(at) += alpha * p(at);
      r(at) -= alpha * mmp(at);
    });
    const double rr_new = dot(r, r).re;
    const double beta = rr_new / rr;
    visit_sites(b.geometry(), [&](const coordinate& at) { p(at) = r(at) + beta * p(at); });
    rr = rr_new;
  }
  m(mp, x, false);
  const double residual = norm(sum(b, {-1.0, 0.0}, mp)) / norm(b);
  return {std::move(x), residual, iteration};
}

/// The 12 columns of S = M^-1 from sources[spin * 3 + colour]; `worst` is the largest relative residual.
struct test_propagator {
  std::vector<spinor_configuration> columns;
  double worst = 0.0;
};

template <class Source>
test_propagator propagator(const dirac_operator& m, double tolerance, Source&& source) {
  test_propagator s;
  for (int spin = 0; spin < spins; ++spin)
    for (int colour = 0; colour < colours; ++colour) {
      test_solution solution = solve(m, source(spin, colour), tolerance);
      keep_largest(s.worst, solution.residual);
      s.columns.push_back(std::move(solution.x));
    }
  return s;
}

/// Returns the pion: sum over space and over the 12 sources of |S|^2, one number a time slice (direction `time` = 3, or
/// another).
inline std::vector<double> pion_correlator(const std::vector<spinor_configuration>& columns, int time = 3) {
  const lattice_geometry& geometry = columns.front().geometry();
  std::vector<double> c(static_cast<std::size_t>(geometry.global()[time]));
  for (const auto& column : columns)
    visit_sites(geometry, [&](const coordinate& x) { c[static_cast<std::size_t>(x[time])] += norm2(column(x)); });
  return c;
}

}  // namespace plaquette::validation
