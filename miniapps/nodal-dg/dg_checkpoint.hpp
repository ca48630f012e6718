// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The state of a run between two time steps, in one file that any number of ranks reads and writes. It says which run
/// this is. Then come the fields of all elements in double, by their number in the whole mesh, with a checksum.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/app/report.hpp"
#include "common/app/verification.hpp"
#include "common/dg/dg_solver.hpp"
#include "common/mesh/simplex_mesh.hpp"

namespace plaquette::nodal_dg {

struct dg_progress {
  std::int64_t steps_done = 0;
  double time = 0.0, dt = 0.0;
  json_document energy = json_document::array();  ///< [time, energy of the first state]
  std::vector<std::string> unfinished_files;      ///< that the stopped run wrote, and its continuation replaces
  verification failures;                          ///< checks that failed: no later part of the run is verified
};

/// Returns a sum over all of the mesh that states depend on, whatever files and groups are called. It covers where
/// corners lie, which faces touch and how, media, and kinds of sides.
std::string content_of(const simplex_mesh& mesh, const dg_problem& problem);

/// Replaces the file as a whole. Throws output_error. Collective.
/// \param states  [column][field][element][node] of this rank
void write_dg_checkpoint(const std::string& path, const dg_domain& domain, std::span<const double> states, int columns,
                         const dg_progress& progress, const json_document& parameters);

/// Returns outputs of the run that was stopped and left this checkpoint: the run that continues it may replace them.
/// An empty list if there is no checkpoint.
std::vector<std::string> files_of_stopped_run(const std::string& path);

/// Returns how far the run of a checkpoint came. Throws input_error, naming the file, if it is no checkpoint or one of
/// a run with other parameters. Not collective.
dg_progress read_dg_progress(const std::string& path, const json_document& parameters);

/// Returns its fields. Throws input_error if they differ from the written ones. Collective.
std::vector<double> read_dg_states(const std::string& path, const dg_domain& domain, int columns);

}  // namespace plaquette::nodal_dg
