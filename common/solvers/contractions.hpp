// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Correlators of a propagator where its columns are. `library::contract` makes the object.
///
///     const auto quark = on->contract(s);  // 12 columns on this library
///     quark->pion();
///     quark->meson(gamma_matrix(3), {0, 0, 1});
#pragma once

#include <vector>

#include "common/algebra/complex.hpp"
#include "common/lattice/meson_gammas.hpp"
#include "common/lattice/momentum_phase.hpp"
#include "common/solvers/solver_vectors.hpp"

namespace plaquette {

/// Columns of a propagator behind a handle: the first `used` vectors.
struct handle_columns {
  vectors_handle vectors;
  int used = 0;
};

/// A propagator that a library contracts. All members are collective, and return a number for each time of the whole
/// lattice. cpu_ref/observables has the formulas.
class contractions {
 public:
  virtual ~contractions() = default;
  /// Returns the sum of |S|^2 over space, spins and colours.
  virtual std::vector<double> pion() const = 0;
  /// Returns the meson with gamma_i at source and sink, averaged over i = x, y, z.
  virtual std::vector<double> rho() const = 0;
  /// Returns sum over x of exp(-i p x) tr [ sink S source gamma_5 S^+ gamma_5 ]. Throws input_error for spin matrices
  /// that are no products of gamma matrices, and for a direction that is not 0 to 3.
  /// \param direction  along which the correlator runs, t = 3; the momentum belongs to the three others, in this order
  virtual std::vector<complex<double>> meson(const meson_gammas& gammas, const lattice_momentum& momentum,
                                             int direction = 3) const = 0;
  /// Returns the proton of this quark as u, and of `down`, which the same kind of library contracts. Throws input_error
  /// for another kind or another lattice, and for a parity that is not +1 or -1.
  virtual std::vector<complex<double>> nucleon(const contractions& down, int parity,
                                               const lattice_momentum& momentum) const = 0;
};

}  // namespace plaquette
