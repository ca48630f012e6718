// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Propagators in files: HDF5, or LIME. A file is written as LIME if its name ends with .lime; a reader looks at the
/// first bytes.
///
/// A file holds one data set, /propagator, of extents [T][Z][Y][X][4][3][4][3]: time, z, y, x, sink spin, sink colour,
/// source spin, source colour; its elements are compounds {r, i} of 64-bit numbers (h5py reads them as complex128). It
/// is S = M^-1 in the normalisation of M, applied to the source. The data set has these attributes.
///
/// - format_version: 1, or 2 if a Gaussian source is smeared with links before stout smearing.
///
/// - basis, basis_note, gauge, plaquette, mass, kappa, clover_spatial, clover_temporal, anisotropy, nu.
///
/// - boundary_phases [4][2], source, source_position [4], smearing_radius, smearing_steps, residuals [12], tolerance.
///
/// - revision, facts_checksum (CRC-32 of the others that are read back).
///
/// A LIME file has one SciDAC field in the order of QDP++ (Chroma), or, in tmLQCD's basis, twelve fields as tmLQCD
/// writes them. The attributes are in its last record, plaquette-propagator, which other programs pass over: a
/// checksum, and JSON. In another spin basis than DeGrand-Rossi both spin indices are rotated: S' = R S R^+
/// (basis_rotation).
#pragma once

#include <string>
#include <vector>

#include "common/algebra/gamma.hpp"
#include "common/app/verification.hpp"
#include "common/comms/communicator.hpp"
#include "common/io/hdf5_file.hpp"
#include "common/io/spinor_file.hpp"
#include "common/lattice/fermion_action.hpp"
#include "cpu_ref/observables/correlators.hpp"
#include "cpu_ref/sources/sources.hpp"

namespace plaquette {

/// The action, source and links of a propagator.
struct propagator_facts {
  fermion_action action;
  source_description source;
  gamma_basis basis = gamma_basis::degrand_rossi;  ///< of the file
  std::string gauge;                               ///< as --gauge says it
  double plaquette = 0.0;
  std::vector<double> residuals;       ///< relative, of the full system, by the reference; a column each
  double tolerance = 0.0;              ///< that the residuals were held to
  std::vector<hdf5_attribute> more{};  ///< further contents of the file, of another operator; is not read
};

/// Returns "degrand-rossi", "nonrelativistic", "dirac-pauli", "openqcd", "tmlqcd": the inverse of parse_gamma_basis.
std::string name_of(gamma_basis basis);

/// Returns true if a file begins as LIME does, whatever its name. Throws input_error if it cannot be read.
bool is_lime_file(const std::string& path);

/// Returns the bytes of the data of a file for this lattice.
double propagator_file_bytes(const extents& lattice);

/// Writes the twelve columns, complete or not at all, through rank 0. Throws output_error. Collective.
void write_propagator(const std::string& path, bool replace, const propagator& columns, const propagator_facts& facts,
                      const communicator& comm);

/// Adds checks that a file holds the propagator that was written to it: it is read again, site by site. It is compared
/// bit by bit with the columns, in the basis of the file, and with the facts. Throws input_error if it cannot be read.
/// Collective.
/// \param which  of several propagators, for the names of the checks: ", mass 0.1"
void check_propagator_file(verification& checks, const std::string& path, const propagator& columns,
                           const propagator_facts& facts, const communicator& comm, const std::string& which = "");

struct loaded_propagator {
  propagator columns;  ///< in the DeGrand-Rossi basis; ghosts not filled
  propagator_facts facts;
};

/// Returns the inverse. Throws input_error, naming the file, if it is no such file or is for another lattice.
/// Collective.
loaded_propagator read_propagator(const std::string& path, const lattice_geometry& geometry, const communicator& comm);

}  // namespace plaquette
