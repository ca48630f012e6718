// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The action of a hybrid Monte Carlo: gauge loops, and pairs of degenerate Wilson or clover quarks.
///
/// M = A - D/2 + i mu gamma_5, mu the twisted mass of the quarks; without it mu = 0. With even sites first and Mhat the
/// asymmetric complement of M, det M^+ M = det(A_oo^2 + mu^2) det Mhat^+ Mhat. The second determinant is split
/// (Hasenbusch, hep-lat/0107019) by operators W_1 = Mhat to W_n, the next a little heavier:
///
///     det W_1^+ W_1 = prod_k det(W_k^+ W_k) / det(W_(k+1)^+ W_(k+1)) det(W_n^+ W_n)
///
///     W_k = Mhat + i mu_k gamma_5,  mu_1 = 0 < mu_2 < ... < mu_n,  or W_k = Mhat at mass m + dm_k, dm_1 = 0 < dm_2 <
///     ...
///
/// With shifted masses A_oo in the first determinant has the mass m: the others are in Mhat alone.
///
/// Each factor has its pseudofermion phi, and a vector X = W_k^-1 (W_(k+1) - W_k) phi. Its action is |phi + X|^2 =
/// |W_k^-1 W_(k+1) phi|^2. Of the last factor X = W_n^-1 gamma_5 phi, and the action is |X|^2.
#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/krylov/precision.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/lattice/loop_action.hpp"

namespace plaquette {

/// Pairs of degenerate quarks.
struct quark_pairs {
  fermion_action action{};
  double twisted_mass = 0.0;  ///< mu of all sites, in the normalisation of M
  /// mu_1 to mu_n of the even sites, ascending, in the normalisation of M; the first is 0.
  std::vector<double> twisted_masses{0.0};
  /// Added to the mass m, one for each factor, ascending; the first is 0. All mu_k are 0 then. Empty: none.
  std::vector<double> mass_shifts{};
  int pairs = 1;  ///< half the number of flavours: each pair has pseudofermions of its own

  int factors() const { return static_cast<int>(twisted_masses.size()); }
  bool is_last(int factor) const { return factor + 1 == factors(); }
  bool has_mass_shifts() const { return !mass_shifts.empty(); }
  /// Returns the action whose complement is in W_k.
  fermion_action action_of(int factor) const {
    fermion_action shifted = action;
    if (has_mass_shifts()) shifted.mass += mass_shifts[static_cast<std::size_t>(factor)];
    return shifted;
  }
  /// Returns whether gamma_5 W_k are normal matrices: they are Hermitian but for a multiple of the identity.
  bool is_normal() const { return twisted_mass == 0.0 && !has_mass_shifts(); }
  double mu(int factor) const { return twisted_masses[static_cast<std::size_t>(factor)]; }
};

/// How the systems of one factor are solved.
struct factor_solver {
  /// cg: conjugate gradients for Q^2 + mu^2; bicgstab, multigrid: two systems with Q + i mu and Q - i mu. The cycle of
  /// multigrid has a twisted mass, too (hybrid_action::twist_of_cycle).
  enum class kind { cg, bicgstab, multigrid };
  kind method = kind::cg;
  /// Of the Krylov space; for multigrid, of the finest lattice in a cycle (double: single). Solutions and residuals are
  /// in double.
  precision inner = precision::double_;

  bool operator==(const factor_solver&) const = default;
};

/// The twisted masses of a multigrid cycle.
struct cycle_twist {
  double coarse = 0.0;  ///< mu of P^+ (M + i mu gamma_5) P on coarse lattices
  double finest = 0.0;  ///< mu of Mhat + i mu gamma_5, which the finest lattice relaxes with

