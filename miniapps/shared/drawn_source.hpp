// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sources of repeated solves. Solves for multiples of a source are known once one of them is, so that each has its own
/// place on the lattice.
#pragma once

#include <cstdint>

#include "common/lattice/extents.hpp"
#include "common/lattice/source_description.hpp"

namespace plaquette::scaling {

/// Returns the source at another place, drawn by the seed. Numbers 0, 1, ... have places of their own, none of them the
/// given one, until all sites have been taken (all times, of a wall).
source_description drawn_source(const source_description& source, const extents& lattice, std::uint64_t seed,
                                int number);

}  // namespace plaquette::scaling
