// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The linear systems of pseudofermions, on links that move.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/algorithms/mixed_solve.hpp"
#include "common/error.hpp"
#include "common/hmc/even_complement.hpp"
#include "common/hmc/molecular_dynamics.hpp"
#include "common/lattice/dirac_operator.hpp"
#include "common/stop_point.hpp"

namespace plaquette {

/// A factor's operators in double and in the precision of its Krylov space. They follow the links.
template <class Backend>
class quark_systems {
 public:
  using context = typename Backend::context;
  using gauge = typename Backend::gauge;
  using field = typename Backend::template field<double>;
  template <class T>
  using full_type = typename Backend::template wilson_clover<T>;
  template <class T>
  using schur_type = typename Backend::template schur_wilson_clover<T>;

  quark_systems(const context& ctx, const gauge& links, const hybrid_action& action)
      : action_(action), double_(ctx, links, action.quarks->action) {
    for (const factor_solver& solver : action.solvers) {
      if (solver.inner == precision::single && !single_) single_.emplace(ctx, links, action.quarks->action);
      if (solver.inner == precision::half && !half_) half_.emplace(ctx, links, action.quarks->action);
    }
  }

  void follow(const gauge& links) {
    double_.full->follow(links);
    if (single_) single_->full->follow(links);
    if (half_) half_->full->follow(links);
  }

  const schur_type<double>& complement() const { return double_.schur; }

  /// Makes z = (Q + i mu)^-1 phi, to the tolerance of actions.
  void solve_for_action(field& z, const field& phi, int factor, double mu, solve_count& count) {
    field b = like(phi);
    if (solver_of(factor).method == factor_solver::kind::bicgstab) {
      gamma5(b, phi);
      return solve(z, b, factor, mu, true, action_.action_tolerance, count);
    }
    solve(b, phi, factor, mu, false, action_.action_tolerance, count);
    apply_shifted(z, b, -mu);
  }

  /// Makes x = (Q^2 + mu^2)^-1 phi and y = Mhat x.
  /// \param tolerance  0: that of forces
  void solve_for_force(field& x, field& y, const field& phi, int factor, double mu, double tolerance,
                       solve_count& count) {
    if (solver_of(factor).method == factor_solver::kind::cg) {
      solve(x, phi, factor, mu, false, tolerance == 0.0 ? action_.cg_force_tolerance : tolerance, count);
      ++count.applications;
      return complement().apply(y, x);
    }
    const double to = tolerance == 0.0 ? action_.force_tolerance : tolerance;
    field b = like(phi), z = like(phi);
    gamma5(b, phi);
    solve(z, b, factor, mu, true, to, count);
    gamma5(b, z);
    solve(x, b, factor, -mu, true, to, count);
    add_multiple(z, {0.0, mu}, x);  // Mhat x = gamma_5 (z + i mu x)
    gamma5(y, z);
  }

  /// Computes out = (Q + i mu) in.
  void apply_shifted(field& out, const field& in, double mu) const {
    field product = like(in);
    complement().apply(product, in);
    gamma5(out, product);
    if (mu != 0.0) add_multiple(out, {0.0, mu}, in);
  }

 private:
  template <class T>
  struct operators {
    std::shared_ptr<full_type<T>> full;
    schur_type<T> schur;
    operators(const context& ctx, const gauge& links, const fermion_action& action)
        : full(std::make_shared<full_type<T>>(ctx, links, action)), schur(full, schur_kind::asymmetric) {}
  };

  factor_solver solver_of(int factor) const {
    return action_.solvers.empty() ? factor_solver{} : action_.solvers[static_cast<std::size_t>(factor)];
  }

  /// Solves (Mhat + i mu gamma_5) x = b if `twisted`, else (Q^2 + mu^2) x = b, from zero. A solve that fails is made
  /// again in double by conjugate gradients. Throws error of no convergence if that fails too.
  void solve(field& x, const field& b, int factor, double mu, bool twisted, double tolerance, solve_count& count) {
    stopping_rule rule;
    rule.tolerance = tolerance;
    rule.limit = action_.solver_limit;
    rule.check_interval = Backend::check_interval;
    rule.check_lag = Backend::check_lag;
    rule.guess_is_zero = true;
    rule.interrupted = [] {
      stop_point(stop_kind::late);  // throws
      return false;
    };
    ++count.solves;
    if (solve_once(x, b, solver_of(factor).inner, mu, twisted, rule, count)) return;
    ++count.repeated;
    rule.limit *= 4;
    zero(x);
    const solve_report last = twisted ? cgnr(twisted_complement(complement(), mu), x, b, rule)
                                      : conjugate_gradients(squared_complement(complement(), mu), x, b, rule);
    note(last, 2, count);
    if (last.all_converged()) return;
    const column_report& worst =
        *std::ranges::max_element(last.columns, {}, [](const column_report& c) { return c.residual; });
    throw error(exit_status::no_convergence, "factor " + std::to_string(factor + 1) +
                                                 ": two solvers did not solve a system, residual " +
                                                 std::to_string(worst.residual) + " after " +
                                                 std::to_string(worst.iterations) + " iterations: " + worst.why);
  }

  /// Returns whether all columns were solved.
  bool solve_once(field& x, const field& b, precision inner, double mu, bool twisted, const stopping_rule& rule,
                  solve_count& count) {
    zero(x);
    const auto by = [&](const auto& low) {
      return twisted ? solve_twisted(low, x, b, inner, mu, rule) : solve_squared(low, x, b, inner, mu, rule);
    };
    const solve_report report = inner == precision::double_  ? by(double_)
                                : inner == precision::single ? by(*single_)
                                                             : by(*half_);
    note(report, twisted ? 1 : 2, count);
    return report.all_converged();
  }

  static reliable_updates updates_for(precision inner) {
    const mixed_precision_defaults defaults = default_parameters(precision::double_, inner);
    return {.delta = defaults.delta, .longest_interval = defaults.longest_interval};
  }

  template <class T>
  solve_report solve_twisted(const operators<T>& low, field& x, const field& b, precision inner, double mu,
                             const stopping_rule& rule) const {
    const twisted_complement outer(complement(), mu);
    if constexpr (std::is_same_v<T, double>)
      return bicgstab(outer, x, b, rule);
    else
      return reliable_bicgstab<typename Backend::template field<T>>(outer, twisted_complement(low.schur, mu), x, b,
                                                                    rule, updates_for(inner));
  }
  template <class T>
  solve_report solve_squared(const operators<T>& low, field& x, const field& b, precision inner, double mu,
                             const stopping_rule& rule) const {
    const squared_complement outer(complement(), mu);
    if constexpr (std::is_same_v<T, double>)
      return conjugate_gradients(outer, x, b, rule);
    else
      return reliable_conjugate_gradients<typename Backend::template field<T>>(outer, squared_complement(low.schur, mu),
                                                                               x, b, rule, updates_for(inner));
  }

  /// \param products  with Mhat or its adjoint in an application
  static void note(const solve_report& report, int products, solve_count& count) {
    int most = 0;
    for (const column_report& c : report.columns) most = std::max(most, c.iterations);
    count.iterations += most;
    count.applications += products * report.column_applications;
  }

  hybrid_action action_;
  operators<double> double_;
  std::optional<operators<float>> single_;
  std::optional<operators<half>> half_;
};

}  // namespace plaquette
