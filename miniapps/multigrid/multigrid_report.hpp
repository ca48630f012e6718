// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The results of a run of the multigrid mini-app, for a person and for the report.
#pragma once

#include <cstddef>
#include <vector>

#include "miniapps/multigrid/low_mode_report.hpp"
#include "miniapps/multigrid/source_results.hpp"

namespace plaquette {

/// The setup of one list of numbers of vectors, and its results.
struct schedule_results {
  setup_results setup;
  json_document levels;   ///< of a profiled solve
  std::size_t first = 0;  ///< of its series in `multigrid_results::all`
};

struct multigrid_results {
  std::vector<series> all{};
  std::vector<schedule_results> schedules{};
  std::vector<low_mode> modes{};
  json_document explanation = nullptr;  ///< of --explain
};

/// Returns the data that plots/why_multigrid.py draws.
json_document to_json(const null_space_study& study);

/// Adds the solves and the checks of their solutions, and the best rate among the series that multigrid has solved.
void add_solves(report& result, const multigrid_results& results, const multigrid_options& options);
/// Adds solves, checks and the figure of merit. A reference that says itself that it did not converge adds no check.
/// \param memory  bytes of a rank, as estimated
void add_to_report(report& result, const multigrid_results& results, const multigrid_options& options, double memory);
/// Prints the tables, and on stderr why multigrid has not solved a source.
void print_results(const multigrid_results& results, const multigrid_options& options);
/// Returns success; no convergence; verification failed if a solution that claims its tolerance does not meet it. Of
/// the solves by multigrid.
exit_status status_of(const multigrid_results& results, const multigrid_options& options);

}  // namespace plaquette
