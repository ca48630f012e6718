// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The linear systems of pseudofermions, on links that move.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/algebra/reconstruct.hpp"
#include "common/error.hpp"
#include "common/hmc/chronology.hpp"
#include "common/hmc/molecular_dynamics.hpp"
#include "common/hmc/moving_hierarchy.hpp"
#include "common/krylov/flexible_gcr.hpp"
#include "common/krylov/mixed_solve.hpp"
#include "common/lattice/dirac_operator.hpp"
#include "common/operators/even_complement.hpp"
#include "common/operators/twisted_wilson_clover.hpp"
#include "common/stop_point.hpp"

namespace plaquette {

/// Whether a library lets operators of all precisions follow links in one pass. It then makes only the blocks that the
/// asymmetric even-odd system reads: A on even sites, A^-1 on odd ones.
template <class Backend>
concept has_follow_at_once = requires(const typename Backend::gauge& links, typename Backend::blocks& blocks,
                                      typename Backend::template wilson_clover<double>& full) {
  { Backend::follow_at_once(links, blocks, blocks, true, full, nullptr, nullptr) } -> std::same_as<bool>;
};

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
  using schur_type = twisted_wilson_clover_schur<typename Backend::template dirac_parts<T>>;

  /// \param links  whose memory stays theirs when they move
  quark_systems(const context& ctx, const gauge& links, const hybrid_action& action) : context_(ctx), action_(action) {
    const double distance = Backend::distance_from_su3(links, ctx);
    const int sets = quarks().has_mass_shifts() ? quarks().factors() : 1;
    for (int w = 0; w < sets; ++w) sets_.push_back(make_set(links, w, distance));
    if (action.has_determinant()) {
      diagonal_.emplace(Backend::blocks_behind(sets_[0].in_double.full->diagonal(), ctx));
      inverse_.emplace(Backend::blocks_behind(sets_[0].in_double.full->inverse_diagonal(), ctx));
      make_blocks(links);
      follow_twist(links);
    }
    if (action.has_multigrid()) make_hierarchy(links);
    if (action.forecasts > 0)
      past_.assign(2 * static_cast<std::size_t>(action.quarks->factors()), chronology<field>(action.forecasts));
  }

  void follow(const gauge& links) {
    if (followed_at_once(links)) return;
    if (diagonal_) make_blocks(links);
    for (operator_set& set : sets_)
      set.for_each([&](auto& one) {
        if (diagonal_ && &set == &sets_.front())
          one.full->follow(links, *diagonal_, *inverse_);
        else
          one.full->follow(links);
      });
    if (diagonal_) follow_twist(links);
  }

  /// Begins a trajectory: forgets earlier solutions and the hierarchy, and uses later ones.
  void begin_trajectory(std::uint64_t number) {
    constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;  // seeds of trajectories are far from each other
    if (hierarchy_) hierarchy_->begin_trajectory(action_.seed + golden_ratio * (number + 1));
    for (chronology<field>& past : past_) past.clear();
    uses_past_ = true;
  }
  /// Makes the hierarchy of multigrid, if there is none, on the links that were followed last.
  void make_whole() {
    if (hierarchy_) hierarchy_->cycle();
  }
  /// Lets solves of forces begin with forecasts and be kept for them, and count for the age of the hierarchy, or not.
  void use_past(bool use) { uses_past_ = use; }
  /// Notes that links move for a time of the trajectory.
  void note_drift(double time) {
    if (hierarchy_) hierarchy_->grow_older(time);
  }
  hierarchy_work work_of_hierarchy() const { return hierarchy_ ? hierarchy_->work() : hierarchy_work{}; }

  /// Returns Mhat of W_k.
  const schur_type<double>& complement(int k) const { return of<double>(k).schur; }

  /// Makes the vector X of a factor, to the tolerance of actions: W_k^-1 (W_(k+1) - W_k) phi, of the last factor
  /// W_k^-1 gamma_5 phi.
  void solve_for_action(field& x, const field& phi, int k, solve_count& count) {
    field b = like(phi);
    make_source(b, phi, k);
    solve_for_action(x, b, k, k, count);
  }

