// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A batch solved a few columns at a time, if the vectors of all of them would not stay in a cache.
#pragma once

#include <algorithm>
#include <vector>

#include "common/concepts.hpp"
#include "common/error.hpp"
#include "common/krylov/solve_report.hpp"

namespace plaquette {

/// Solves the columns of x and b in groups that follow each other, and reports as one solve.
/// \param counts  columns of each group; their sum is the number of columns of b
/// \param solver  solve_report (Field& x, const Field& b, const stopping_rule&, int first), called with views of the
///                columns from `first` on
template <field_batch Field, class Solver>
solve_report solve_groups(const std::vector<int>& counts, Field& x, const Field& b, const stopping_rule& rule,
                          Solver&& solver) {
  solve_report total;
  int first = 0;
  for (const int count : counts) {
    stopping_rule part = rule;
    if (!rule.column_tolerances.empty())
      part.column_tolerances.assign(rule.column_tolerances.begin() + first,
                                    rule.column_tolerances.begin() + first + count);
    Field x_part = view(x, first, count);
    const solve_report report = solver(x_part, view(b, first, count), part, first);
    total.solver = report.solver;
    total.columns.insert(total.columns.end(), report.columns.begin(), report.columns.end());
    total.history.insert(total.history.end(), report.history.begin(), report.history.end());
    total.add_work(report);
    first += count;
  }
  return total;
}

/// Does the same in groups of at most `columns_at_once`. Columns do not depend on each other, so the solutions are the
/// same as in one batch.
/// \param solver  solve_report (Field& x, const Field& b, const stopping_rule&), called with views of some columns
template <field_batch Field, class Solver>
solve_report solve_in_groups(int columns_at_once, Field& x, const Field& b, const stopping_rule& rule,
                             Solver&& solver) {
  if (columns_at_once < 1) throw input_error("solve_in_groups: a group must have at least 1 column");
  std::vector<int> counts;
  for (int first = 0; first < b.columns(); first += columns_at_once)
    counts.push_back(std::min(columns_at_once, b.columns() - first));
  return solve_groups(counts, x, b, rule, [&](Field& x_part, const Field& b_part, const stopping_rule& part, int) {
    return solver(x_part, b_part, part);
  });
}

}  // namespace plaquette
