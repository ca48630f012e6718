// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Momenta of links: drawn, and measured. common/gauge/force.hpp has the conventions.
#pragma once

#include <cstdint>

#include "common/gauge/momenta.hpp"
#include "cpu_ref/gauge/gauge_force.hpp"

namespace plaquette::cpu {

using plaquette::force_size;

/// Returns momenta A = i a_k T_k, the a_k normal deviates of variance 1: the weight exp(-K). Each number depends on
/// (seed, index, global site, direction, k) alone: the same bits on any number of ranks and threads. Ghosts are filled.
/// Collective.
/// \param index  number of the momenta of this seed, below 2^56: a trajectory
gauge_momenta random_momenta(const lattice_geometry& geometry, std::uint64_t seed, std::uint64_t index,
                             const communicator& comm);

/// Draws the same numbers into momenta that are there. Their ghosts are left as they are.
void refresh_momenta(gauge_momenta& momenta, std::uint64_t seed, std::uint64_t index);

/// Returns K = -sum tr A^2 = sum a_k^2 / 2 over all links. The same bits for any number of threads. Collective.
double kinetic_energy(const gauge_momenta& momenta, const communicator& comm);

/// Returns K(after) - K(before), summed as differences link by link: no digits are lost if K is large. Throws
/// input_error if geometries differ. Collective.
double kinetic_energy_difference(const gauge_momenta& after, const gauge_momenta& before, const communicator& comm);

/// Returns the root mean square and the largest |F| of a link, |F|^2 = -2 tr F^2; NaN if a link holds one. Collective.
force_size size_of_force(const gauge_momenta& force, const communicator& comm);

}  // namespace plaquette::cpu
