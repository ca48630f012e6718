// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The columns of a propagator that are solved already, kept in a file while the others are solved. A column depends on
/// its own source alone, so that one that was kept is, bit by bit, the one that would be found again.
#pragma once

#include <string>
#include <vector>

#include "common/app/resumable.hpp"
#include "common/comms/communicator.hpp"
#include "miniapps/mixed-precision-solver/propagator_solve.hpp"
#include "miniapps/mixed-precision-solver/solver_options.hpp"

namespace plaquette {

/// Returns the files that stopped runs wrote which left this checkpoint, the last run or earlier ones; an empty list if
/// there is no such file. Throws input_error, naming the file, if it is no checkpoint. Not collective.
std::vector<std::string> files_of_stopped_run(const std::string& path);

/// Returns the files that a run of these options writes in addition to its checkpoint.
std::vector<std::string> files_of_run(const solver_options& options);

/// A file of solved columns. Members are collective.
class propagator_checkpoint {
 public:
  /// \param plaquette  of the configuration, which tells it from others
  propagator_checkpoint(const solver_options& options, const lattice_geometry& geometry, double plaquette,
                        const communicator& world);

  /// Takes over the columns of the file, if there is one, with their results, the seconds and flops spent, and the
  /// tolerance for their true residuals. Throws input_error if it belongs to another problem.
  void load(propagator_result& result) const;

  /// Keeps the columns of `result` that are solved. Throws output_error.
  void store(const propagator_result& result) const;

 private:
  kept_file file_;
};

}  // namespace plaquette
