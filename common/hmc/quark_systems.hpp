// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The linear systems of pseudofermions, on links that move.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/algebra/reconstruct.hpp"
#include "common/algorithms/flexible_gcr.hpp"
#include "common/algorithms/mixed_solve.hpp"
#include "common/error.hpp"
#include "common/hmc/even_complement.hpp"
#include "common/hmc/molecular_dynamics.hpp"
#include "common/hmc/moving_hierarchy.hpp"
#include "common/lattice/dirac_operator.hpp"
#include "common/stop_point.hpp"

namespace plaquette {

/// A factor's operators in double and in the precision of its Krylov space. They follow the links.
template <class Backend>
class quark_systems {
 public:
  using context = typename Backend::context;
  using gauge = typename Backend::gauge;
  using blocks = typename Backend::blocks;
  using field = typename Backend::template field<double>;
  template <class T>
  using full_type = typename Backend::template wilson_clover<T>;
  template <class T>
  using schur_type = typename Backend::template schur_wilson_clover<T>;

  /// \param links  whose memory stays theirs when they move
  quark_systems(const context& ctx, const gauge& links, const hybrid_action& action)
      : context_(ctx), action_(action), double_(ctx, links, action.quarks->action, reconstruct::none) {
    const double distance = Backend::distance_from_su3(links, ctx);
    const bool by_multigrid = action.has_multigrid();
    for (const factor_solver& solver : action.solvers) {
      if ((solver.inner == precision::single || by_multigrid) && !single_)
        single_.emplace(ctx, links, action.quarks->action, Backend::template stored_reals<float>(distance));
      if (solver.inner == precision::half && !half_)
        half_.emplace(ctx, links, action.quarks->action, Backend::template stored_reals<half>(distance));
    }
    if (action.has_determinant()) {
      diagonal_.emplace(Backend::blocks_behind(double_.full->diagonal(), ctx));
      inverse_.emplace(Backend::blocks_behind(double_.full->inverse_diagonal(), ctx));
      make_blocks(links);
    }
    if (!by_multigrid) return;
    std::shared_ptr<const schur_type<half>> in_half;
    const auto relaxes_in_half = [](const factor_solver& solver) {
      return solver.method == factor_solver::kind::multigrid && solver.inner == precision::half;
    };
    if (std::ranges::any_of(action.solvers, relaxes_in_half))
      in_half = std::make_shared<const schur_type<half>>(half_->full, schur_kind::asymmetric);
    hierarchy_.emplace(ctx, Backend::shared(links), action.quarks->action, single_->full, in_half,
                       action.quarks->pairs);
  }

  void follow(const gauge& links) {
    if (diagonal_) make_blocks(links);
    const auto all_follow = [&](const auto& of) {
      if (diagonal_)
        of.full->follow(links, *diagonal_, *inverse_);
      else
        of.full->follow(links);
    };
    all_follow(double_);
    if (single_) all_follow(*single_);
    if (half_) all_follow(*half_);
  }

  /// Return the blocks of A and of A^-1 on the links that were followed last. There must be a clover term.
  const blocks& diagonal() const { return *diagonal_; }
  const blocks& inverse_diagonal() const { return *inverse_; }

  const schur_type<double>& complement() const { return double_.schur; }

  /// Begins a trajectory, or makes what follows independent of solves before.
  void begin_trajectory(std::uint64_t number) {
    constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;  // seeds of trajectories are far from each other
    if (hierarchy_) hierarchy_->begin_trajectory(action_.seed + golden_ratio * (number + 1));
  }
  /// Notes that links move for a time of the trajectory.
  void note_drift(double time) {
    if (hierarchy_) hierarchy_->grow_older(time);
  }
  hierarchy_work work_of_hierarchy() const { return hierarchy_ ? hierarchy_->work() : hierarchy_work{}; }

