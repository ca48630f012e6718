// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The state of a run between two sweeps, in a file. It is an ILDG configuration, links in double precision with their
/// checksum, that any program reads as such. One more record, "plaquette-checkpoint", has the parameters of the run and
/// its progress. Random numbers depend on (seed, number of the sweep, site) alone, so that no generator has a state to
/// keep.
#pragma once

#include <string>
#include <vector>

#include "common/app/checkpoint.hpp"
#include "common/comms/communicator.hpp"
#include "common/lattice/site_field.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "miniapps/make-configuration/configuration_options.hpp"

namespace plaquette {

/// A line of the plaquette history.
struct measurement {
  int sweep;  ///< combined sweeps done
  plaquettes plaquette;
};

/// The progress of a run, in addition to the links of its checkpoint.
struct configuration_progress {
  int sweeps_done = 0;  ///< since the very first one of all runs
  std::vector<measurement> history;
  std::vector<std::string> unfinished_files;  ///< that the stopped run wrote, and its continuation replaces
};

/// Replaces the file as a whole. Throws output_error. Collective.
void write_configuration_checkpoint(const std::string& path, const gauge_configuration& links,
                                    const configuration_progress& progress, const json_document& parameters,
                                    const communicator& world);

/// Returns how far the run of a checkpoint came. Throws input_error, naming the file, if it is no checkpoint, or of a
/// run that is not the one of these parameters or was to end before. Not collective.
configuration_progress read_configuration_progress(const std::string& path, const configuration_options& options);

/// Returns the parameters that two runs must have in common for one to continue the other: all that the links depend
/// on.
json_document parameters_of_links(const configuration_options& options);

}  // namespace plaquette
