// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The heart of the mini-app: all columns of a propagator as one batch, each solution judged by the reference.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/app/bit_sum.hpp"
#include "common/app/progress.hpp"
#include "common/app/report.hpp"
#include "common/app/run_control.hpp"
#include "common/app/timing.hpp"
#include "cpu_ref/observables/correlators.hpp"
#include "miniapps/mixed-precision-solver/solver_checks.hpp"
#include "miniapps/mixed-precision-solver/solver_options.hpp"
#include "miniapps/mixed-precision-solver/timed_solver.hpp"

namespace plaquette {

/// Columns that were solved at once, and the seconds that they took each time.
struct solved_batch {
  std::vector<int> columns;
  std::vector<double> gflops;  ///< a second, standard counts of the Schur operator
  std::vector<double> seconds;
};

struct propagator_result {
  propagator columns;
  std::vector<column_result> results;          ///< one a column
  bit_sum judged{};                            ///< of the columns, before they were judged; of this rank
  std::optional<bit_sum> of_device{};          ///< of the device's solutions, after correlators were made of them there
  std::vector<std::vector<double>> histories;  ///< iterated residuals of each column, one an iteration
  std::vector<bool> kept;                      ///< columns whose solution is final, so that a checkpoint may hold them
  std::string solver;                          ///< with its Schur complement
  double first_seconds = 0.0;                  ///< of the solve that gave the answer, of all its runs
  std::vector<double> seconds;                 ///< of the timed solves; of the first one if there were none
  std::vector<solved_batch> batches;           ///< that make up a timed solve; empty if there was none
  bool warmed_up = false;                      ///< a solve came before the timed ones
  /// With --check: whether one more solve, from the same sources, took the same iterations to the same residuals.
  std::optional<bool> repeats_agree{};
  /// Of drawn columns of the timed solves, by the reference: the relative residual, and its tolerance.
  std::vector<double> timed_residuals{}, timed_tolerances{};
  /// Of the same: the largest relative difference of |x| to that which was read before the clock stopped.
  double norms_apart = 0.0;
  bool timed_solves_converge = true;
  double tuning_seconds = 0.0;                   ///< of all solves; no other time holds them
  std::optional<correlator_pair> correlators{};  ///< by the device, of the first solve; see propagator_solver
  double first_flops = 0.0;                      ///< of the first solve: standard counts of the Schur operator
  std::vector<double> gflops;                    ///< a second, of the timed solves; of the first one if there were none
  double true_tolerance = 0.0;                   ///< of true residuals, see schur_parameters
  std::vector<std::string> unfinished_files;     ///< that runs which were stopped have left, as the checkpoint says
  long inner_applications = 0;     ///< of the last timed solve, else of the first: of the operator of the Krylov space
  long outer_applications = 0;     ///< and of the operator of the residual, on the even sites
  double reference_seconds = 0.0;  ///< that the checks took
  json_document host_energy = nullptr;  ///< of the last batch
  json_document gpu = nullptr;          ///< clocks and energy of the last batch; null on the CPU
  json_document halo = nullptr;         ///< see halo_facts

  bool solved() const;
  /// Iterated residual of the worst column, one an iteration.
  std::vector<double> worst_history() const;
};

/// Sums the bits of all columns, this rank's sites, ghosts left out.
bit_sum sum_of_columns(const propagator& columns);

/// Solves, checks each column with the textbook operator, then repeats the solve for its time. If the options name a
/// checkpoint, columns that it holds are not solved again. The others are stored in it a few at a time, or when the run
/// is stopped. Collective.
/// \param links         with ghosts filled
/// \param source_links  that smear a Gaussian source; null: `links`
propagator_result solve_propagator(const timed_solver& on, const solver_options& options,
                                   const gauge_configuration& links, const communicator& world, run_control& control,
                                   progress_line& progress, const gauge_configuration* source_links = nullptr);

/// Computes the reference residual of each column, and its tolerance. Collective.
/// \param roundoff      of the precision that the columns were stored in while they were solved
/// \param source_links  that smear a Gaussian source; null: `links`
/// \param should_stop   is called between columns, the same on every rank; true: the others get NaN for a residual
void judge_columns(std::vector<column_result>& results, propagator& columns, const source_description& source,
                   const fermion_action& action, double tolerance, double roundoff, const gauge_configuration& links,
                   const communicator& world, const gauge_configuration* source_links = nullptr,
                   const std::function<bool()>& should_stop = {});

solve_record record_of(const propagator_result& result, const solver_options& options);

}  // namespace plaquette
