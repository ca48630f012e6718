// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Parameters of the Wilson-clover action, isotropic or not, and the fermions' boundary condition.
#pragma once

#include <array>

#include "common/algebra/complex.hpp"
#include "common/lattice/extents.hpp"

namespace plaquette {

/// M = (1 + 3 nu/xi0 + m + C) - 1/2 sum_mu c_mu [ (1 - gamma_mu) U_mu(x) psi(x+mu) + (1 + gamma_mu) U_mu(x-mu)^+
/// psi(x-mu) ] with c_t = 1 and c_x = c_y = c_z = nu/xi0; the clover term C weighs planes with time by c_T and the
/// spatial ones by c_R/xi0 (Chroma's convention). Isotropic: xi0 = nu = 1, c_R = c_T = csw, and the diagonal is 4 + m.
struct fermion_action {
  double mass = 0.0;             ///< m, in units of 1/a (of 1/a_t where anisotropic)
  double clover_spatial = 0.0;   ///< c_R
  double clover_temporal = 0.0;  ///< c_T
  double anisotropy = 1.0;       ///< xi0, the bare fermion anisotropy
  double nu = 1.0;               ///< ratio of bare quark parameters
  /// A spinor that crosses the boundary forwards in direction mu takes this phase: psi(x + L_mu) = phase psi(x).
  std::array<complex<double>, dimensions> boundary_phase{complex<double>{1, 0}, complex<double>{1, 0},
                                                         complex<double>{1, 0}, complex<double>{-1, 0}};

  double diagonal() const { return 1.0 + 3.0 * nu / anisotropy + mass; }
  double kappa() const { return 0.5 / diagonal(); }
  /// Returns c_mu, which multiplies the hops of direction mu.
  double hop_coefficient(int mu) const { return mu == 3 ? 1.0 : nu / anisotropy; }
  /// Returns coefficient in place of csw for the plane (mu, nu).
  double clover_coefficient(int mu, int nu_) const {
    return mu == 3 || nu_ == 3 ? clover_temporal : clover_spatial / anisotropy;
  }
  bool has_clover() const { return clover_spatial != 0.0 || clover_temporal != 0.0; }

  /// Returns an isotropic action; antiperiodic in time.
  static fermion_action isotropic(double mass, double csw) { return {mass, csw, csw}; }
  /// Returns m for a given kappa = 1 / (2 (1 + 3 nu/xi0 + m)).
  static double mass_of_kappa(double kappa, double anisotropy = 1.0, double nu = 1.0) {
    return 0.5 / kappa - 1.0 - 3.0 * nu / anisotropy;
  }
};

}  // namespace plaquette