  /// Makes x = W_(k+1)^-1 (W_(k+1) - W_k) eta. Then eta - x is phi = W_(k+1)^-1 W_k eta, and x is X.
  void solve_for_heat_bath(field& x, const field& eta, int k, solve_count& count) {
    field b = like(eta);
    make_source(b, eta, k);
    solve_for_action(x, b, k, k + 1, count);
  }

  /// Makes X as above and y = W_k^-+ (phi + X), of the last factor W_k^-+ X.
  /// \param tolerance  0: the tolerance of forces
  void solve_for_force(field& x, field& y, const field& phi, int k, double tolerance, solve_count& count) {
    const bool is_cg = solver_of(k).method == factor_solver::kind::cg, is_last = quarks().is_last(k);
    const double to = tolerance != 0.0 ? tolerance : is_cg ? action_.cg_force_tolerance : action_.force_tolerance;
    const twisted_complement w(complement(k), quarks().mu(k));
    // Forces for a judge do not age the hierarchy. With the tolerance of a trajectory they renew it as the next one
    // would.
    const bool by_multigrid = solver_of(k).method == factor_solver::kind::multigrid, ages = by_multigrid && uses_past_;
    if (by_multigrid && tolerance == 0.0) hierarchy_->renew_if_slow();
    const bool is_plain = is_last || quarks().is_normal();  // solves for W^-1 gamma_5 phi, not for phi + X
    field b = like(phi);
    if (is_plain)
      gamma5(b, phi);
    else if (is_cg)
      twisted_complement(complement(k + 1), quarks().mu(k + 1)).apply(b, phi);
    else
      make_source(b, phi, k);
    if (is_cg) {
      solve(y, b, k, k, system::squared, to, count, past_of(k, 0));
      w.apply_dagger(x, y);
      if (!is_plain) add_multiple(x, {-1.0, 0.0}, phi);
    } else {
      const int first = solve(x, b, k, k, system::twisted, to, count, past_of(k, 0));
      copy(b, x);
      if (!is_plain) add_multiple(b, {1.0, 0.0}, phi);
      const int second = solve(y, b, k, k, system::adjoint, to, count, past_of(k, 1));
      if (ages) hierarchy_->note_iterations(k, first + second);
    }
    ++count.applications;
    if (is_last || !is_plain) return;
    // W^-+ phi = W gamma_5 (W W^+)^-1 gamma_5 phi, and y is (W W^+)^-1 gamma_5 phi so far.
    gamma5(b, y);
    field product = like(phi);
    w.apply(product, b);
    multiply_all(y, {0.0, gap(k)});
    add_multiple(y, {1.0, 0.0}, product);
    multiply_all(x, {0.0, gap(k)});
  }

  /// Computes out = gamma_5 W_k in, the pseudofermion of the last factor.
  void apply_last(field& out, const field& in) const {
    field product = like(in);
    const int last = quarks().factors() - 1;
    twisted_complement(complement(last), quarks().mu(last)).apply(product, in);
    gamma5(out, product);
  }

  /// Returns the change of log det(A_oo^2 + mu^2) / 2 to the links that were followed last.
  /// \param before  A on other links
  double log_determinant_difference(const blocks& before) const {
    if (quarks().twisted_mass == 0.0) return Backend::log_determinant_difference(*diagonal_, before, 1, context_);
    return 0.5 * Backend::log_determinant_difference(squared(*diagonal_), squared(before), 1, context_);
  }
  /// Returns A (A^2 + mu^2)^-1 on the links that were followed last. There must be a clover term.
  const blocks& inverse_of_diagonal() const { return quarks().twisted_mass == 0.0 ? *inverse_ : *twisted_inverse_; }

 private:
  template <class T>
  struct operators {
    std::shared_ptr<full_type<T>> full;
    schur_type<T> schur;
    /// \param w  number of the factor whose W_k it is in
    operators(const context& ctx, const gauge& links, const quark_pairs& quarks, int w, reconstruct stored)
        : full(std::make_shared<full_type<T>>(ctx, links, quarks.action_of(w), stored)),
          schur({full, quarks.twisted_mass}, schur_kind::asymmetric) {}
  };
  /// The same operators in double and in the precisions of the iterations.
  struct operator_set {
    operators<double> in_double;
    std::optional<operators<float>> in_single{};
    std::optional<operators<half>> in_half{};

