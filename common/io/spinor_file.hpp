// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Spinor fields and propagators in LIME files, as other programs read and write them.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/algebra/gamma.hpp"
#include "common/io/atomic_file.hpp"
#include "common/io/byte_source.hpp"
#include "common/lattice/site_field.hpp"
#include "common/lattice/source_description.hpp"

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

// ---- Propagators: twelve columns, 3 * (source spin) + (source colour), here always in the DeGrand-Rossi basis.

enum class propagator_style {
  scidac,  ///< one field, as QDP++ and Chroma write a LatticePropagator; DeGrand-Rossi basis
  etmc     ///< twelve spinor fields one after the other, as tmLQCD writes them; its basis
};
/// Returns the basis of a style.
constexpr gamma_basis basis_of(propagator_style style) {
  return style == propagator_style::scidac ? gamma_basis::degrand_rossi : gamma_basis::tmlqcd;
}

struct propagator_write_options {
  propagator_style style = propagator_style::scidac;
  int precision_bits = 64;                       ///< 32 or 64
  std::optional<gamma_basis> basis{};            ///< of the file; without, that of the style
  existing_file existing = existing_file::keep;  ///< what to do where the file exists
  std::string information{};                     ///< free text of the record's XML
  /// A further record at the end, as type and text; none where the type is empty.
  std::pair<std::string, std::string> last_record{};
};

/// Writes a propagator with the checksums of SciDAC; ranks write their own boxes. Throws output_error where it cannot
/// be written. Collective.
void write_lime_propagator(const std::string& path, std::span<const spinor_configuration> columns,
                           const propagator_write_options& options, const communicator& comm);

/// Reads a propagator of either style; twelve files of tmLQCD, one a column, become one by `cat`. Spinor fields come in
/// the order of the file, unless their records name spin and color of the source (USQCD's usqcdPropInfo). Sources of a
/// file of pairs are passed over; two flavours are refused. Numbers are turned into the DeGrand-Rossi basis and are
/// otherwise the file's: its normalisation and boundary phases are not converted. Ghosts are filled. Throws input_error
/// as `read_lime_spinor` does. Collective.
/// \param basis    of the file; without, that of its style
/// \param remarks  gets what the file leaves out, and what was assumed
std::vector<spinor_configuration> read_lime_propagator(const std::string& path, const lattice_geometry& geometry,
                                                       const communicator& comm,
                                                       const std::optional<gamma_basis>& basis = {},
                                                       std::vector<std::string>* remarks = nullptr);
std::vector<spinor_configuration> read_lime_propagator(const byte_source& source, const lattice_geometry& geometry,
                                                       const communicator& comm,
                                                       const std::optional<gamma_basis>& basis = {},
                                                       std::vector<std::string>* remarks = nullptr);

/// Returns the lattice of a propagator of either style; nothing if a LIME file holds no spinor field, or holds links.
/// Throws input_error for spinor fields that are no propagator. Not collective.
std::optional<extents> lime_propagator_lattice(const byte_source& source);

/// Computes R S R^+ for every site, ghosts left out, S the 12 x 12 matrix of the columns.
void rotate_basis(std::span<spinor_configuration> columns, const spin_matrix& rotation);
using propagator_site = std::array<spinor<double>, spin_colours>;
/// Returns R S R^+ at one site.
propagator_site rotated_site(const propagator_site& columns, const spin_matrix& rotation);

}  // namespace plaquette
