// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How long setup and solves take on a machine that need not be here.
#pragma once

#include <string>
#include <vector>

#include "miniapps/multigrid/multigrid_options.hpp"
#include "miniapps/shared/machine_model.hpp"

namespace plaquette {

/// A lattice during one cycle of the finest one.
struct level_time {
  kernel_time application;  ///< of its operator, with the vectors around it
  double applications = 0.0;
  double sums = 0.0;  ///< over all ranks
  double seconds = 0.0;
};

struct multigrid_times {
  std::vector<level_time> levels;  ///< finest first, of one cycle
  double iteration = 0.0;          ///< of a batch
  double setup = 0.0;              ///< without the tuning of kernels
  int iterations = 0;              ///< of a solve
  double solve = 0.0;              ///< of a right-hand side
};
/// \param columns  that are solved at once
multigrid_times times_of_multigrid(const multigrid_options& options, const lattice_geometry& geometry, int columns,
                                   const machine_figures& machine);

}  // namespace plaquette
