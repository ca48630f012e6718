// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Gauge configurations on the device: from and to the host, made on the spot, and gauge transformations. Random
/// numbers are the CPU library's, bit for bit; their logarithms and cosines differ in the last places.
#pragma once

#include <array>
#include <cstdint>

#include "common/lattice/gauge_action.hpp"
#include "common/lattice/site_field.hpp"
#include "gpu/fields/field.hpp"
#include "gpu/fields/matrix_field.hpp"

namespace plaquette::gpu {

/// Links U_mu(x), mu = x, y, z, t; no boundary condition folded in. The twin of the host's
/// plaquette::gauge_configuration, without ghosts.
using gauge_configuration = matrix_field<dimensions>;
/// A matrix of SU(3) a site.
using gauge_transformation = matrix_field<1>;

/// Returns the links of a configuration of the host, whose ghosts do not matter. Throws input_error if geometries
/// differ.
gauge_configuration import_links(const context& ctx, const plaquette::gauge_configuration& from);
/// Copies links to the host, ghosts filled. Collective, as `export_transformation` is.
plaquette::gauge_configuration export_links(const gauge_configuration& from);
gauge_transformation import_transformation(const context& ctx, const site_field<su3<double>>& from);
site_field<su3<double>> export_transformation(const gauge_transformation& from);

/// Returns a configuration of its own with the same links.
gauge_configuration copy_of(const gauge_configuration& links);

/// Returns all links 1.
gauge_configuration unit_configuration(const context& ctx);

/// Returns every link drawn from the Haar measure of SU(3): strong coupling, a hot start.
gauge_configuration random_configuration(const context& ctx, std::uint64_t seed);

/// Links 1 + noise * G, put back into SU(3), where the 18 reals of G are normal deviates of variance 1. The first two
/// rows are kept (Gram-Schmidt), the third follows.
/// \param noise  0 gives the unit field; meant to be well below 1
gauge_configuration weak_field_configuration(const context& ctx, double noise, std::uint64_t seed);

/// Returns constant field strength F_12 = 2 pi fluxes[0] / (L_1 L_2) in the plane xy and F_34 = 2 pi fluxes[1] / (L_3
/// L_4) in the plane zt, directions numbered from 1; zero in the other planes. The links that wrap around carry the
/// twist that closes the torus, so that the plaquette has the phase exp(i F) everywhere, the corners included.
gauge_configuration constant_flux_configuration(const context& ctx, const std::array<int, 2>& fluxes,
                                                abelian_embedding embedding);

/// Returns every site's matrix drawn from the Haar measure of SU(3).
gauge_transformation random_gauge_transformation(const context& ctx, std::uint64_t seed);

/// Returns the transformed links: U_mu(x) -> g(x) U_mu(x) g(x+mu)^+. Collective.
gauge_configuration transformed(const gauge_configuration& links, const gauge_transformation& g);

/// Returns psi(x) -> g(x) psi(x), every column. For fields of 4 spins and 3 colours.
field<double> transformed(const field<double>& psi, const gauge_transformation& g);

/// Returns the largest `distance_from_su3` of any link; NaN if a link holds one. Collective.
double distance_from_su3(const gauge_configuration& links);

}  // namespace plaquette::gpu
