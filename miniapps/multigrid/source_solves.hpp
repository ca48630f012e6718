// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Solves of all sources, timed and judged. Each solve has a source of its own: the spin and colour of a column, times
/// a phase that no solve before has had. Each series and each warm-up has a place of its own on the lattice. A solver
/// that remembers solutions gains nothing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/app/bit_sum.hpp"
#include "common/app/report.hpp"
#include "common/solvers/multigrid_solver.hpp"
#include "cpu_ref/observables/correlators.hpp"
#include "miniapps/multigrid/multigrid_options.hpp"
#include "miniapps/multigrid/source_results.hpp"
#include "miniapps/shared/app_run.hpp"
#include "miniapps/shared/gauge_input.hpp"

namespace plaquette {

class source_solves {
 public:
  source_solves(app_run& run, const multigrid_options& options, multigrid_solver& solver, const gauge_input& gauge);

  /// Solves all sources, `batch` at once, after a warm-up. Collective.
  series solve_all(bool by_multigrid, int batch);
  /// Makes one more solve, of the first source, whose stages are timed; adds a check of its solution. Collective.
  solve_profile profile();
  /// Adds the check that the judged solutions have the norms that were read before the clock stopped.
  void check_clock();
  /// Adds the correlators of the first series, if multigrid has solved all its twelve sources. Checks them, and that
  /// its solutions have not changed since they were judged. Does nothing if there is no such series. Collective.
  void add_correlators();

 private:
  void solve_batch(series& all, const std::vector<int>& columns, bool keep);
  void tell(const series& all, const multigrid_solve_report& solved, const std::vector<int>& columns) const;
  source_description drawn_source();
  void take_sources(const std::vector<int>& columns);
  void warm_up(bool by_multigrid, int width);
  stopping_rule rule_of(double tolerance, int limit);
  multigrid_solve_report solve(bool by_multigrid);
  multigrid_solve_report solve(bool by_multigrid, const stopping_rule& rule);
  void await_judge(std::size_t source, int column, int place);
  void judge_waiting(std::vector<source_result>& sources, bool keep);
  void find_errors(std::span<source_result> sources);
  void measure_power(series& all, int batch);

  app_run& run_;
  const multigrid_options& options_;
  multigrid_solver& solver_;
  const gauge_input& gauge_;
  source_description source_;        ///< of the sources in the solver
  int next_source_;                  ///< number of the next phase
  int places_ = 0, series_ = 0;      ///< places drawn and series begun
  std::vector<double> norms_{};      ///< |x| of the last solve, read before the clock stopped
  double norms_apart_ = 0.0;         ///< the largest relative difference from the judged solutions' norms
  complex<double> phase_{1.0, 0.0};  ///< of the sources in the solver
  /// A solution that the judge has not seen: its place among the sources of the series, its column, |x|.
  struct waiting_solution {
    std::size_t source;
    int column;
    double norm;
  };
  static constexpr int judged_at_once = 4;  ///< for these the textbook makes the clover leaves once
  std::vector<waiting_solution> waiting_;
  std::vector<spinor_configuration> b_, x_;  ///< sources and solutions that wait; kept for the next ones
  propagator solutions_;                     ///< of the first series, in the order of the columns
  std::vector<bit_sum> judged_;              ///< of these, when they were judged
};

/// Returns a figure a series, for the rule that no figure exceeds the speed of the machine. A solve by multigrid has
/// the operators and transfers of a profiled one, in proportion to its iterations. Collective.
std::vector<operator_figure> figures_of(std::span<const series> all, const solve_profile& profile, const app_run& run,
                                        const multigrid_options& options);

}  // namespace plaquette
