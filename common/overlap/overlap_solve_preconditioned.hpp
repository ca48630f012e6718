// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// D(m) x = b for many masses and columns, preconditioned by M^-1 of a clover operator on smeared links: the loop over
/// batches of columns. Each batch has one search space; later ones begin with directions of earlier ones.
/// (After Brannick, Frommer, Kahl, Leder, Rottmann, Strebel 2016, arXiv:1410.7170)
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "common/eigen/krylov_basis.hpp"
#include "common/error.hpp"
#include "common/overlap/chiral_modes.hpp"
#include "common/overlap/overlap_mode_search.hpp"
#include "common/overlap/overlap_solve_rule.hpp"
#include "common/overlap/preconditioned_solver.hpp"
#include "common/overlap/recycled_directions.hpp"
#include "common/overlap/search_space.hpp"

namespace plaquette {

/// x[i] = D(masses[i])^-1 b for all masses and columns. Collective.
///
/// Each step takes a direction of each column: what the preconditioner makes of the worst residual of its masses. All
/// columns that are solved for together minimise their residuals over the directions of all. The low modes of D, which
/// are many on large lattices, are the same for all of them. Images are as accurate as the share of a solution
/// requires. At the end the accurate sign function decides, and what is above the tolerance goes on from there. No
/// modes of D are needed; the lowest of those that are there are first directions, and then they are given back.
/// \param x        as many fields as masses; if none, they are made when they are known: before that a search space
///                 may take their memory
/// \param b        columns of any chirality
/// \param masses   ascending, not negative
/// \param inverse  InnerField inverse(const InnerField& r): about M^-1 r
template <class Sign, class Inverse>
overlap_solve_report solve_overlap_preconditioned(const overlap_operator<Sign>& d,
                                                  overlap_mode_set<typename Sign::Field> modes,
                                                  std::vector<typename Sign::Field>& x, const typename Sign::Field& b,
                                                  const std::vector<double>& masses, const overlap_solve_rule& rule,
                                                  const Inverse& inverse) {
  using Field = typename Sign::Field;
  overlap_solve_report report;
  for (const double mass : masses) report.masses.push_back({.mass = mass, .converged = true});
  const double delta = std::clamp(0.01 * rule.tolerance, 1e-13, 1e-4);
  const direction_block<Field, typename Sign::InnerField> of_modes = first_directions(d, modes, b, delta, report.work);
  for (const int chi : {+1, -1}) modes.of(chi).vectors = detail::half_like(b, 0);
  const overlap_preconditioner& settings = rule.preconditioner;
  int batch = std::min(settings.batch > 0 ? settings.batch : b.columns(), b.columns());
  using space = search_space<Field, typename Sign::InnerField>;
  const auto space_of = [&](const direction_block<Field, typename Sign::InnerField>& directions) {
    // After many inner steps partners tell little: 20 directions for 19 on 12^3x24 with eight.
    return space(directions, !(rule.coarse_sign_delta > 0.0) && settings.inner_steps <= 4);
  };
  space first = space_of(of_modes);
  // Few columns lead where others gain from what they find.
  const int leading = settings.recycled > 0 ? std::min(batch, leading_columns(b.columns())) : batch;
  double last = 0.0;  // directions of a column of the batch before
  for (int begin = 0; begin < b.columns();) {
    const int count = std::min({begin == 0 ? leading : batch, batch, b.columns() - begin});
    const auto part = [&] {
      while (x.size() < masses.size()) x.push_back(like(b));
      std::vector<Field> of_columns;
      for (Field& of_mass : x) of_columns.push_back(view(of_mass, begin, count));
      return of_columns;
    };
    preconditioned_solver<Sign, Inverse> solver(d, first, masses, rule, inverse, report);
    const double before = report.work.directions;
    try {
      solver.solve(part, view(b, begin, count), begin == 0);
    } catch (const memory_error&) {
      if (!rule.may_shrink_batch || count == 1) throw;
      batch = count / 2;
      if (begin == 0) report.history = report.deltas = {};
      continue;
    }
    report.work.columns_at_once = std::max(report.work.columns_at_once, count);
    const double each = (report.work.directions - before) / count;
    if (begin == 0) {
      report.work.leading = count;
      report.work.directions_of_leading = each;
    }
    begin += count;
    // What the next exchange saves is about half of what the last one did; an image costs some 0.6 directions.
    const bool pays =
        report.work.recycled == 0 || 0.5 * (last - each) * (b.columns() - begin) > 0.6 * settings.recycled;
    last = each;
    if (begin == b.columns() || settings.recycled == 0 || !pays || solver.is_stopped()) continue;
    auto taken = solver.give_shortest(b, settings.recycled + of_modes.size);
    if (taken.size > 0)
      first = space_of(recycled_directions(d, of_modes, std::move(taken), settings.recycled, delta, report.work));
  }
  return report;
}

}  // namespace plaquette
