// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Levels of multigrid that every rank holds whole, from those whose sites are divided among ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/comms/communicator.hpp"
#include "common/operators/coarse_matrices.hpp"

namespace plaquette {

/// Returns the numbers of all ranks' sites by the sites' places, on every rank: [place][number of a site]. Collective.
/// \param mine    [site of this rank][number of a site]
/// \param places  of this rank's sites, as many as on any other
std::vector<complex<float>> gathered_sites(const std::vector<complex<float>>& mine,
                                           const std::vector<std::int64_t>& places, std::size_t numbers,
                                           const communicator& comm);

/// Returns the same lattice in one box.
coarse_geometry whole_lattice(const coarse_geometry& part);
/// Returns the place in `whole` of each site of this rank's part.
std::vector<std::int64_t> places_in(const coarse_geometry& whole, const coarse_geometry& part);

/// Returns the operator of the whole lattice on every rank. Collective.
coarse_matrices whole_lattice(const coarse_matrices& part, const communicator& comm);
/// Returns the null vectors of the whole lattice on every rank. Collective.
null_space whole_lattice(const null_space& part, const communicator& comm);

}  // namespace plaquette
