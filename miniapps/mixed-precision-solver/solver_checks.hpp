// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Checks and their tolerances: the operator on random input, and the solutions by an operator that had no part in
/// finding them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/app/verification.hpp"
#include "common/comms/communicator.hpp"
#include "common/krylov/solve_report.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/lattice/site_field.hpp"
#include "common/solvers/residual_tolerance.hpp"
#include "common/solvers/stretch_numbers.hpp"
#include "miniapps/mixed-precision-solver/solver_options.hpp"
#include "miniapps/shared/operator_case.hpp"
#include "miniapps/shared/operator_checks.hpp"

namespace plaquette {

/// The words of figures for a precision.
scaling::number_precision in_words_of_figures(precision p);

/// Applies M or M^+ of the residual, or of the Krylov space, to random columns: see `apply_to_random`.
using applied_operators = std::function<scaling::weighed_sums(bool inner, bool dagger)>;

/// Draws the sites at which an output that is there is compared. Collective.
using site_drawer = std::function<scaling::site_sample(const std::string& of)>;

/// Adds: M and M^+ of the residual, and of the Krylov space if it has other operators, against the textbook
/// operator on a batch of random columns. One application of the textbook operator judges all columns: they are summed
/// with weights. All sites of lattices of up to 2^16 sites are compared, sampled ones of larger lattices. Collective.
/// \param links              with ghosts filled
/// \param distance_from_su3  the largest of them: links that are rebuilt differ by as much
/// \param draw               called after each application
/// \param begin_each         is called before each comparison; an exception from it ends them
void check_operators(verification& checks, const applied_operators& applied, const solver_options& options,
                     const gauge_configuration& links, double distance_from_su3, const communicator& comm,
                     const site_drawer& draw, const std::function<void()>& begin_each = {});

/// Adds: the same operators of a GPU against the CPU's, in the same precision, at all sites. Each may differ from the
/// textbook by the tolerance of its rounding. Collective.
void check_against_cpu(verification& checks, const applied_operators& gpu, const applied_operators& cpu,
                       const solver_options& options, double distance_from_su3, const communicator& comm,
                       const std::function<void()>& begin_each = {});

/// How one column was solved. Residuals are |b - M x| / |b| of the full system, but for the iterated one, which is the
/// recurrence's.
struct column_result {
  solve_status status = solve_status::iteration_limit;
  std::string why;
  int iterations = 0;
  double iterated = 0.0;
  double device = 0.0;                        ///< by the operators that solved it, in their precision
  double reference = 0.0;                     ///< in double, by the textbook operator
  double norm = 0.0;                          ///< |x|
  double rounding = 0.0;                      ///< residual_rounding
  double unit_roundoff = 0.0;                 ///< of the precision that the solution is kept in
  double tolerance = 0.0;                     ///< of the reference residual: the requested one, and the floor
  bool at_floor = false;                      ///< the solution's precision leaves no more
  std::vector<residual_update> updates = {};  ///< residuals recomputed on the way
  int mismatches = 0, restarts = 0;
  /// By the reference residual; false for NaN.
  bool solved() const { return reference <= tolerance; }
};

/// Adds: the reference residual of the worst column against its tolerance, and its difference from the residual of the
/// device. They differ by the rounding of M x: twice `residual_rounding` is allowed (measured in single precision: a
/// third of it at most), and in addition 8 u, u the unit roundoff. (Either operator leaves some 2 u |M x|, see
/// `operator_tolerance`; for heavy quarks, where |M x| is |M| |x|, that is the larger.)
void check_columns(verification& checks, const std::vector<column_result>& columns);

/// Returns a line for a person if device and reference disagree because the device's links are others. The links of the
/// configuration are off SU(3) by `distance_from_su3` (a file of 32-bit numbers); links rebuilt from 12 or 8 stored
/// reals are not. Empty if they agree or all 18 reals are stored.
std::string remark_on_rebuilt_links(const std::vector<column_result>& columns, int stored_reals,
                                    double distance_from_su3);

/// Returns a line for a person if the last Krylov solver of `auto` was needed: multigrid was not tried, and why.
std::string remark_on_multigrid(const std::vector<column_result>& columns);

/// Returns a line for a person if the pion is larger at another time than at its source; else nothing. It falls from
/// its source on, unless a mode of M near zero, elsewhere on the lattice, outweighs all others.
std::string remark_on_exceptional(const std::vector<double>& pion, int source_time);

/// Adds: every value of the rho is finite and at most the pion's, which bounds it (Cauchy-Schwarz: the rho's terms are
/// the terms of the pion with signs and phases).
void check_rho(verification& checks, const std::vector<double>& rho, const std::vector<double>& pion);

}  // namespace plaquette
