// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The parts of a hybrid Monte Carlo as the papers have them, on the canonical fields of the host. They are loops over
/// all sites, without even-odd tricks. The functions of this file judge the results of a device.
/// common/hmc/hybrid_action.hpp has the action and its names.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/comms/communicator.hpp"
#include "common/hmc/hybrid_action.hpp"
#include "common/lattice/site_field.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"

namespace plaquette::cpu::textbook {

/// Returns S(after) - S(before) of the gauge action, from its plaquettes and rectangles. Ghosts filled. Collective.
double gauge_action_change(const gauge_configuration& after, const gauge_configuration& before,
                           const loop_action& action, const communicator& comm);

/// Returns the momenta A = sum_k i a_k T_k, T_k = lambda_k / 2, of a trajectory: a_k normal of variance 1. Collective.
gauge_configuration momenta(const lattice_geometry& geometry, std::uint64_t seed, std::uint64_t trajectory,
                            const communicator& comm);

/// Returns the momenta of one site, given by its local coordinate.
site_links momenta_at_site(const coordinate& x, const lattice_geometry& geometry, std::uint64_t seed,
                           std::uint64_t trajectory);

/// Returns K(after) - K(before), K = -sum tr A^2. Collective.
double kinetic_change(const gauge_configuration& after, const gauge_configuration& before, const communicator& comm);
/// Returns K(after) minus K of the momenta of a trajectory, which are drawn site by site. Collective.
double kinetic_change(const gauge_configuration& after, std::uint64_t seed, std::uint64_t trajectory,
                      const communicator& comm);

/// Returns the change of ln |det(A + i mu gamma_5)| on odd sites from `before` to `after`, mu the twisted mass of the
/// quarks: half of that of ln det(A^2 + mu^2). Ghosts filled. Collective.
double log_determinant_change(const gauge_configuration& after, const gauge_configuration& before,
                              const quark_pairs& quarks, const communicator& comm);

/// Returns factor gamma_5 psi on even sites, zero on odd ones.
spinor_configuration gamma5_of_even(const spinor_configuration& psi, complex<double> factor = {1.0, 0.0});

/// The operator W_k of hybrid_action.hpp: on all sites M + i mu gamma_5, with i mu_k gamma_5 more on even ones.
struct factor_operator {
  fermion_action action{};
  double mu = 0.0, even_mu = 0.0;
};
factor_operator operator_of(const quark_pairs& quarks, int factor);

/// Returns |M z + i mu gamma_5 z + i mu_k gamma_5 z_e - r| / |r|: whether z_e = W_k^-1 r_e. The parts of r on odd sites
/// are zero. Collective: the ghosts of z are refreshed.
/// \param daggered  with the adjoint of the operator
double even_system_residual(spinor_configuration& z, const spinor_configuration& r, const gauge_configuration& links,
                            const factor_operator& w, bool daggered, const communicator& comm);

/// Links, and sites of this rank at which solutions are judged on them.
struct judged_sites {
  const gauge_configuration& links;       ///< ghosts filled
  std::span<const coordinate> at;         ///< local coordinates
  std::vector<field_strengths> leaves{};  ///< of the clover term at these sites; none without it

  judged_sites(const gauge_configuration& on, std::span<const coordinate> sites, bool has_clover);
};

/// Returns a source at a site, given by its local coordinate.
using source_at_site = std::function<spinor<double>(const coordinate&)>;

/// Returns the residual of even_system_residual, with both norms over these sites alone. Collective: the ghosts of z
/// are refreshed.
double even_system_residual(spinor_configuration& z, const source_at_site& r, const judged_sites& sites,
                            const factor_operator& w, bool daggered, const communicator& comm);

/// Returns W_k psi_e, zero on odd sites. The odd sites of psi are made such that the operator gives zero on them.
/// Collective.
spinor_configuration even_product(spinor_configuration& psi, const gauge_configuration& links, const factor_operator& w,
                                  const communicator& comm);

/// Returns W_k X, X the vector of the factor's action: (W_(k+1) - W_k) phi, of the last factor gamma_5 phi.
/// Collective.
spinor_configuration source_of_action(const spinor_configuration& phi, const quark_pairs& quarks, int factor,
                                      const gauge_configuration& links, const communicator& comm);

/// Returns the same at a site, of the spinor phi there. Not if masses are shifted: it then takes the neighbours, too.
spinor<double> source_at(const spinor<double>& phi, const quark_pairs& quarks, int factor);

/// Returns |(W z)_o| / |z|, W with its adjoint if daggered. Collective.
double odd_part(spinor_configuration& z, const gauge_configuration& links, const factor_operator& w, bool daggered,
                const communicator& comm);

/// Returns the action of a factor minus the action of another X: of |phi + X|^2, or of |X|^2. Collective.
double factor_action_change(const spinor_configuration& after, const spinor_configuration& before,
                            const spinor_configuration& phi, bool is_last, const communicator& comm);

/// The derivatives of an action along U -> exp(e i T_k) U of one link. As dA/dt = i f_k T_k and dS/dt = -sum_k f_k a_k,
/// they are the -f_k.
using link_derivatives = std::array<double, 8>;

/// Returns the f_k of a matrix i f_k T_k: a force that a device has computed.
link_derivatives components(const su3<double>& force);

/// A link and the links around it, copied from all ranks.
struct link_surroundings {
  coordinate at;                      ///< global coordinate of the link
  int mu;                             ///< its direction
  const gauge_configuration& of;      ///< all links
  mutable gauge_configuration links;  ///< those around; the link itself is varied and put back

  /// Collective.
  link_surroundings(const coordinate& place, int direction, const gauge_configuration& all, const communicator& comm);
};

/// Returns the derivatives of the gauge action.
link_derivatives gauge_derivatives(const link_surroundings& link, const loop_action& action);

/// Returns the derivatives of -2 Re y^+ M(U) x at fixed x and y, summed over all sites: of the action of a
/// pseudofermion. Collective.
link_derivatives quark_derivatives(const link_surroundings& link, const spinor_configuration& x,
                                   const spinor_configuration& y, const fermion_action& action,
                                   const communicator& comm);

/// Returns the derivatives of -ln det(A_oo^2 + mu^2), mu the twisted mass of the quarks.
link_derivatives determinant_derivatives(const link_surroundings& link, const quark_pairs& quarks);

}  // namespace plaquette::cpu::textbook
