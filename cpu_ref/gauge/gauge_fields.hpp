// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Gauge configurations made on the spot, and gauge transformations. Random ones are the same bits on any process grid
/// and any number of threads. All fields come with their ghosts filled; all functions that take a communicator are
/// collective.
#pragma once

#include <array>
#include <cstdint>

#include "common/comms/communicator.hpp"
#include "common/lattice/gauge_action.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu {

/// Returns all links 1.
gauge_configuration unit_configuration(const lattice_geometry& geometry);

/// Returns every link drawn from the Haar measure of SU(3): strong coupling, a hot start.
gauge_configuration random_configuration(const lattice_geometry& geometry, std::uint64_t seed,
                                         const communicator& comm);

/// Links 1 + noise * G, put back into SU(3), where the 18 reals of G are normal deviates of variance 1. The first two
/// rows are kept (Gram-Schmidt), the third follows.
/// \param noise  0 gives the unit field; meant to be well below 1
gauge_configuration weak_field_configuration(const lattice_geometry& geometry, double noise, std::uint64_t seed,
                                             const communicator& comm);

using plaquette::abelian_embedding;

/// Returns constant field strength F_12 = 2 pi fluxes[0] / (L_1 L_2) in the plane xy and F_34 = 2 pi fluxes[1] / (L_3
/// L_4) in the plane zt, directions numbered from 1; zero in the other planes. The links that wrap around carry the
/// twist that closes the torus, so that the plaquette has the phase exp(i F) everywhere, the corners included.
gauge_configuration constant_flux_configuration(const lattice_geometry& geometry, const std::array<int, 2>& fluxes,
                                                abelian_embedding embedding, const communicator& comm);

/// A matrix of SU(3) a site.
using gauge_transformation = site_field<su3<double>>;

/// Returns every site's matrix drawn from the Haar measure of SU(3).
gauge_transformation random_gauge_transformation(const lattice_geometry& geometry, std::uint64_t seed,
                                                 const communicator& comm);

/// Returns the transformed links: U_mu(x) -> g(x) U_mu(x) g(x+mu)^+. The ghosts of g must be filled.
gauge_configuration transformed(const gauge_configuration& links, const gauge_transformation& g,
                                const communicator& comm);

/// Returns psi(x) -> g(x) psi(x).
spinor_configuration transformed(const spinor_configuration& psi, const gauge_transformation& g,
                                 const communicator& comm);

/// Returns the largest `distance_from_su3` of any link; NaN if a link holds one. Needs no ghosts. Collective.
double distance_from_su3(const gauge_configuration& links, const communicator& comm);

/// Returns the root mean square of |U - V| over all links, |A|^2 = tr A^+ A. Needs no ghosts. Collective.
double rms_distance(const gauge_configuration& u, const gauge_configuration& v, const communicator& comm);

}  // namespace plaquette::cpu
