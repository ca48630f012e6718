// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Spinor fields, such as columns of propagators, in LIME files of other programs.
#pragma once

#include <string>

#include "common/io/byte_source.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette {

/// Reads the one Dirac spinor field of a LIME file: scidac-binary-data described by an etmc-propagator-format record
/// (tmLQCD) or by SciDAC's own records (QDP_F3_ or QDP_D3_DiracFermion). 32 or 64 bits, big-endian; sites with x
/// fastest; spin, colour, real and imaginary part of a site. The numbers are the file's as they stand: the writer's
/// gamma basis, normalisation and boundary phases are not converted. Each rank reads the part of its own box; ghosts
/// are filled. Throws input_error, on all ranks together, where the file is damaged (sizes, checksum, numbers that are
/// not finite) or its lattice is not that of `geometry`. Collective.
spinor_configuration read_lime_spinor(const std::string& path, const lattice_geometry& geometry,
                                      const communicator& comm);
spinor_configuration read_lime_spinor(const byte_source& source, const lattice_geometry& geometry,
                                      const communicator& comm);

/// Returns the lattice of such a field. Not collective.
extents lime_spinor_lattice(const byte_source& source);

}  // namespace plaquette
