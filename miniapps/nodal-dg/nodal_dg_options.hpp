// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Options of nodal-dg's command line.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/app/options.hpp"
#include "common/dg/dg_problem.hpp"
#include "miniapps/nodal-dg/field_files.hpp"
#include "miniapps/shared/run_class.hpp"

namespace plaquette::nodal_dg {

struct nodal_dg_options {
  shared_options shared;

  std::string mesh;  ///< path; empty: a box
  std::vector<int> box{4, 4, 4};
  std::array<double, 6> box_sides{-1, 1, -1, 1, -1, 1};  ///< x low, x high, y low, ...
  bool box_sides_given = false;
  double shaking = 0.0;
  int refinements = 0;
  std::string partition = "auto";

  std::string equations = "acoustics";  ///< maxwell, maxwell-tm
  std::string problem = "standing";     ///< plane-wave, pulse
  std::array<int, 3> modes{2, 2, 2};
  std::array<double, 3> polarisation{0, 1, 0};
  std::array<double, 3> wave_vector{1, 0, 0};  ///< in units of 2 pi / side of the box; pulse: direction
  double pulse_width = 0.25, pulse_start = 0.0;
  std::string flux = "upwind";  ///< central
  std::vector<std::pair<std::string, medium>> media;
  std::vector<std::pair<std::string, boundary_kind>> boundaries;
  std::vector<point_source> sources;

  int order = 4, states = 1;
  double final_time = 0.75, dt = 0.0;  ///< dt 0: the largest stable one, times 0.9
  bool shorten_last_step = false;      ///< steps of dt, and a last one that ends at final_time
  std::int64_t steps = 0;              ///< 0: as many as final_time takes
  std::vector<std::array<double, 3>> probes;
  std::string kernel = "auto";  ///< of a GPU
  int samples = 10;             ///< stretches that are timed

  std::string vtk, plane, energy, checkpoint;
  plane_of_values plane_at;
  int checkpoint_every = 1000;
  std::string command;                      ///< as typed
  std::optional<official_class> run_class;  ///< that --size names

  int dimension() const { return equations == "maxwell-tm" || (mesh.empty() && box.size() == 2) ? 2 : 3; }
  wave_equations system() const;
  double upwinding() const { return flux == "upwind" ? 1.0 : 0.0; }
};

/// Throws input_error for arguments that cannot be used and help_requested for --help.
nodal_dg_options parse_nodal_dg_options(int argc, const char* const* argv);

/// Returns for the report all that determines the result.
json_document parameters_of(const nodal_dg_options& options);
/// Returns the parameters by which a checkpoint knows its run: the same without content_of() and without names of files
/// and groups.
json_document run_parameters_of(const nodal_dg_options& options);

}  // namespace plaquette::nodal_dg
