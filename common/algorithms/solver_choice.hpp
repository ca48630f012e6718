// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A solver chosen at run time.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "common/algorithms/bicgstab.hpp"
#include "common/algorithms/conjugate_gradients.hpp"
#include "common/algorithms/gcr.hpp"

namespace plaquette {

enum class solver_kind { cgne, cgnr, bicgstab, gcr, mr };

inline constexpr std::array<std::pair<solver_kind, std::string_view>, 5> solver_names{
    {{solver_kind::cgne, "cgne"},
     {solver_kind::cgnr, "cgnr"},
     {solver_kind::bicgstab, "bicgstab"},
     {solver_kind::gcr, "gcr"},
     {solver_kind::mr, "mr"}}};

inline std::string name(solver_kind kind) {
  for (const auto& [known, text] : solver_names)
    if (known == kind) return std::string(text);
  return "unknown";
}

/// \throws input_error with the list of names
inline solver_kind parse_solver_kind(std::string_view text) {
  std::string names;
  for (const auto& [kind, known] : solver_names) {
    if (known == text) return kind;
    names += (names.empty() ? "" : ", ") + std::string(known);
  }
  throw input_error("solver: expected one of " + names + ", found '" + std::string(text) + "'");
}

/// What some solvers need beside the stopping rule.
struct solver_parameters {
  int restart_length = 16;  ///< directions of gcr
  double relaxation = 1.0;  ///< of mr
};

/// A x = b by the solver of that kind.
/// \param x  the initial guess, and the solution
template <field_batch F, linear_operator<F> A>
solve_report solve(solver_kind kind, const A& a, F& x, const F& b, const stopping_rule& rule,
                   const solver_parameters& parameters = {}) {
  switch (kind) {
    case solver_kind::cgne:
      return cgne(a, x, b, rule);
    case solver_kind::cgnr:
      return cgnr(a, x, b, rule);
    case solver_kind::bicgstab:
      return bicgstab(a, x, b, rule);
    case solver_kind::gcr:
      return gcr(a, x, b, rule, parameters.restart_length);
    case solver_kind::mr:
      return minimal_residual(a, x, b, rule, parameters.relaxation);
  }
  throw error(exit_status::internal_error, "solve: a solver without a name was asked for");
}

}  // namespace plaquette
