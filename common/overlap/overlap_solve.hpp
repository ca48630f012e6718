// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// D(m) x = b for many masses at once: deflated multi-shift CG on D^+ D in sectors of definite chirality, with a sign
/// function that becomes cheaper as the residual falls. (Cundy, van den Eshof, Frommer, Krieg, Lippert, Schaefer,
/// hep-lat/0502007; Alexandru, Pelissier, Gamari, Lee 2011)
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/krylov/flexible_gcr.hpp"
#include "common/krylov/multishift_cg.hpp"
#include "common/overlap/overlap_deflation.hpp"
#include "common/overlap/overlap_mode_search.hpp"
#include "common/overlap/overlap_solve_rule.hpp"

namespace plaquette {

namespace detail {

/// D^+ D with modes projected off, at an accuracy that may change between applications.
template <class Sign>
struct deflated_square {
  using Field = typename Sign::Field;
  const overlap_operator<Sign>& d;
  const overlap_deflation<Field>& deflation;
  const double& delta;
  void apply(Field& out, const Field& in) const {
    d.apply_square_in_sectors(out, in, delta);
    deflation.project(out);
  }
  void apply_dagger(Field& out, const Field& in) const { apply(out, in); }
};

}  // namespace detail

/// x[i] = D(masses[i])^-1 b for all masses and columns.
///
/// D(m)^+ D(m) = m^2 + (rho^2 - m^2/4) D^+ D, so that masses are shifts sigma = m^2 / (rho^2 - m^2/4) of D^+ D; and
/// D(m)^-1 = D(m)^+ (D(m)^+ D(m))^-1. What the multi-shift solve leaves, judged by the accurate sign function, is
/// solved for again, mass by mass. Collective.
/// \param b       columns of definite chirality (gamma_5 b = b or -b, each)
/// \param masses  ascending, positive
template <class Sign>
overlap_solve_report solve_overlap(const overlap_operator<Sign>& d, const overlap_mode_set<typename Sign::Field>& modes,
                                   std::vector<typename Sign::Field>& x, const typename Sign::Field& b,
                                   const std::vector<double>& masses, const overlap_solve_rule& rule) {
  using Field = typename Sign::Field;
  const double rho = d.rho();
  const overlap_deflation<Field> deflation(modes);
  std::vector<double> sigma;
  for (const double m : masses) sigma.push_back(m * m / (rho * rho - 0.25 * m * m));
  const std::vector<double> b_norms = detail::square_roots(host_values(norm2(b)));
  const int columns = b.columns();
  overlap_solve_report report;

  // What is solved has eigenvalues from `least_eigenvalue` on: x is longer than b by its inverse, and errors of the
  // sign function count by |x|. Measured where it was 0.025.
  double least_eigenvalue = 1.0;
  for (const int chi : {+1, -1})
    if (!modes.of(chi).eigenvalues.empty())
      least_eigenvalue = std::min(least_eigenvalue, modes.of(chi).eigenvalues.back());
  if (modes.plus.eigenvalues.empty() && modes.minus.eigenvalues.empty()) least_eigenvalue = 2.5e-3;
  least_eigenvalue += sigma.front();
  const double relaxation = rule.relaxation * std::min(1.0, least_eigenvalue / 0.025);
  const double finest = std::max(1e-13, 0.1 * rule.fixed_delta),
               coarsest = std::clamp(rule.coarsest * least_eigenvalue, finest, 1e-2);

  double delta = rule.fixed_delta, zeta = 1.0;
  const detail::deflated_square<Sign> square{d, deflation, delta};
  /// (D^+ D + sigmas) y = r off the modes, to a tolerance relative to |b|.
  const auto solve_off_modes = [&](std::vector<Field>& y, const Field& r, std::vector<double> sigmas,
                                   const std::vector<double>& relative, double start, bool first) {
    stopping_rule cg;
    cg.column_tolerances = relative;
    cg.limit = rule.limit;
    cg.interrupted = rule.interrupted;
    cg.stagnation_window = 300;
    double least = 1.0;
    for (const double t : relative) least = std::min(least, t);
    // The goal is least, relative to the right-hand side: the sign function may err by f least sqrt(sum 1 / r_j^2).
    const auto set_accuracy = [&](double residual) {
      if (rule.scheme == overlap_scheme::fixed) {
        delta = rule.fixed_delta;
      } else if (rule.scheme == overlap_scheme::defect) {
        delta = rule.cheap_delta;
      } else {
        zeta += 1.0 / (residual * residual);
        delta = detail::rounded_down(std::clamp(relaxation * least * std::sqrt(zeta), finest, coarsest));
      }
    };
    zeta = 0.0;
    set_accuracy(1.0);
    cg.progress = [&](int iteration, double worst) {
      if (first) {
        report.history.push_back(worst * start);
        report.deltas.push_back(delta);
      }
      if (worst > 0.0 && std::isfinite(worst)) set_accuracy(worst);
      if (rule.progress) rule.progress(iteration, worst * start);
    };
    return multishift_cg(square, y, r, sigmas, cg);
  };

  Field b_high = like(b);
  copy(b_high, b);
  deflation.project(b_high);
  std::vector<Field> y;
  for (std::size_t i = 0; i < masses.size(); ++i) y.push_back(like(b));
  // Modes of finite residuals leave a residual, which corrections take off. The first solve stops there.
  std::vector<double> first_tolerances(static_cast<std::size_t>(columns), 0.5 * rule.tolerance);
  if (rule.scheme == overlap_scheme::defect) {
    first_tolerances.assign(first_tolerances.size(), rule.inner_tolerance);
  } else if (rule.scheme == overlap_scheme::relaxed) {
    const std::vector<double> left = deflation.residuals_left(b, sigma.front());
    for (std::size_t n = 0; n < left.size(); ++n)
      if (b_norms[n] > 0.0 && left[n] > 2.0 * rule.tolerance * b_norms[n])
        first_tolerances[n] = std::clamp(0.3 * left[n] / b_norms[n], first_tolerances[n], 0.1);
  }
  const multishift_report solved = solve_off_modes(y, b_high, sigma, first_tolerances, 1.0, true);

  for (std::size_t i = 0; i < masses.size(); ++i) {
    overlap_mass_report mass{.mass = masses[i]};
    for (const column_report& column : solved[i].columns) {
      mass.iterations = std::max(mass.iterations, column.iterations);
      mass.iterated.push_back(column.residual);
    }
    deflation.add_solution(y[i], b, sigma[i]);
    const double weight = rho * rho - 0.25 * masses[i] * masses[i];
    // s = D(m)^+ y, but for factors: y + chi sign(H) y. It gives the solution, and the residual of
    // (D^+ D + sigma) y = b. Corrections of y are added to it.
    Field s = like(b), rotated = like(b), r = like(b), change = like(b);
    gamma5(rotated, b);
    const auto chi = ratio(dot(b, rotated), norm2(b));
    copy(change, y[i]);
    zero(s);
    for (mass.corrections = 0;; ++mass.corrections) {
      // The error of the sign function is relative to |change|, the residual to |b|.
      const std::vector<double> lengths = detail::square_roots(host_values(norm2(change)));
      double longest = 1e-8;
      for (std::size_t n = 0; n < lengths.size(); ++n)
        if (b_norms[n] > 0.0) longest = std::max(longest, lengths[n] / b_norms[n]);
      d.sign().apply(rotated, change, std::clamp(0.05 * rule.tolerance / longest, 1e-13, coarsest));
      axpy(s, chi, rotated);
      axpy(s, uniform_scalars(s, 1.0), change);
      // r = b - P (D^+ D y) - sigma y, P_chi = (1 + chi gamma_5) / 2 of 2 s
      gamma5(rotated, s);
      copy(r, b);
      axpy(r, uniform_scalars(r, -1.0), s);
      axpy(r, -chi, rotated);
      axpy(r, uniform_scalars(r, -sigma[i]), y[i]);
      const std::vector<double> norms = detail::square_roots(host_values(norm2(r)));
      mass.residual.clear();
      double worst = 0.0;
      for (int n = 0; n < columns; ++n) {
        const auto k = static_cast<std::size_t>(n);
        mass.residual.push_back(b_norms[k] > 0.0 ? norms[k] / b_norms[k] : 0.0);
        keep_largest(worst, mass.residual.back());
      }
      mass.worst.push_back(worst);
      mass.converged = worst <= 0.9 * rule.tolerance;  // false for NaN
      const bool stops = rule.interrupted && rule.interrupted();
      if (mass.converged || mass.corrections == rule.corrections || stops || !std::isfinite(worst)) break;
      // What lies along the modes takes no solve, so the goal is for the rest.
      Field r_high = like(r);
      copy(r_high, r);
      deflation.project(r_high);
      const std::vector<double> lengths_of_rest = detail::square_roots(host_values(norm2(r_high)));
      const double least_relative = rule.scheme == overlap_scheme::defect ? rule.inner_tolerance : 1e-4;
      std::vector<double> relative;
      double rest = 0.0;
      for (std::size_t n = 0; n < lengths_of_rest.size(); ++n) {
        const double goal = 0.3 * rule.tolerance * b_norms[n];
        relative.push_back(std::clamp(goal / std::max(lengths_of_rest[n], 1e-300), least_relative, 0.5));
        if (b_norms[n] > 0.0) rest = std::max(rest, lengths_of_rest[n] / b_norms[n]);
      }
      std::vector<Field> correction{like(b)};
      solve_off_modes(correction, r_high, {sigma[i]}, relative, rest, false);
      copy(change, correction[0]);
      deflation.add_solution(change, r, sigma[i]);
      axpy(y[i], uniform_scalars(y[i], 1.0), change);
    }
    // x = D(m)^+ y / weight = ((rho - m/2) D^+ y + m y) / weight
    copy(x[i], s);
    scale(x[i], uniform_scalars(s, (rho - 0.5 * masses[i]) / weight));
    axpy(x[i], uniform_scalars(s, masses[i] / weight), y[i]);
    report.masses.push_back(mass);
  }
  return report;
}

namespace detail {

/// D(m) with the sign function as it is.
template <class Sign>
struct massive_overlap {
  using Field = typename Sign::Field;
  const overlap_operator<Sign>& d;
  double mass, delta;
  void apply(Field& out, const Field& in) const { d.apply_massive(out, in, mass, delta); }
};

/// True where every number of every column is finite.
template <class Field>
bool is_finite(const Field& x) {
  return std::ranges::all_of(host_values(norm2(x)), [](const complex<double>& n) { return std::isfinite(n.re); });
}

/// About D(m)^-1: solve_overlap to a loose tolerance, for both chiralities of each column.
template <class Sign>
struct approximate_inverse {
  using Field = typename Sign::Field;
  const overlap_operator<Sign>& d;
  const overlap_mode_set<Field>& modes;
  double mass;
  overlap_solve_rule rule;
  void apply(Field& out, const Field& in) const {
    const int n = in.columns();
    Field both = like(in, 2 * n);
    Field plus = view(both, 0, n), minus = view(both, n, n), rotated = like(in);
    gamma5(rotated, in);
    copy(plus, in);
    axpy(plus, uniform_scalars(plus, 1.0), rotated);
    scale(plus, uniform_scalars(plus, 0.5));
    copy(minus, in);
    axpy(minus, uniform_scalars(minus, -1.0), plus);
    std::vector<Field> x{like(both)};
    solve_overlap(d, modes, x, both, {mass}, rule);
    const Field of_plus = view(x[0], 0, n), of_minus = view(x[0], n, n);
    copy(out, of_plus);
    axpy(out, uniform_scalars(out, 1.0), of_minus);
    if (!is_finite(out)) copy(out, in);  // where the short cuts break down, the residual is a direction too
  }
};

}  // namespace detail

/// The same for a sign function whose square is not 1 to the tolerance: a coarse one, fixed by hand. D(m) is applied as
/// it is, in flexible GCR; solve_overlap, whose short cuts hold to the error of the sign function, gives the start and
/// the directions. Residuals of the report are those of D(m). Collective.
/// \param delta  accuracy with which that sign function itself is computed
template <class Sign>
overlap_solve_report solve_overlap_as_given(const overlap_operator<Sign>& d,
                                            const overlap_mode_set<typename Sign::Field>& modes,
                                            std::vector<typename Sign::Field>& x, const typename Sign::Field& b,
                                            const std::vector<double>& masses, const overlap_solve_rule& rule,
                                            double delta) {
  using Field = typename Sign::Field;
  overlap_solve_rule start = rule;
  start.corrections = 0;
  overlap_solve_report report = solve_overlap(d, modes, x, b, masses, start);
  overlap_solve_rule loose = rule;
  loose.tolerance = rule.inner_tolerance;
  loose.corrections = 0;
  loose.progress = nullptr;
  const std::vector<double> b_norms = detail::square_roots(host_values(norm2(b)));
  for (std::size_t i = 0; i < masses.size(); ++i) {
    overlap_mass_report& mass = report.masses[i];
    const detail::massive_overlap<Sign> a{d, masses[i], delta};
    const detail::approximate_inverse<Sign> inverse{d, modes, masses[i], loose};
    stopping_rule gcr;
    gcr.tolerance = 0.5 * rule.tolerance;
    gcr.limit = 200;
    gcr.interrupted = rule.interrupted;
    if (rule.progress) gcr.progress = [&rule](int iteration, double worst) { rule.progress(iteration, worst); };
    if (!detail::is_finite(x[i])) zero(x[i]);
    const solve_report solved = flexible_gcr(a, x[i], b, gcr, inverse, {.restart_length = 12});
    mass.corrections = 0;
    mass.iterated.clear();
    for (const column_report& column : solved.columns) {
      mass.corrections = std::max(mass.corrections, column.iterations);
      mass.iterated.push_back(column.residual);
    }
    Field r = like(b);
    residual(r, a, x[i], b);
    const std::vector<double> norms = detail::square_roots(host_values(norm2(r)));
    mass.residual.clear();
    double worst = 0.0;
    for (std::size_t n = 0; n < norms.size(); ++n) {
      mass.residual.push_back(b_norms[n] > 0.0 ? norms[n] / b_norms[n] : 0.0);
      keep_largest(worst, mass.residual.back());
    }
    mass.worst.push_back(worst);
    mass.converged = worst <= 0.9 * rule.tolerance;
  }
  return report;
}

}  // namespace plaquette