    template <class Body>
    void for_each(const Body& body) {
      body(in_double);
      if (in_single) body(*in_single);
      if (in_half) body(*in_half);
    }
  };
  /// W W^+ x = b, W x = b, W^+ x = b
  enum class system { squared, twisted, adjoint };

  const quark_pairs& quarks() const { return *action_.quarks; }
  /// Returns g of W_(k+1) - W_k = i g gamma_5.
  double gap(int k) const { return quarks().mu(k + 1) - quarks().mu(k); }

  operator_set make_set(const gauge& links, int w, double distance_from_su3) const {
    const auto has = [this](precision inner) {
      return std::ranges::any_of(action_.solvers, [=](const factor_solver& s) { return s.inner == inner; });
    };
    operator_set set{operators<double>(context_, links, quarks(), w, reconstruct::none)};
    if (has(precision::single) || action_.has_multigrid())
      set.in_single.emplace(context_, links, quarks(), w, Backend::template stored_reals<float>(distance_from_su3));
    if (has(precision::half))
      set.in_half.emplace(context_, links, quarks(), w, Backend::template stored_reals<half>(distance_from_su3));
    return set;
  }
  /// Returns the operators in W_w, in one precision.
  template <class T>
  const operators<T>& of(int w) const {
    const operator_set& set = sets_[quarks().has_mass_shifts() ? static_cast<std::size_t>(w) : 0];
    if constexpr (std::is_same_v<T, double>)
      return set.in_double;
    else if constexpr (std::is_same_v<T, float>)
      return *set.in_single;
    else
      return *set.in_half;
  }

  /// Makes (W_(k+1) - W_k) phi, of the last factor gamma_5 phi.
  void make_source(field& b, const field& phi, int k) const {
    if (quarks().has_mass_shifts() && !quarks().is_last(k)) {
      field product = like(phi);
      complement(k + 1).apply(b, phi);
      complement(k).apply(product, phi);
      return add_multiple(b, {-1.0, 0.0}, product);
    }
    gamma5(b, phi);
    if (!quarks().is_last(k)) multiply_all(b, {0.0, gap(k)});
  }

  /// Returns A^2 + mu^2.
  blocks squared(const blocks& a) const {
    blocks square = Backend::commuting_product(a, a);
    Backend::add_to_diagonal(square, quarks().twisted_mass * quarks().twisted_mass);
    return square;
  }
  /// Gives the operators (A^2 + mu^2)^-1. There must be a clover term.
  void follow_twist(const gauge& links) {
    if (quarks().twisted_mass == 0.0) return;
    blocks heavier = Backend::make_blocks(context_), inverse = Backend::make_blocks(context_);
    for (int w = 0; w < std::ssize(sets_); ++w) {
      if (w > 0) Backend::make_diagonal(heavier, links, quarks().action_of(w));
      Backend::invert(inverse, squared(w == 0 ? *diagonal_ : heavier), context_);
      sets_[static_cast<std::size_t>(w)].for_each([&](auto& one) { one.schur.parts().follow(inverse); });
      if (w == 0) twisted_inverse_.emplace(Backend::commuting_product(*diagonal_, inverse));
    }
  }
  /// Makes A and A^-1 in double, once for the operators of all precisions and for the determinant.
  void make_blocks(const gauge& links) {
    Backend::make_diagonal(*diagonal_, links, action_.quarks->action);
    Backend::invert(*inverse_, *diagonal_, context_);
  }
  /// Lets all operators follow links in the library's own way, if it has one for this action. Otherwise returns false.
  bool followed_at_once(const gauge& links) {
    if constexpr (has_follow_at_once<Backend>) {
      if (!diagonal_ || sets_.size() > 1 || quarks().twisted_mass != 0.0) return false;
      operator_set& set = sets_.front();
      const bool reads_all_in_single = action_.has_multigrid();
      if (!spoilt_) {
        Backend::spoil_unread(*set.in_double.full, true);
        if (set.in_single) Backend::spoil_unread(*set.in_single->full, reads_all_in_single);
        if (set.in_half) Backend::spoil_unread(*set.in_half->full, false);
        spoilt_ = true;
      }
      return Backend::follow_at_once(links, *diagonal_, *inverse_, reads_all_in_single, *set.in_double.full,
                                     set.in_single ? set.in_single->full.get() : nullptr,
                                     set.in_half ? set.in_half->full.get() : nullptr);
    } else {
      return false;
    }
  }
  void make_hierarchy(const gauge& links) {
    using half_system = typename Backend::template schur_wilson_clover<half>;
    const auto relaxes_in_half = [](const factor_solver& solver) {
      return solver.method == factor_solver::kind::multigrid && solver.inner == precision::half;
    };
    std::shared_ptr<const half_system> in_half;
    if (std::ranges::any_of(action_.solvers, relaxes_in_half))
      in_half = std::make_shared<const half_system>(of<half>(0).full, schur_kind::asymmetric);
    hierarchy_.emplace(context_, Backend::shared(links), quarks().action, of<float>(0).full, in_half, quarks().pairs);
  }

