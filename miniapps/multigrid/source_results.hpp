// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The results of each source, by each solver, and the numbers made of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/app/report.hpp"
#include "common/krylov/solve_report.hpp"
#include "common/solvers/multigrid_solver.hpp"
#include "miniapps/multigrid/multigrid_options.hpp"

namespace plaquette {

/// The figures of a setup and of the tuning after it.
struct setup_results {
  setup_report setup;
  tuning_report tuning;
  double whole_seconds = 0.0;   ///< by the program's clock, without tuning of kernels, until a first iteration is done
  double tuning_seconds = 0.0;  ///< of kernels, meanwhile
  double seconds() const { return whole_seconds; }
};

/// A right-hand side solved. Residuals are |b - M x| / |b| of the full system.
struct source_result {
  int column = 0;  ///< spin-colour of the source
  solve_status status = solve_status::iteration_limit;
  std::string why;
  int iterations = 0;
  double seconds = 0.0;  ///< of the batch, divided by its columns
  double iterated = 0.0, device = 0.0, reference = 0.0;
  double norm = 0.0;                          ///< |x| of the solution that was judged
  double error_over_residual = 0.0;           ///< |e| / |r|, M e = r = b - M x (a second solve)
  double relative_error_over_residual = 0.0;  ///< (|e| / |x|) / (|r| / |b|)
};

/// All sources by one solver, a number of them at once.
struct series {
  std::string solver, precision;
  int batch = 1;
  std::vector<source_result> sources{};
  double flops = 0.0;
  double tuning_seconds = 0.0;                  ///< in the solves, not in their seconds
  std::vector<double> history{};                ///< of the first batch
  std::string schedule{};                       ///< null vectors of the levels, "24/24"; multigrid only
  int devices = 1;                              ///< GPUs, or ranks of the CPU
  double host_joule = 0.0, host_seconds = 0.0;  ///< of all hosts while they solve
  std::string host_source{};                    ///< that tells it; empty: none
  std::optional<double> power_watt{};           ///< of all GPUs while they solve; none if they do not report it
  bool is_multigrid() const { return solver == "multigrid"; }
  bool solved(double tolerance) const;
  /// Returns whether the solver says of every source that it has converged.
  bool claims_convergence() const;
  /// Returns the source with the largest residual by the reference.
  const source_result& worst() const;
};

/// Mean and standard deviation of a number over all sources but the first, which warms up; of a single source if there
/// is only one.
struct spread {
  double mean = 0.0, deviation = 0.0;
};
spread spread_of(const std::vector<double>& values);
spread spread_of(const series& s, double source_result::* what);
spread iterations_of(const series& s);

/// Returns the seconds of one divided by the other's, source by source.
std::vector<double> speed_up(const series& slow, const series& fast);

solve_record record_of(const series& s, double tolerance);

/// Returns the factor by which an iteration reduces the residual, on average over the sources and their iterations.
double rate_of(const series& s);

/// Returns time and work by lattice: [{lattice, n, seconds, share, ...}], of a profiled solve.
json_document levels_of(const solve_profile& profile, const multigrid_options& options,
                        const lattice_geometry& geometry);

/// Returns the series of BiCGstab of the same batch, if it has solved all.
const series* reference_of(const series& s, const std::vector<series>& all, double tolerance);

/// Prints a row a series: the table 3 of Clark et al.
void print_series(const std::vector<series>& all, double tolerance);
void print_levels(const json_document& levels);
void print_setup(const setup_results& results);
json_document to_json(const setup_results& results);

}  // namespace plaquette
