// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The gauge configuration of a run, as --gauge says: read from a file or made on the spot, and checked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/app/bit_sum.hpp"
#include "common/app/options.hpp"
#include "common/app/progress.hpp"
#include "common/app/report.hpp"
#include "common/app/run_control.hpp"
#include "common/app/verification.hpp"
#include "common/lattice/site_field.hpp"
#include "cpu_ref/gauge/plaquette.hpp"

namespace plaquette {

class library;

/// Returns the lattice of the run: a file's own if one is named, else --lattice. Throws input_error if both are given
/// and differ, and if the file cannot be used. Not collective.
extents lattice_of_run(const shared_options& options);

/// Returns the part of this rank. Throws input_error if --grid is for another number of ranks or does not fit.
lattice_geometry geometry_of_run(const shared_options& options, const communicator& world);

/// The plaquette of a cell that was repeated, and the expected plaquette of the whole lattice.
struct repeated_plaquette {
  double of_cell = 0.0, expected = 0.0, found = 0.0, tolerance = 0.0;
};

struct gauge_input {
  gauge_configuration links;  ///< ghosts filled
  plaquettes plaquette;
  double distance_from_su3 = 0.0;  ///< largest over all links
  double su3_tolerance = 0.0;
  json_document description;                        ///< for the report
  std::optional<gauge_configuration> thin_links{};  ///< before stout smearing, if they are to be kept
  /// A file of openQCD with open boundaries: its links from the last time slice to the first are zero.
  bool open_boundary = false;
  std::vector<std::string> remarks{};  ///< on the file: omissions, assumptions and repairs
  std::optional<repeated_plaquette> repeated{};
  bit_sum judged{};  ///< of the links, ghosts included, when their plaquette and distance from SU(3) were measured
};

/// Reads or makes it. Throws input_error for a file that cannot be used, with one line that names it, the expected
/// value and the value found. Throws error of exit status 6 if the run is stopped meanwhile. Collective.
/// \param device  makes random fields and heat baths
gauge_input obtain_gauge(const shared_options& options, const lattice_geometry& geometry, const communicator& world,
                         run_control& control, progress_line& progress, const library& device);

/// Returns the same for a run that reports: the report gets its description and its checks. None if the run is stopped
/// meanwhile; the report then says so, and is all there is. Collective.
std::optional<gauge_input> obtain_gauge(report& result, const shared_options& options, const lattice_geometry& geometry,
                                        const communicator& world, run_control& control, progress_line& progress,
                                        const library& device);

/// Prints the plaquette, and remarks on the file.
void print_gauge(const gauge_input& gauge);
/// Prints the remarks alone.
void print_gauge_remarks(const gauge_input& gauge);

/// Adds the checks of a configuration: every link in SU(3), and a finite plaquette.
void check_gauge(verification& checks, const gauge_input& gauge);
/// Adds the check that the links are still the bits that were judged, after their last use. Collective.
void check_links_kept(verification& checks, const gauge_input& gauge, const communicator& comm);

}  // namespace plaquette