  /// Solves W_w x = b.
  void solve_for_action(field& x, const field& b, int factor, int w, solve_count& count) {
    if (solver_of(factor).method != factor_solver::kind::cg) {
      // A renewed hierarchy leaves another error. Solving to a tenth takes one more iteration.
      const bool by_multigrid = solver_of(factor).method == factor_solver::kind::multigrid;
      solve(x, b, factor, w, system::twisted, (by_multigrid ? 0.1 : 1.0) * action_.action_tolerance, count);
      return;
    }
    field y = like(b);
    solve(y, b, factor, w, system::squared, action_.action_tolerance, count);
    twisted_complement(complement(w), quarks().mu(w)).apply_dagger(x, y);
  }

  factor_solver solver_of(int factor) const {
    return action_.solvers.empty() ? factor_solver{} : action_.solvers[static_cast<std::size_t>(factor)];
  }

  /// Returns the earlier solutions of one of the two systems of a force; null if there are no forecasts.
  chronology<field>* past_of(int factor, int number) {
    return past_.empty() || !uses_past_ ? nullptr : &past_[static_cast<std::size_t>(2 * factor + number)];
  }
  /// Makes x a forecast. Returns the applications of W_w to a column.
  long forecast(field& x, const field& b, int w, system what, const chronology<field>& past) const {
    const double mu = quarks().mu(w);
    const twisted_complement op(complement(w), mu);
    return what == system::twisted   ? past.forecast(x, op, b)
           : what == system::adjoint ? past.forecast(x, adjoint_operator(op), b)
                                     : 2 * past.forecast(x, complement_times_adjoint(complement(w), mu), b);
  }

