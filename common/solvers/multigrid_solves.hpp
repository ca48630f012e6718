// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Solves of M x = b with the operators and the cycle of a multigrid solver. Sources go in and solutions come out.
#pragma once

#include <algorithm>
#include <concepts>
#include <type_traits>
#include <utility>

#include "common/krylov/bicgstab.hpp"
#include "common/krylov/flexible_gcr.hpp"
#include "common/krylov/mixed_solve.hpp"
#include "common/krylov/reliable_solvers.hpp"
#include "common/krylov/schur_solve.hpp"
#include "common/krylov/work_clock.hpp"
#include "common/solvers/multigrid_hierarchy.hpp"
#include "common/solvers/solver_vectors_of.hpp"

namespace plaquette {

/// Solves by flexible GCR around a cycle, and by BiCGstab for comparison. Keeps nothing of a solve.
template <multigrid_backend Backend>
class multigrid_solves {
  using types = multigrid_types<Backend>;
  using outer_field = typename types::outer_field;
  using single_field = typename types::single_field;
  template <class T>
  using inner_field = typename Backend::template field<T>;
  template <class T>
  using schur_operator = typename types::template schur_operator<T>;

 public:
  /// All must live as long as this object.
  multigrid_solves(multigrid_operators<Backend>& operators, multigrid_hierarchy<Backend>& hierarchy,
                   const multigrid_settings& settings)
      : operators_(operators), hierarchy_(hierarchy), settings_(settings) {}

  /// x = M^-1 b by flexible GCR with the cycle.
  multigrid_solve_report with_cycle(outer_field& x, const outer_field& b, const stopping_rule& rule) const {
    const auto& cycle = hierarchy_.cycle(b.columns());
    const auto& cycle_in_single = hierarchy_.cycle_in_single(b.columns());
    const flexible_gcr_parameters parameters{settings_.restart_length, 3};
    // Each update costs a third of an iteration; in between, rounding in single precision takes five digits and more.
    const reliable_updates updates{.delta = 1e-5, .longest_interval = rule.limit};
    stopping_rule here = rule;
    here.check_interval = 1;  // an iteration takes much longer than an answer
    const auto in_single = [&](const auto& a, auto& y, const auto& c, const stopping_rule& even) {
      return reliable_flexible_gcr<single_field>(a, *operators_.library().system(), y, c, even, updates,
                                                 cycle_in_single, parameters);
    };
    if (operators_.in_pairs()) return solve_full(*operators_.in_pairs(), x, b, here, in_single);
    return solve_full(operators_.schur(), x, b, here,
                      [&](const auto& a, outer_field& y, const outer_field& c, const stopping_rule& even) {
                        return settings_.direction_precision == precision::double_
                                   ? flexible_gcr(a, y, c, even, cycle, parameters)
                                   : in_single(a, y, c, even);
                      });
  }

  /// x = M^-1 b by BiCGstab.
  /// \param inner  the precision of its Krylov space
  multigrid_solve_report by_bicgstab(outer_field& x, const outer_field& b, const stopping_rule& rule,
                                     precision inner) const {
    stopping_rule here = rule;
    here.check_interval = Backend::check_interval;
    here.check_lag = Backend::check_lag;
    const auto solve_with = [&](const auto& schur) {
      return inner == precision::double_  ? solve_full(schur, x, b, here, plain_bicgstab{})
             : inner == precision::single ? by_mixed_bicgstab<float>(schur, x, b, here)
                                          : by_mixed_bicgstab<half>(schur, x, b, here);
    };
    const auto& pairs = operators_.reference_in_pairs();
    auto timed = pairs ? solve_with(*pairs) : solve_with(operators_.reference_schur());
    timed.flops = static_cast<double>(timed.report.column_applications) *
                  operators_.reference_schur().flops_per_site() * 0.5 *
                  static_cast<double>(operators_.get_context().geometry().global_volume());
    return timed;
  }

  /// Returns about M^-1 b by flexible GCR, all in single precision.
  /// \param mark  of the solution
  single_solution in_single(const single_field& b, stopping_rule rule, const library_mark& mark) const {
    rule.guess_is_zero = true;
    const auto& a = *operators_.library().system();
    const auto& cycle = hierarchy_.cycle_in_single(std::max(b.columns(), hierarchy_.columns_of_cycle()));
    return solve_even_sites(a, b, mark, [&](single_field& x, const single_field& even) {
      return flexible_gcr(a, x, even, rule, cycle, {settings_.restart_length, 0});
    });
  }

