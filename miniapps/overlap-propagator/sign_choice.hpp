// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The sign function that options and modes of H lead to, and whether it can be used.
#pragma once

#include "common/solvers/overlap_solver.hpp"
#include "miniapps/overlap-propagator/overlap_options.hpp"

namespace plaquette {

struct sign_choice {
  sign_options options;                          ///< with the range that is covered
  double delta = 0.0;                            ///< error that it is held to; one that is fixed by hand has its own
  double smallest = 0.0, largest = 0.0;          ///< |H| orthogonal to the modes, as it was found
  double rest_lowest = 0.0, rest_highest = 0.0;  ///< both, and the range
  bool holds_smallest = false, holds_largest = false;
  bool is_by_hand = false;    ///< range, and degree or poles, are given: it has the error that it has
  double error_beyond = 0.0;  ///< its error where |H| leaves the range, if that is small enough
  bool is_coarse = false;     ///< its square is not 1 to the tolerance of solves

  bool range_holds() const { return holds_smallest && holds_largest; }
  /// Returns whether |H| may leave the range a little: another program's function.
  bool is_tolerated() const { return !range_holds() && error_beyond > 0.0; }
};

/// Throws input_error if a range that does not hold |H| is to be used. Throws it if a degree or a number of poles
/// that is fixed by hand does not reach delta.
sign_choice choose_sign(const overlap_options& options, const kernel_modes& modes);

}  // namespace plaquette
