// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A level of multigrid on the host, as setups make it, files hold it and both libraries take it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/algebra/complex.hpp"
#include "common/lattice/aggregates.hpp"

namespace plaquette {

inline constexpr int chiralities = 2;
/// Matrices a site: the diagonal X, then the links Y of the eight hops.
inline constexpr int coarse_matrices_of_a_site = 1 + hop_directions;

/// The coarse operator (M psi)(x) = X(x) psi(x) + sum_d Y_d(x) psi(x + d). Nine n x n matrices a site, n = 2 Nvec, all
/// kept where the sum is made: [site][X, +x, -x, +y, -y, +z, -z, +t, -t][row][column]. A number's index is chirality *
/// Nvec + vector. gamma_5 is +1 on chirality 0 and -1 on chirality 1; gamma_5 M gamma_5 = M^+.
struct coarse_matrices {
  coarse_geometry geometry;
  int n;
  std::vector<complex<float>> numbers;

  coarse_matrices(const coarse_geometry& g, int numbers_of_a_site)
      : geometry(g),
        n(numbers_of_a_site),
        numbers(static_cast<std::size_t>(g.sites() * coarse_matrices_of_a_site * n) * static_cast<std::size_t>(n)) {}

  std::int64_t matrix_size() const { return static_cast<std::int64_t>(n) * n; }
  /// Returns a matrix: 0 is X, matrix 1 + d the link of direction d.
  complex<float>* matrix(std::int64_t site, int which) {
    return numbers.data() + (site * coarse_matrices_of_a_site + which) * matrix_size();
  }
  const complex<float>* matrix(std::int64_t site, int which) const {
    return const_cast<coarse_matrices*>(this)->matrix(site, which);
  }
};

/// Returns P^+ (M + i mu gamma_5) P of m = P^+ M P. The columns of P have one chirality each and are orthonormal, so
/// P^+ gamma_5 P is the sign of the chirality: the diagonal of X gets i mu on chirality 0 and -i mu on chirality 1.
/// Then gamma_5 M gamma_5 is not M^+ any more, but M^+ with -mu.
inline coarse_matrices with_twist(coarse_matrices m, double mu) {
  for (std::int64_t site = 0; site < m.geometry.sites(); ++site)
    for (int k = 0; k < m.n; ++k) m.matrix(site, 0)[k * m.n + k].im += static_cast<float>(k < m.n / 2 ? mu : -mu);
  return m;
}

/// The columns of P: vectors that are orthonormal on every aggregate and chirality. The layout is
/// [coarse site][parity][chirality][fine site][row][vector], see `aggregates::row_begin`. A row is a number of a fine
/// site's chirality. On the finest lattice these are spin and colour (6, DeGrand-Rossi basis). On a coarse lattice
/// they are the vectors of the level above.
struct null_space {
  plaquette::aggregates blocks;
  int rows;
  int vectors;
  std::vector<complex<float>> numbers;

  null_space(const plaquette::aggregates& a, int rows_of_a_chirality, int count)
      : blocks(a),
        rows(rows_of_a_chirality),
        vectors(count),
        numbers(static_cast<std::size_t>(a.fine_sites() * chiralities * rows_of_a_chirality) *
                static_cast<std::size_t>(count)) {}

  complex<float>* row(std::int64_t index) { return numbers.data() + index * vectors; }
  const complex<float>* row(std::int64_t index) const { return numbers.data() + index * vectors; }
};

}  // namespace plaquette
