// SPDX-License-Identifier: BSD-3-Clause
#include "common/solvers/vector_solver.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "common/error.hpp"
#include "common/solvers/vector_operator.hpp"

namespace plaquette {

namespace {

/// \param whose  "this solver"
void require_pair(const vectors& to, const vectors& from, const library_part& part, const std::string& whose,
                  precision numbers) {
  require_same_library(from.mark(), part.mark(), "vectors", whose);
  require_same_library(to.mark(), part.mark(), "vectors", whose);
  if (&to == &from) throw input_error(whose + ": expected two different vectors, found the same ones twice");
  if (!(to.shape() == from.shape()))
    throw input_error(whose + ": expected vectors of one shape, found " + to_string(to.shape()) + " and " +
                      to_string(from.shape()));
  if (from.shape().numbers != numbers)
    throw input_error(whose + ": expected vectors in " + name(numbers) + " precision, found " +
                      to_string(from.shape()));
  if (from.shape().sites == site_subset::odd)
    throw input_error(whose + ": expected vectors on all or on even sites, found " + to_string(from.shape()));
}

}  // namespace

void vector_operator::follow(const link_field& links) {
  require_same_library(links.mark(), mark(), "links", "this operator");
  follow_checked(links);
  followed_.note(links);
}

void vector_operator::apply(vectors& y, const vectors& x, const operator_form& form) const {
  require_pair(y, x, *this, "this operator", settings().numbers);
  followed_.require_current("this operator");
  if (!std::isfinite(form.shift))
    throw input_error("shift: expected a finite number, found " + std::to_string(form.shift));
  operator_form of_columns = form;
  of_columns.mu = one_a_column(form.mu, x.columns(), "mu");
  apply_checked(y, x, of_columns);
}

void vector_solver::follow(const link_field& links) {
  require_same_library(links.mark(), mark(), "links", "this solver");
  follow_checked(links);
  followed_.note(links);
}

void vector_solver::follow_checked(const link_field&) {
  throw input_error("this solver: expected links that stay as they are, found links to follow");
}

schur_report vector_solver::solve(vectors& x, const vectors& b, const stopping_rule& rule,
                                  const vector_system& system) {
  require_pair(x, b, *this, "this solver", numbers_of_solutions());
  require_current_links();
  vector_system of_columns = system;
  of_columns.mu = one_a_column(system.mu, b.columns(), "mu");
  if (!rule.column_tolerances.empty() && std::ssize(rule.column_tolerances) != b.columns())
    throw input_error("tolerances: expected one a column, found " + std::to_string(rule.column_tolerances.size()) +
                      " for " + std::to_string(b.columns()) + " columns");
  if (b.shape().sites == site_subset::full) {
    if (system.squared || std::ranges::any_of(of_columns.mu, [](double mu) { return mu != 0.0; }))
      throw input_error("squared systems and mu: expected vectors on even sites, found " + to_string(b.shape()));
  } else if (!solves_even_systems()) {
    throw input_error("this solver: expected vectors on all sites, found " + to_string(b.shape()) +
                      "; a propagator solver in double or single has systems on even sites");
  }
  return solve_checked(x, b, rule, of_columns);
}

solved_vectors vector_solver::solve(const vectors& b, const stopping_rule& rule, const vector_system& system) {
  vectors x = b.like();
  schur_report report = solve(x, b, rule, system);
  return {std::move(x), std::move(report)};
}

}  // namespace plaquette
