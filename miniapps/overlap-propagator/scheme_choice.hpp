// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How solves are made: by the scheme that options name, or by that which a trial finds to take less.
#pragma once

#include "miniapps/overlap-propagator/overlap_stages.hpp"
#include "miniapps/overlap-propagator/sign_choice.hpp"

namespace plaquette {

/// A solve of one column to a loose tolerance, and the estimate from it of a solve of twelve columns to the run's
/// tolerance. Work is in applications of H in double.
struct scheme_trial {
  bool converged = false;
  int directions = 0;                ///< of the trial
  double expected_directions = 0.0;  ///< to the tolerance of the run
  double clover_applications = 0.0;  ///< of M in a solve of M x = b
  double work_of_preconditioned = 0.0;
  double work_of_other = 0.0;  ///< modes of D and relaxed solves
  /// Returns which takes less.
  overlap_scheme best() const {
    return converged && work_of_preconditioned < work_of_other ? overlap_scheme::preconditioned
                                                               : overlap_scheme::relaxed;
  }
};

json_document to_json(const scheme_trial& trial);
void print(const scheme_trial& trial);

/// Returns the rule of the solves of a run, whose progress it shows.
overlap_solve_rule rule_of(overlap_stages& stages, const sign_choice& choice);

/// Solves one column, or reads the trial of an earlier run. Collective.
scheme_trial try_preconditioned(overlap_stages& stages, const sign_choice& choice, const sign_handle& sign);

}  // namespace plaquette
