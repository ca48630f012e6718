// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Momenta of links on the device: drawn, and measured. common/gauge/force.hpp has the conventions. Sums are in a fixed
/// order: the same bits run after run.
#pragma once

#include <cstdint>

#include "common/gauge/momenta.hpp"
#include "gpu/gauge/gauge_force.hpp"

namespace plaquette::gpu {

using plaquette::force_size;

/// Returns momenta A = i a_k T_k, the a_k normal deviates of variance 1: the weight exp(-K). Each number depends on
/// (seed, index, global site, direction, k) alone: the same bits on any process grid. They are made of the random
/// numbers of the CPU library (logarithms and cosines of the device differ in the last places).
/// \param index  number of the momenta of this seed, below 2^56: a trajectory
gauge_momenta random_momenta(const context& ctx, std::uint64_t seed, std::uint64_t index);

/// Draws the same numbers into momenta that are there, without an allocation.
void refresh_momenta(gauge_momenta& momenta, std::uint64_t seed, std::uint64_t index);

/// Returns K = -sum tr A^2 = sum a_k^2 / 2 over all links. Collective; waits.
double kinetic_energy(const gauge_momenta& momenta);

/// Returns K(after) - K(before), summed as differences link by link: no digits are lost if K is large. Throws
/// input_error if geometries differ. Collective; waits.
double kinetic_energy_difference(const gauge_momenta& after, const gauge_momenta& before);

/// Returns the root mean square and the largest |F| of a link, |F|^2 = -2 tr F^2; NaN if a link holds one. Collective;
/// waits.
force_size size_of_force(const gauge_momenta& force);

}  // namespace plaquette::gpu
