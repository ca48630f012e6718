// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The options that the mini-apps share: one word means one thing in all of them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "common/app/gauge_choice.hpp"
#include "common/app/report.hpp"
#include "common/lattice/extents.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/lattice/geometry.hpp"
#include "common/lattice/source_description.hpp"
#include "common/lattice/stout_smearing.hpp"

namespace plaquette {

class command_line;
class option_row;

/// What every mini-app is told.
struct shared_options {
  extents lattice{8, 8, 8, 8};
  bool lattice_given = false;
  std::optional<extents> grid;  ///< none: the one of smallest surface
  std::string device = "cpu";
  std::string card;         ///< of --device gpu:CARD, for a dry run: a known card, or a report of bench; empty: none
  int planned_ranks = 0;    ///< of a dry run that starts none; 0: those that there are
  std::string tune = "on";  ///< of a GPU's kernels: off, on, force
  std::string tune_file;    ///< where their choices are kept; empty: the user's own
  /// Before a GPU is timed: of idleness for its cool figures, of the same work for its sustained ones.
  double idle_seconds = 2.0, running_seconds = 1.5;
  std::string halo = "auto";     ///< how faces get from GPU to GPU: auto, staged, peer, mpi, nccl
  std::string wait = "spin";     ///< how a rank's host waits: spin, block
  bool cpu_waits = false;        ///< the app knows that without a GPU too
  double stall_timeout = 120.0;  ///< of several ranks: seconds without progress that end the run; 0: never
  bool overlap = true;           ///< faces travel while the interior is computed
  std::string precision = "double";
  int threads = 0;  ///< a rank; 0: what OMP_NUM_THREADS says, else the host's cores shared among its ranks

  gauge_choice gauge{.from = gauge_choice::origin::heat_bath, .beta = 6.0};
  bool reunitarise = false;       ///< links of a file that are a little off SU(3)
  double gauge_anisotropy = 1.0;  ///< xi_g of the heat bath
  stout_smearing stout;           ///< of the links, before anything uses them
  bool keep_thin_links = false;   ///< the app needs them as they were before stout smearing, too
  std::uint64_t seed = 1;

  fermion_action action;
  int rhs = 12;
  double tolerance = 0.0;  ///< 0: the app's default for the precision

  bool check = false, dry_run = false, force = false;
  std::string json;                                             ///< path of the report; empty: none
  double time_limit = std::numeric_limits<double>::infinity();  ///< seconds
};

/// What --mass, --kappa, --csw and the anisotropy options said, until all are read. NaN: no default of its own.
struct action_options {
  static constexpr double not_given = std::numeric_limits<double>::quiet_NaN();
  double mass = 0.1, kappa = not_given, csw = 0.0, clover_spatial = not_given, clover_temporal = not_given;
  double anisotropy = 1.0, nu = 1.0;
  std::string time_boundary = "antiperiodic";
  std::optional<std::array<double, dimensions>> boundary_angles;  ///< in units of pi
};

/// Declares --device, --tune, --tune-file and --protocol-seconds.
void declare_device(command_line& line, shared_options& options);
/// Declares --device as it stands in programs with --dryrun, and --ranks.
void declare_planned_device(command_line& line, shared_options& options);
/// After command_line::parse. Throws input_error where a card is named and nothing is planned.
void require_plan_sense(const shared_options& options);
/// Declares --lattice and --grid.
void declare_lattice(command_line& line, shared_options& options,
                     const std::string& help = "Extents of the lattice, all even");
/// Declares --threads.
void declare_threads(command_line& line, shared_options& options);
/// Declares --seed.
void declare_seed(command_line& line, shared_options& options);
/// Declares --time-bc and --boundary-angles; returns the row of the latter.
option_row declare_boundary(command_line& line, action_options& action);
/// Declares --source-position of a point on the lattice, in the program's words; returns its row.
option_row declare_source_position(command_line& line, source_description& source, const std::string& help);
/// Declares --source, --source-position, --smearing-radius and --smearing-steps.
void declare_source(command_line& line, source_description& source);
/// Declares --halo and --wait.
void declare_several_gpus(command_line& line, shared_options& options);
/// Declares --stall-timeout; returns its row.
option_row declare_stall_timeout(command_line& line, shared_options& options);
/// Declares --reunitarise; returns its row.
option_row declare_reunitarise(command_line& line, shared_options& options);
/// After command_line::parse. Throws input_error where --reunitarise is given and no file is read.
void require_reunitarise_sense(const shared_options& options);
/// After command_line::parse. Throws input_error where an option is about GPUs and none is to be used.
void require_device_sense(const command_line& line, const shared_options& options);

/// Throws input_error where double by pairs of floats cannot be: without a GPU, or on several planned ranks.
void require_pairs_sense(const shared_options& options);

/// Declares the shared options on a command line and collects what they said.
class shared_option_set {
 public:
  /// The defaults, which --help shows, are those of `defaults` and `action`.
  /// \param left_out  of --precision, --rhs, --tol, --check and --seed, those that mean nothing to the app, or that it
  ///                  declares itself; "lattice", "gauge", "action": all options of these
  shared_option_set(command_line& line, const shared_options& defaults, const action_options& action = {},
                    const std::vector<std::string>& left_out = {});

  /// After command_line::parse. Throws input_error where options contradict each other.
  shared_options collected() const;

 private:
  void declare_lattice_and_machine();
  void declare_gauge();
  void declare_action();
  void declare_output();

  bool has(const std::string& option) const;

  command_line& line_;
  shared_options options_;
  action_options action_;
  std::vector<std::string> left_out_;
};

/// Returns M's parameters from the options; mass and kappa are alternatives, and csw stands for both clover
/// coefficients.
fermion_action make_action(const action_options& options);

/// Returns steps, rho and whether only spatial links are smeared, for a report.
json_document stout_parameters(const stout_smearing& smearing);
/// Returns lattice, grid, device, gauge and action, for a report.
json_document shared_parameters(const shared_options& options, const lattice_geometry& geometry);

/// Sets OpenMP's number of threads as `shared_options::threads` says. Collective.
class communicator;
void set_threads(int threads, const communicator& world);

}  // namespace plaquette
