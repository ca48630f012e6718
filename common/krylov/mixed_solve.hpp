// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A solver of two precisions chosen at run time.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "common/krylov/defect_correction.hpp"
#include "common/krylov/reliable_solvers.hpp"
#include "common/krylov/solver_choice.hpp"

namespace plaquette {

/// How corrections in low precision come to the solution in high precision.
enum class mixed_scheme { reliable, defect_correction };

inline constexpr std::array<std::pair<mixed_scheme, std::string_view>, 2> mixed_scheme_names{
    {{mixed_scheme::reliable, "reliable"}, {mixed_scheme::defect_correction, "defect-correction"}}};

inline std::string name(mixed_scheme scheme) {
  return std::string(mixed_scheme_names[scheme == mixed_scheme::reliable ? 0 : 1].second);
}

/// \throws input_error with the list of names
inline mixed_scheme parse_mixed_scheme(std::string_view text) {
  for (const auto& [scheme, known] : mixed_scheme_names)
    if (known == text) return scheme;
  throw input_error("scheme: expected one of reliable, defect-correction, found '" + std::string(text) + "'");
}

namespace detail {

/// Returns the same updates, often enough that a column without progress ends within `patience` iterations: progress is
/// judged at updates. 0: it never ends for that.
inline reliable_updates noticing_a_stall(reliable_updates updates, int patience) {
  constexpr int often_enough = 50;
  if (patience == 0) {
    updates.patience = std::numeric_limits<int>::max();
    return updates;
  }
  updates.longest_interval = std::min(updates.longest_interval, often_enough);
  updates.patience = patience - updates.longest_interval;
  return updates;
}

}  // namespace detail

/// Solves A x = b by a solver of that kind that iterates in the precision of InnerField, which may be the type of x.
/// Reliable updates are there for all but gcr and mr, defect correction for all.
/// \param outer  A in the precision of x and b
/// \param inner  A in the precision of InnerField
/// \param x      the initial guess, and the solution
/// \throws input_error for reliable updates of another solver
template <field_batch InnerField, field_batch OuterField, linear_operator<OuterField> Outer,
          linear_operator<InnerField> Inner>
solve_report solve_mixed(solver_kind kind, mixed_scheme scheme, const Outer& outer, const Inner& inner, OuterField& x,
                         const OuterField& b, const stopping_rule& rule, const reliable_updates& updates,
                         const solver_parameters& parameters = {}) {
  if (scheme == mixed_scheme::defect_correction)
    return defect_correction<InnerField>(
        outer, inner, x, b, rule, updates,
        [&](const Inner& a, InnerField& e, const InnerField& r, const stopping_rule& part) {
          return solve(kind, a, e, r, part, parameters);
        });
  switch (kind) {
    case solver_kind::bicgstab:
      return reliable_bicgstab<InnerField>(outer, inner, x, b, rule, updates);
    case solver_kind::cgne:
      return reliable_cgne<InnerField>(outer, inner, x, b, rule, updates);
    case solver_kind::cgnr:
      return reliable_cgnr<InnerField>(outer, inner, x, b, rule, updates);
    case solver_kind::bicgstab2:
      return reliable_bicgstab_l<InnerField>(outer, inner, x, b, rule, updates, 2);
    case solver_kind::bicgstab4:
      return reliable_bicgstab_l<InnerField>(outer, inner, x, b, rule, updates, 4);
    case solver_kind::automatic:
      return detail::solve_in_turn(
          precision_of<InnerField>, x, b, rule,
          [&](OuterField& y, const OuterField& c, stopping_rule rest, const detail::solver_turn& turn) {
            rest.early_checks = turn.early_checks;
            return solve_mixed<InnerField>(turn.solver, scheme, outer, inner, y, c, rest,
                                           detail::noticing_a_stall(updates, turn.patience), parameters);
          });
    default:
      throw input_error("reliable updates: expected bicgstab, bicgstab2, bicgstab4, auto, cgne or cgnr, found " +
                        name(kind));
  }
}

}  // namespace plaquette
