// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The numbers that a run's checks compare: values go in, a number comes out. The program chooses the checks.
#pragma once

#include <cstdint>
#include <span>

#include "common/dg/dg_solver.hpp"
#include "miniapps/nodal-dg/dg_checkpoint.hpp"
#include "miniapps/nodal-dg/wave_case.hpp"

namespace plaquette::nodal_dg {

/// Returns the root of twice the energy of a state. Collective.
double energy_norm(const dg_domain& domain, std::span<const double> state);

/// Returns a bound on |A I q - I q_t| of the exact solution q at any time. A is the textbook's operator, I the
/// interpolation at nodes. For q = c cos(w t) + s sin(w t) the bound is the root of the sum of the squares of both
/// parts' norms. Of a large mesh the drawn elements stand for all.
double truncation_error(const dg_domain& domain, const wave_case& waves, std::span<const std::int32_t> drawn);

/// Throws input_error if nodes do not see the exact solution. Of a large mesh some elements say it, at odd
/// distances: the elements of a cell of a box come in even numbers.
void require_seen(const dg_domain& domain, const wave_case& waves);

/// Returns by how much two faces that lie on each other differ: periodic sides of a file are each other's copies to its
/// digits. Half of it, as each is off by that, relative to the height of the elements.
double mismatch_of(const simplex_mesh& mesh);

/// Returns how many roundings of |q| the fluxes leave in a right-hand side, in its unit |q| (N + 1)^2 Fscale c / 2.
///
/// A flux is half the difference of two waves, one of each side, so that each of its roundings is one of |q| at most.
/// Of acoustics, a wave p + Z n.u takes 3 products and 2 sums for n.u, a product and a sum. The difference, the half
/// and a product with n come to both sides' waves: 17. Of Maxwell's equations, a wave takes two such scalar products
/// and a sum. The difference, the half, and 2 products and a sum back from tangents to axes come to them: 27. The
/// textbook makes as many at most. They are independent: LIFT makes of them the root of the sum of the squares of its
/// row.
double roundings_of_fluxes(const dg_domain& domain);

/// Returns how far a solver's energy may be off, relative: sums over nodes, and over elements one after the other.
double rounding_of_energy(const dg_domain& domain);

/// Returns the largest difference of right-hand sides and the textbook's on drawn elements, in units of the scheme's
/// largest result from numbers of that size: |q| (N + 1)^2 Fscale c / 2. NaN if one is. Collective.
/// \param states  of all columns; rhs has the same shape
double distance_from_textbook(const dg_domain& domain, std::span<const double> states, int columns,
                              std::span<const double> rhs, double time, std::span<const std::int32_t> drawn);

/// Returns the largest difference of 2^c times state c and the first state, relative to the largest number. NaN if one
/// is. Collective.
double difference_of_columns(const dg_domain& domain, std::span<const double> states, int columns);

/// Returns the largest growth of the energy from one line of its history to the next, relative to the largest energy.
/// Not finite if an energy is not.
/// \param history         lines of time and energy, one at least
/// \param growth_between  the growth between moments that have no line
double growth_of(const json_document& history, double growth_between);

}  // namespace plaquette::nodal_dg
