// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A batch solved a few columns at a time, where the vectors of all of them would not stay in a cache.
#pragma once

#include <algorithm>

#include "common/algorithms/solve_report.hpp"
#include "common/concepts.hpp"
#include "common/error.hpp"

namespace plaquette {

/// Solves the columns of x and b in groups of at most `columns_at_once`, and reports as one solve. Columns do not
/// depend on each other, so the solutions are those of the whole batch.
/// \param solver  solve_report (Field& x, const Field& b, const stopping_rule&), called with views of some columns
template <field_batch Field, class Solver>
solve_report solve_in_groups(int columns_at_once, Field& x, const Field& b, const stopping_rule& rule,
                             Solver&& solver) {
  if (columns_at_once < 1) throw input_error("solve_in_groups: a group must have at least 1 column");
  solve_report total;
  for (int first = 0; first < b.columns(); first += columns_at_once) {
    const int count = std::min(columns_at_once, b.columns() - first);
    stopping_rule part = rule;
    if (!rule.column_tolerances.empty())
      part.column_tolerances.assign(rule.column_tolerances.begin() + first,
                                    rule.column_tolerances.begin() + first + count);
    Field x_part = view(x, first, count);
    const solve_report report = solver(x_part, view(b, first, count), part);
    total.solver = report.solver;
    total.columns.insert(total.columns.end(), report.columns.begin(), report.columns.end());
    total.history.insert(total.history.end(), report.history.begin(), report.history.end());
    total.add_work(report);
  }
  return total;
}

}  // namespace plaquette