  /// Solves a system with W = W_w by the solver of a factor, from zero or from a forecast. A solve that fails is made
  /// again in double by conjugate gradients. Returns the iterations of the column that took most. Throws error of no
  /// convergence if that fails too.
  int solve(field& x, const field& b, int factor, int w, system what, double tolerance, solve_count& count,
            chronology<field>* past = nullptr) {
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
    const auto start = std::chrono::steady_clock::now();
    const double hierarchy_before = work_of_hierarchy().seconds;
    const auto taken = [&] {
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      count.seconds += seconds - (work_of_hierarchy().seconds - hierarchy_before);
      return static_cast<int>(count.iterations - before);
    };
    zero(x);
    if (past != nullptr && !past->is_empty()) {
      rule.guess_is_zero = false;
      count.applications += forecast(x, b, w, what, *past);
    }
    if (solve_once(x, b, solver_of(factor), w, what, rule, count)) {
      if (past != nullptr) past->keep(x);
      return taken();
    }
    ++count.repeated;
    rule.guess_is_zero = true;
    rule.limit *= 4;
    zero(x);
    const double mu = quarks().mu(w);
    const twisted_complement op(complement(w), mu);
    const solve_report last = what == system::twisted ? cgnr(op, x, b, rule)
                              : what == system::adjoint
                                  ? cgnr(adjoint_operator(op), x, b, rule)
                                  : conjugate_gradients(complement_times_adjoint(complement(w), mu), x, b, rule);
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
  bool solve_once(field& x, const field& b, const factor_solver& solver, int w, system what, const stopping_rule& rule,
                  solve_count& count) {
    const precision inner = solver.inner;
    if (solver.method == factor_solver::kind::multigrid && what != system::squared) {
      const solve_report report = solve_by_multigrid(x, b, w, what, rule);
      note(report, 1, count);
      count.applications += hierarchy_->applications_of(report);
      return report.all_converged();
    }
    const auto by = [&](const auto& low) {
      if (what == system::squared) return solve_squared(low, x, b, inner, w, rule);
      const double mu = quarks().mu(w);
      const twisted_complement outer(complement(w), mu), within(low.schur, mu);
      return what == system::twisted
                 ? by_bicgstab(low, outer, within, x, b, inner, rule)
                 : by_bicgstab(low, adjoint_operator(outer), adjoint_operator(within), x, b, inner, rule);
    };
    const solve_report report = inner == precision::double_  ? by(of<double>(w))
                                : inner == precision::single ? by(of<float>(w))
                                                             : by(of<half>(w));
    note(report, what == system::squared ? 2 : 1, count);
    return report.all_converged();
  }

  static reliable_updates updates_for(precision inner) {
    const mixed_precision_defaults defaults = default_parameters(precision::double_, inner);
    return {.delta = defaults.delta, .longest_interval = defaults.longest_interval};
  }

  /// \param outer, within  one operator, in double and in the precision T of the iteration
  template <class T, class Outer, class Inner>
  static solve_report by_bicgstab(const operators<T>&, const Outer& outer, const Inner& within, field& x,
                                  const field& b, precision inner, const stopping_rule& rule) {
    if constexpr (std::is_same_v<T, double>)
      return bicgstab(outer, x, b, rule);
    else
      return reliable_bicgstab<typename Backend::template field<T>>(outer, within, x, b, rule, updates_for(inner));
  }
  template <class T>
  solve_report solve_squared(const operators<T>& low, field& x, const field& b, precision inner, int w,
                             const stopping_rule& rule) const {
    const double mu = quarks().mu(w);
    const complement_times_adjoint outer(complement(w), mu);
    if constexpr (std::is_same_v<T, double>)
      return conjugate_gradients(outer, x, b, rule);
    else
      return reliable_conjugate_gradients<typename Backend::template field<T>>(
          outer, complement_times_adjoint(low.schur, mu), x, b, rule, updates_for(inner));
  }

  /// Solves by flexible GCR (common/solvers/multigrid_solver_of.hpp) with the cycle of W. For W^+ it is
  /// gamma_5 cycle gamma_5 with the opposite twist, since gamma_5 W^+ gamma_5 is W with -mu.
  solve_report solve_by_multigrid(field& x, const field& b, int w, system what, stopping_rule rule) {
    using single_field = typename Backend::template field<float>;
    rule.check_interval = 1;  // an iteration takes much longer than an answer
    rule.check_lag = 0;
    const reliable_updates updates{.delta = 1e-5, .longest_interval = rule.limit};
    constexpr flexible_gcr_parameters parameters{.restart_length = 10, .corrections = 3};
    const cycle_twist twist = action_.twist_of_cycle(w);
    const auto& cycle = hierarchy_->cycle(what == system::adjoint ? -twist : twist);
    const double mu = quarks().mu(w);
    const twisted_complement outer(complement(w), mu), within(of<float>(w).schur, mu);
    if (what == system::twisted)
      return reliable_flexible_gcr<single_field>(outer, within, x, b, rule, updates, cycle, parameters);
    const any_operator<single_field> rotated(between_gamma5<single_field>{cycle});
    return reliable_flexible_gcr<single_field>(adjoint_operator(outer), adjoint_operator(within), x, b, rule, updates,
                                               rotated, parameters);
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
  std::vector<operator_set> sets_;            ///< in W_1, and in each further W_k if masses are shifted
  std::optional<blocks> diagonal_, inverse_;  ///< A and A^-1 in double, if there is a clover term
  std::optional<blocks> twisted_inverse_;     ///< A (A^2 + mu^2)^-1, if there is a physical twisted mass too
  std::optional<moving_hierarchy<Backend>> hierarchy_;
  std::vector<chronology<field>> past_;  ///< of the systems of forces, two a factor
  bool uses_past_ = true;
  bool spoilt_ = false;  ///< whether blocks that are not read any more are NaN
};

}  // namespace plaquette