  /// Returns about M^-1 b by BiCGstab, in single precision or in 16 bits. It needs no set-up.
  single_solution in_single_by_bicgstab(const single_field& b, stopping_rule rule, const library_mark& mark) const {
    rule.guess_is_zero = true;
    rule.check_interval = std::min(Backend::check_interval, 5);  // few iterations are enough
    const auto solve = [&](const auto& schur, const auto& rounded) {
      return solve_even_sites(schur, rounded, mark,
                              [&](auto& x, const auto& even) { return bicgstab(schur, x, even, rule); });
    };
    // 16 bits resolve far less than this: their rounding is 3e-5 of the largest number of a site.
    if (rule.tolerance < 1e-2) return solve(operators_.template inner_schur<float>(), b);
    const auto& schur = operators_.template inner_schur<half>();
    inner_field<half> rounded = like(b, b.columns(), as<inner_field<half>>);
    convert(rounded, b);
    return solve(schur, rounded);
  }

  /// x = about M^-1 b by GCR with the cycle, from x = 0, without corrections of the full system.
  schur_report once(outer_field& x, const outer_field& b, const any_operator<outer_field>& cycle,
                    const stopping_rule& rule) const {
    zero(x);
    return schur_solve(operators_.schur(), operators_.full(), x, b, rule,
                       [&](const auto& a, outer_field& y, const outer_field& c, const stopping_rule& even) {
                         return flexible_gcr(a, y, c, even, cycle, {settings_.restart_length, 0});
                       },
                       {.corrections = 0});
  }

 private:
  struct plain_bicgstab {
    template <class A, class Field>
    solve_report operator()(const A& a, Field& x, const Field& b, const stopping_rule& rule) const {
      return bicgstab(a, x, b, rule);
    }
  };
  template <class Inner, class Schur>
  multigrid_solve_report by_mixed_bicgstab(const Schur& schur, outer_field& x, const outer_field& b,
                                           const stopping_rule& rule) const {
    const schur_operator<Inner> inner(operators_.template inner<Inner>(), schur_kind::symmetric);
    const mixed_precision_defaults defaults = default_parameters(precision::double_, precision_of<inner_field<Inner>>);
    const reliable_updates updates{.delta = defaults.delta, .longest_interval = defaults.longest_interval};
    return solve_full(schur, x, b, rule, [&](const auto& a, auto& y, const auto& c, const stopping_rule& even) {
      return solve_mixed<inner_field<Inner>>(solver_kind::bicgstab, mixed_scheme::reliable, a, inner, y, c, even,
                                             updates);
    });
  }

  /// x = M^-1 b by a solver of the even system, with corrections of the full one.
  /// \param schur  in double, or in pairs, to which the source is converted and from which the solution is
  template <class Schur, class Solver>
  multigrid_solve_report solve_full(const Schur& schur, outer_field& x, const outer_field& b, stopping_rule rule,
                                    const Solver& solver) const {
    using field = typename Schur::full_operator::field;
    rule.guess_is_zero = true;
    const double norm = operators_.norm(hierarchy_.seed());
    start_together(operators_.library());
    const work_clock watch(operators_.library());
    multigrid_solve_report result;
    const auto find = [&](field& y, const field& c) {
      zero(y);
      result.report = schur_solve(schur, schur.full(), y, c, rule, solver,
                                  {.operator_norm = norm, .unit_roundoff = unit_roundoff(precision_of<field>)});
    };
    if constexpr (std::is_same_v<field, outer_field>) {
      find(x, b);
    } else {
      field y = like(x, x.columns(), as<field>), c = like(y);
      convert(c, b);
      find(y, c);
      convert(x, y);
    }
    operators_.library().finish();
    const stretch_seconds spent = end_together(watch, operators_.get_context().comm());
    result.seconds = spent.work;
    result.tuning_seconds = spent.tuning;
    return result;
  }

  /// Returns the solution of the full system, in single precision, from one on even sites.
  template <class Schur, field_batch Field, class Solver>
  single_solution solve_even_sites(const Schur& schur, const Field& b, const library_mark& mark,
                                   const Solver& solver) const {
    Field even = schur.even_like(b), y = like(even), x = like(b);
    schur.prepare_source(even, b);
    zero(y);
    single_solution found;
    found.report = solver(y, even);
    schur.reconstruct_solution(x, y, b);
    if constexpr (std::same_as<Field, single_field>) {
      found.x = handle_of(std::move(x), 0, mark);
    } else {
      single_field converted = like(x, x.columns(), as<single_field>);
      convert(converted, x);
      found.x = handle_of(std::move(converted), 0, mark);
    }
    return found;
  }

  multigrid_operators<Backend>& operators_;
  multigrid_hierarchy<Backend>& hierarchy_;
  const multigrid_settings& settings_;
};

}  // namespace plaquette