  /// Makes z = (Q + i mu)^-1 phi, to the tolerance of actions.
  void solve_for_action(field& z, const field& phi, int factor, double mu, solve_count& count) {
    field b = like(phi);
    if (solver_of(factor).method != factor_solver::kind::cg) {
      gamma5(b, phi);
      solve(z, b, factor, mu, true, action_.action_tolerance, count);
      return;
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
    // What judges ask for, to tolerances of their own, leaves the hierarchy of the trajectory as it is.
    const bool is_of_trajectory = tolerance == 0.0 && solver_of(factor).method == factor_solver::kind::multigrid;
    const double to = tolerance == 0.0 ? action_.force_tolerance : tolerance;
    if (is_of_trajectory) hierarchy_->renew_if_slow();
    field b = like(phi), z = like(phi);
    gamma5(b, phi);
    const int first = solve(z, b, factor, mu, true, to, count);
    gamma5(b, z);
    const int second = solve(x, b, factor, -mu, true, to, count);
    if (is_of_trajectory) hierarchy_->note_iterations(factor, first + second);
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
    operators(const context& ctx, const gauge& links, const fermion_action& action, reconstruct stored)
        : full(std::make_shared<full_type<T>>(ctx, links, action, stored)), schur(full, schur_kind::asymmetric) {}
  };

  /// Makes A and A^-1 in double, once for the operators of all precisions and for the determinant.
  void make_blocks(const gauge& links) {
    Backend::make_diagonal(*diagonal_, links, action_.quarks->action, context_);
    Backend::invert(*inverse_, *diagonal_);
  }

  factor_solver solver_of(int factor) const {
    return action_.solvers.empty() ? factor_solver{} : action_.solvers[static_cast<std::size_t>(factor)];
  }

  /// Solves (Mhat + i mu gamma_5) x = b if `twisted`, else (Q^2 + mu^2) x = b, from zero. A solve that fails is made
  /// again in double by conjugate gradients. Returns the iterations of the column that took most. Throws error of no
  /// convergence if that fails too.
  int solve(field& x, const field& b, int factor, double mu, bool twisted, double tolerance, solve_count& count) {
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
    const long before = count.iterations;
    const auto taken = [&] { return static_cast<int>(count.iterations - before); };
    if (solve_once(x, b, solver_of(factor), mu, twisted, rule, count)) return taken();
    ++count.repeated;
    rule.limit *= 4;
    zero(x);
    const solve_report last = twisted ? cgnr(twisted_complement(complement(), mu), x, b, rule)
                                      : conjugate_gradients(squared_complement(complement(), mu), x, b, rule);
    note(last, 2, count);
    if (last.all_converged()) return taken();
    const column_report& worst =
        *std::ranges::max_element(last.columns, {}, [](const column_report& c) { return c.residual; });
    throw error(exit_status::no_convergence, "factor " + std::to_string(factor + 1) +
                                                 ": two solvers did not solve a system, residual " +
                                                 std::to_string(worst.residual) + " after " +
                                                 std::to_string(worst.iterations) + " iterations: " + worst.why);
  }

  /// Returns whether all columns were solved.
  bool solve_once(field& x, const field& b, const factor_solver& solver, double mu, bool twisted,
                  const stopping_rule& rule, solve_count& count) {
    zero(x);
    const precision inner = solver.inner;
    if (solver.method == factor_solver::kind::multigrid) {
      const solve_report report = solve_by_multigrid(x, b, mu, rule);
      note(report, 1, count);
      count.applications += hierarchy_->applications_of(report);
      return report.all_converged();
    }
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

  /// Solves the twisted system by flexible GCR with a cycle of mu = 0 (common/solvers/multigrid_solver_of.hpp).
  solve_report solve_by_multigrid(field& x, const field& b, double mu, stopping_rule rule) {
    using single_field = typename Backend::template field<float>;
    rule.check_interval = 1;  // an iteration takes much longer than an answer
    rule.check_lag = 0;
    const reliable_updates updates{.delta = 1e-5, .longest_interval = rule.limit};
    const auto& cycle = hierarchy_->cycle();
    return reliable_flexible_gcr<single_field>(twisted_complement(complement(), mu),
                                               twisted_complement(hierarchy_->system(), mu), x, b, rule, updates, cycle,
                                               {.restart_length = 10, .corrections = 3});
  }

  /// \param products  with Mhat or its adjoint in an application
  static void note(const solve_report& report, int products, solve_count& count) {
    int most = 0;
    for (const column_report& c : report.columns) most = std::max(most, c.iterations);
    count.iterations += most;
    count.applications += products * report.column_applications;
  }

  context context_;
  hybrid_action action_;
  std::optional<blocks> diagonal_, inverse_;  ///< none without a clover term
  operators<double> double_;
  std::optional<operators<float>> single_;
  std::optional<operators<half>> half_;
  std::optional<moving_hierarchy<Backend>> hierarchy_;
};

}  // namespace plaquette
