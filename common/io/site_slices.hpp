// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fields over a lattice, a time slice at a time, between the ranks that hold its sites and rank 0, which has a file.
#pragma once

#include <cstddef>
#include <vector>

#include "common/algebra/complex.hpp"
#include "common/comms/communicator.hpp"
#include "common/io/hdf5_file.hpp"
#include "common/lattice/geometry.hpp"

namespace plaquette {

/// A time slice in the order of a file: [Z][Y][X][numbers of a site].
using slice_numbers = std::vector<complex<double>>;

/// Sends every rank's sites of a time slice to rank 0, which returns the slice; the others return nothing. Collective.
slice_numbers gathered_slice(const lattice_geometry& geometry, int time, std::size_t numbers_a_site,
                             const site_packer& pack, const communicator& comm);

/// Does the inverse: sends rank 0's slice to the ranks that hold its sites. Collective.
void scatter_slice(const lattice_geometry& geometry, int time, std::size_t numbers_a_site, const slice_numbers& slice,
                   const site_unpacker& unpack, const communicator& comm);

}  // namespace plaquette