  bool is_zero() const { return coarse == 0.0 && finest == 0.0; }
  cycle_twist operator-() const { return {-coarse, -finest}; }
  auto operator<=>(const cycle_twist&) const = default;
};

/// All that the force, the action and the heat bath of a chain depend on.
struct hybrid_action {
  loop_action gauge{6.0};
  std::optional<quark_pairs> quarks{};
  std::uint64_t seed = 1;
  std::vector<factor_solver> solvers{};                      ///< one a factor
  double cg_force_tolerance = 1e-6, force_tolerance = 1e-7;  ///< of forces by CG, and by others
  double action_tolerance = 1e-11;                           ///< of actions and heat baths
  int solver_limit = 20'000;                                 ///< iterations
  int forecasts = 0;  ///< earlier solutions that a solve of a force begins with; 0: it begins with zero
  /// The smallest twisted masses of cycles. Smaller ones would save less than they take.
  cycle_twist least_twist{.coarse = 0.02, .finest = 0.12};
  bool exact_sums = false;  ///< same bits on any process grid; of the CPU library, with CG in double

  /// Returns the twisted masses of a cycle for W_k. Coarse lattices have the twisted mass of all sites and half of
  /// mu_k, since even sites hold about half of |v|^2 of a column v of P.
  cycle_twist twist_of_cycle(int factor) const {
    const auto unless_small = [](double mu, double least) { return std::abs(mu) >= least ? mu : 0.0; };
    const double mu = quarks->mu(factor);
    return {unless_small(quarks->twisted_mass + 0.5 * mu, least_twist.coarse), unless_small(mu, least_twist.finest)};
  }
  bool has_determinant() const { return quarks && quarks->action.has_clover(); }
  bool has_multigrid() const {
    return std::ranges::any_of(solvers,
                               [](const factor_solver& s) { return s.method == factor_solver::kind::multigrid; });
  }
};

/// Returns the names of the terms that have forces, in the order of their numbers. "gauge" is the first. If there is a
/// clover term, "det" follows: the log of det(A_oo^2 + mu^2). Then each factor has one: "light" is the first, "heavy"
/// the last; "middle", "middle2" and so on stand between.
inline std::vector<std::string> term_names(const hybrid_action& action) {
  std::vector<std::string> names{"gauge"};
  if (!action.quarks) return names;
  if (action.has_determinant()) names.emplace_back("det");
  const int factors = action.quarks->factors();
  for (int k = 0; k < factors; ++k)
    names.push_back(k == 0 ? "light" : k == factors - 1 ? "heavy" : k == 1 ? "middle" : "middle" + std::to_string(k));
  return names;
}

/// Returns the number of the term that is the first factor of the quarks.
inline int first_factor_term(const hybrid_action& action) { return action.has_determinant() ? 2 : 1; }

/// Throws input_error for an action that has no forces.
inline void require_usable(const hybrid_action& action) {
  require_usable(action.gauge);
  if (!action.quarks) return;
  const quark_pairs& quarks = *action.quarks;
  if (!std::isfinite(quarks.twisted_mass)) throw input_error("twisted mass: expected a finite number, found another");
  if (quarks.pairs < 1) throw input_error("quarks: expected at least 2 flavours, found none");
  if (quarks.twisted_masses.empty() || quarks.mu(0) != 0.0)
    throw input_error("twisted masses: expected the first one to be 0, found another");
  if (quarks.has_mass_shifts()) {
    const std::vector<double>& shifts = quarks.mass_shifts;
    const bool ascends = std::ranges::is_sorted(shifts, std::ranges::less_equal());
    if (std::ssize(shifts) != quarks.factors() || shifts[0] != 0.0 || !ascends || !std::isfinite(shifts.back()))
      throw input_error("mass shifts: expected finite numbers above 0, each above the one before");
    if (std::ranges::any_of(quarks.twisted_masses, [](double mu) { return mu != 0.0; }))
      throw input_error("mass shifts: expected no twisted masses that split the determinant too");
  }
  for (int k = 1; k < quarks.factors() && !quarks.has_mass_shifts(); ++k)
    if (!(quarks.mu(k) > quarks.mu(k - 1)) || !std::isfinite(quarks.mu(k)))
      throw input_error("twisted masses: expected finite numbers, each above the one before, found " +
                        std::to_string(quarks.mu(k)) + " after " + std::to_string(quarks.mu(k - 1)));
  if (!action.solvers.empty() && std::ssize(action.solvers) != quarks.factors())
    throw input_error("solvers: expected one for each of the " + std::to_string(quarks.factors()) + " factors, found " +
                      std::to_string(action.solvers.size()));
}

}  // namespace plaquette
