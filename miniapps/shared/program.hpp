// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The skeleton of every program. A program states its options, its needs, and its body. Then run_program does the
/// rest: dry run, outputs, GPU, memory, report, verdict and exit status. miniapps/README.md has an example. It stands
/// here and not in common/app, as it opens the GPU and reads links into fields of a library: common knows no library.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/app/placement.hpp"
#include "miniapps/shared/app_run.hpp"

namespace plaquette {

struct program_text {
  std::string name;  ///< "multigrid"; its binary is plaquette-multigrid
  std::string fom_unit, fom_what;
};

/// A file that an option names.
struct named_file {
  enum class use {
    input,      ///< is read
    output,     ///< is written; one that exists is refused without --force
    checkpoint  ///< is read if it exists, and replaced
  };
  std::string option, path;  ///< an empty path: none
  use how = use::output;
};

/// The cost of a run, known before it starts.
struct run_estimate {
  double host_bytes = 0.0;  ///< a rank, beyond the memory of the process so far
  double gpu_bytes = 0.0;   ///< a rank, on the GPU
  /// Further lines of --dryrun and of the head of the output: a word of at most 10 characters, and a text.
  std::vector<std::pair<std::string, std::string>> lines{};
  double fom = 0.0;  ///< that a dry run expects on a machine that is known; 0: none
};

/// One program. Members are called in the order in which they stand here, on every rank.
class program {
 public:
  virtual ~program() = default;

  virtual program_text text() const = 0;
  /// Reads the arguments. Throws input_error, or help_requested for --help.
  virtual void parse(int argc, const char* const* argv) = 0;
  /// Returns the shared options that parse() read.
  virtual const shared_options& shared() const = 0;
  /// All files but --json, which comes by itself.
  virtual std::vector<named_file> files() const { return {}; }
  /// Returns the lattice of the run: that of --gauge FILE, else --lattice. A program without a lattice takes
  /// no_lattice().
  virtual lattice_geometry geometry(const communicator& world) { return geometry_of_run(shared(), world); }
  /// Returns outputs that a stopped run has left, for a program with checkpoints; this run may replace them.
  virtual std::vector<std::string> files_of_stopped_run() const { return {}; }
  /// Where threads and memory are placed; none: nothing is placed nor reported.
  virtual std::optional<placement_policy> placement() const { return std::nullopt; }
  /// Returns the official class that --size names; none: the run is of no class.
  virtual std::optional<official_class> run_class() const { return std::nullopt; }
  /// Returns the cost of a run. The GPU, if any, is open. Choices that depend on its free memory are made here.
  virtual run_estimate estimate(app_run& run) = 0;
  /// For the report: all that determines the result.
  virtual json_document parameters(const app_run& run) const = 0;
  /// Prints lattice, action and the like, below the machine.
  virtual void print_problem(const app_run& run) const { (void)run; }
  /// Does the work and ends in `return run.finish(status)`.
  virtual exit_status body(app_run& run) = 0;
};

/// Returns the lattice that an execution is made with if a program names none: 4^4 a rank.
lattice_geometry no_lattice(const communicator& world);

/// Returns the whole main of a program.
int run_program(program& app, int argc, char** argv);

/// Runs the part of run_program after the arguments were read, and returns the exit status; for tests.
exit_status run_parsed(program& app, const communicator& world);

}  // namespace plaquette
