// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/overlap-propagator/overlap_checks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>

#include "common/algebra/largest.hpp"
#include "cpu_ref/solvers/reference_sign.hpp"
#include "miniapps/overlap-propagator/overlap_figures.hpp"
#include "miniapps/shared/drawn_sample.hpp"
#include "miniapps/shared/operator_checks.hpp"

namespace plaquette {

namespace {

/// Of |H v| for a unit vector: a sum of 9 terms, each of some 12 numbers.
double rounding_of_kernel(const kernel_modes& modes) { return 8.0 * 0x1p-53 * modes.highest; }
/// Of inner products of unit vectors that were made orthonormal in double precision, in a basis of hundreds.
double rounding_of_bases(const overlap_stages& stages) {
  return 0x1p-53 * (256.0 + 0.1 * std::sqrt(24.0 * stages.volume()));
}
/// Of a Clenshaw recurrence of n steps, each of some hundred operations.
double rounding_of_sign(const sign_record& record) { return 1e-15 * std::max(record.degree, 100); }

/// Of a rational function: conjugate gradients stop at a residual of 1e-12, and the smallest shift's solution enters
/// H (H^2 + s)^-1 with 1 / lowest.
double rounding_of_rational(double highest, double lowest) { return 2e-12 * highest / lowest; }

spinor_configuration exported(const vectors_handle& x, const lattice_geometry& geometry) {
  spinor_configuration psi(geometry);
  x->get(0, psi);
  return psi;
}

/// sign(H) on lattices of any size: the modes' part by their eigenvalues, the rest by a polynomial with the suite's
/// Wilson operator on the CPU, by another recurrence. One random vector.
void check_against_series(overlap_stages& stages, const sign_choice& choice, const sign_handle& sign,
                          const sign_record& record) {
  app_run& run = stages.run;
  run.begin("comparison with a polynomial of the CPU");
  // A sign function of the CPU takes long compared with one of a GPU: there a cheaper one stands for all.
  const double delta = run.gpu && stages.volume() > 16384.0 ? std::max(choice.delta, 1e-4) : choice.delta;
  const double finer = std::max(1e-13, 0.1 * delta);
  const double off = cpu::sign_off_from_reference(stages.solver, sign, stages.gauge.links, stages.options.shared.action,
                                                  choice.rest_lowest, choice.rest_highest, delta, finer, run.world,
                                                  [&] { return run.control.should_stop(); });
  run.progress.clear();
  run.stop_if_requested();
  stages.checks().add("sign function against a polynomial of the CPU", off, delta + finer + rounding_of_sign(record));
}

/// The same function by another way on the CPU, one random vector.
void check_against_rational(overlap_stages& stages, const kernel_modes& modes, const sign_choice& choice,
                            const sign_handle& sign) {
  app_run& run = stages.run;
  run.begin("comparison with the rational function");
  const vectors_handle x = stages.solver.random_vectors(1);
  const spinor_configuration ours = exported(sign->apply(x, choice.delta), run.geometry);
  spinor_configuration psi = exported(x, run.geometry);
  exchange_ghosts(psi, run.world);
  const double lowest = 0.95 * (modes.values.empty() ? choice.rest_lowest : std::abs(modes.values.front()));
  const spinor_configuration theirs =
      cpu::sign_by_rational_function(psi, stages.gauge.links, stages.options.shared.action, lowest,
                                     1.01 * modes.highest, run.world, [&] { return run.control.should_stop(); });
  run.stop_if_requested();
  const double off = cpu::distance(ours, theirs, run.world);
  run.progress.clear();
  stages.checks().add("sign function against the rational function of the CPU", off,
                      choice.delta + rounding_of_rational(modes.highest, lowest));
}

/// Checks the number of zero modes against the judged e, as a file may say another one.
void check_zero_modes(overlap_stages& stages, const overlap_modes& modes) {
  const auto count = [&](const std::vector<double>& eigenvalues) {
    return std::ranges::count_if(eigenvalues, [](double e) { return std::abs(e) < overlap_mode_search{}.zero; });
  };
  stages.checks().add(
      "modes of D: zero modes are those of e = 0",
      count(modes.plus.eigenvalues) == modes.zero_plus && count(modes.minus.eigenvalues) == modes.zero_minus);
}

/// Each pair is there in both chiralities, with one e.
void check_pairs(overlap_stages& stages, const overlap_modes& modes) {
  const auto of_pairs = [](const chiral_modes<vectors_handle>& of, int zeros) {
    return std::vector<double>(
        of.eigenvalues.begin() + std::clamp<std::ptrdiff_t>(zeros, 0, std::ssize(of.eigenvalues)),
        of.eigenvalues.end());
  };
  const std::vector<double> plus = of_pairs(modes.plus, modes.zero_plus),
                            minus = of_pairs(modes.minus, modes.zero_minus);
  double worst = plus.size() == minus.size() ? 0.0 : 4.0;
  for (std::size_t i = 0; i < std::min(plus.size(), minus.size()); ++i) {
    const double off = std::abs(plus[i] - minus[i]);
    keep_largest(worst, off);
  }
  stages.checks().add("modes of D: pairs of both chiralities have the same e", worst, stages.options.overlap_tolerance);
}

}  // namespace

void check_kernel(overlap_stages& stages) {
  app_run& run = stages.run;
  run.begin("comparison of H with the textbook");
  const vectors_handle x = stages.solver.random_vectors(1);
  const auto check = [&](scaling::number_precision number, precision of_solver) {
    const kernel_application applied = stages.solver.apply_kernel(x, of_solver);
    spinor_configuration found = exported(applied.out, run.geometry);
    for (std::int64_t site = 0; site < run.geometry.local_volume(); ++site) {  // gamma_5 H = D_w
      spinor<double>& s = found(run.geometry.local_coordinate(site));
      for (int spin = 2; spin < spins; ++spin)
        for (int colour = 0; colour < colours; ++colour) s(spin, colour) = -s(spin, colour);
    }
    spinor_configuration input = exported(applied.in, run.geometry);
    exchange_ghosts(input, run.world);
    const scaling::site_sample sample = drawn_sample(run, false, std::string("H, ") + name(of_solver));
    const scaling::difference off = scaling::compare_with_textbook(
        found, input, stages.gauge.links, stages.options.shared.action,
        {scaling::operator_kind::wilson, scaling::site_layout::full, {}}, sample, run.world);
    const scaling::difference most = scaling::tolerance_of(
        {scaling::operator_kind::wilson, scaling::site_layout::full, number, stored_links(run, stages.gauge), 1},
        stages.gauge.distance_from_su3);
    const char* called = name(of_solver);
    stages.checks().add(fmt::format("H against the textbook, {}", called), off.norm, most.norm);
    stages.checks().add(fmt::format("H against the textbook, {}, worst site", called), off.worst_site, most.worst_site);
  };
  check(scaling::number_precision::double_precision, precision::double_);
  check(scaling::number_precision::single_precision, precision::single);
  if (stages.options.sign.precision == sign_precision::half)
    check(scaling::number_precision::half_precision, precision::half);
}

bool check_modes_of_h(overlap_stages& stages, const kernel_modes& modes) {
  verification& checks = stages.checks();
  const overlap_options& options = stages.options;
  const int lacking = options.modes - static_cast<int>(modes.values.size());
  // One more than --modes, sought if the range is fixed by hand, may be missing.
  const bool one_more = search_of(options).modes > options.modes;
  const bool lacks_some = lacking > 0 || (!modes.complete && !one_more);
  if (lacks_some) checks.add("modes of H that were not found", std::max(1, lacking), 0.0);
  if (modes.values.empty()) return !lacks_some;
  // A mode is held to its residual as the search, or the file, has it: rounding alone moves that.
  const std::vector<double> found = stages.solver.residuals(modes);
  worst_of_several worst;
  for (std::size_t i = 0; i < found.size(); ++i)
    worst.add(found[i], std::min(options.mode_tolerance, 3.0 * modes.residuals[i] + rounding_of_kernel(modes)));
  checks.add("modes of H: |H v - lambda v|", worst.value, worst.tolerance);
  checks.add("modes of H: orthonormal", stages.solver.distance_from_orthonormal(modes.vectors),
             rounding_of_bases(stages));
  return !lacks_some;
}

void check_range(overlap_stages& stages, const kernel_modes& modes, const sign_choice& choice) {
  if (choice.is_tolerated()) {
    if (stages.is_root())
      fmt::print(
          "remark     |H| outside {} modes reaches from {:.6g} to {:.6g}, beyond --range {:g},{:g}: the sign "
          "function errs by {:.2g} there\n",
          modes.values.size(), choice.smallest, choice.largest, choice.options.lowest, choice.options.highest,
          choice.error_beyond);
    return;
  }
  stages.checks().add("the sign function's range holds the largest |H|", choice.holds_largest);
  stages.checks().add("the sign function's range holds the smallest |H| outside the modes", choice.holds_smallest);
}

sign_handle calibrate_sign(overlap_stages& stages, const kernel_modes& modes, const sign_choice& choice,
                           const sign_handle& sign, sign_record& r) {
  app_run& run = stages.run;
  overlap_solver& solver = stages.solver;
  const double delta = choice.delta;
  const auto [columns, few, of_calibration] = measured_columns_of(stages.volume());
  const vectors_handle x = solver.random_vectors(columns);
  const auto first = [&](const vectors_handle& of, int n) { return solver.columns(of, 0, n); };
  if (run.gpu)  // launches are tuned, memory is there
    for (const int n : {of_calibration, columns})
      for (const sign_precision precision : {sign_precision::as_double, sign->options().precision})
        sign->apply(first(x, n), 0.1, precision);
  const vectors_handle y = sign->apply(first(x, few), delta, sign_precision::as_double, &r.seconds_double);
  run.stop_if_requested();
  // A polynomial of its own, whatever was fixed by hand.
  const sign_handle finer = solver.sign(modes, {.lowest = choice.rest_lowest, .highest = choice.rest_highest});
  const vectors_handle exact = finer->apply(first(x, few), std::max(1e-13, 1e-3 * delta), sign_precision::as_double);
  run.stop_if_requested();
  const sign_handle used = solver.calibrated(
      sign, {first(x, of_calibration), first(exact, of_calibration), first(y, of_calibration)}, delta);
  run.stop_if_requested();
  const vectors_handle z = used->apply(x, delta, used->options().precision, &r.seconds_mixed);
  r.columns_double = few;
  r.columns = columns;
  r.seconds_double /= few;
  r.seconds_mixed /= columns;
  r.error_double = solver.distance(y, exact);
  r.error = solver.distance(first(z, few), exact);
  run.stop_if_requested();
  r.square_error = solver.distance(sign->apply(y, delta, sign_precision::as_double), first(x, few));
  run.stop_if_requested();
  const overlap_algebra algebra = solver.algebra(used, first(x, of_calibration), delta, first(z, of_calibration));
  r.ginsparg_wilson = algebra.ginsparg_wilson;
  r.normality = algebra.normality;
  return used;
}

void check_sign(overlap_stages& stages, const kernel_modes& modes, const sign_choice& choice, const sign_handle& sign,
                const sign_record& r) {
  verification& checks = stages.checks();
  const double delta = choice.delta, rounding = rounding_of_sign(r);
  checks.add("sign function: error on random vectors, double", r.error_double, delta + rounding);
  checks.add("sign function: error on random vectors, as used", r.error, delta + rounding);
  // (s + d)^2 = 1 + s d + d s + d^2, |d| <= delta.
  const double of_square = (2.0 + delta) * delta;
  checks.add("sign function: sign^2 = 1", r.square_error, of_square + 2.0 * rounding);
  checks.add("Ginsparg-Wilson relation", r.ginsparg_wilson, 2.0 * of_square + 4.0 * rounding);
  checks.add("D is normal", r.normality, 3.0 * of_square + 6.0 * rounding);
  check_against_series(stages, choice, sign, r);
  if (stages.volume() <= 16384.0 || stages.options.shared.check) check_against_rational(stages, modes, choice, sign);
  stages.run.stop_if_requested();
}

bool check_modes_of_d(overlap_stages& stages, const sign_choice& choice, const sign_handle& sign, overlap_modes& modes,
                      bool& open) {
  verification& checks = stages.checks();
  const overlap_options& options = stages.options;
  const int searched = modes.searched, found = static_cast<int>(modes.of(searched).eigenvalues.size());
  if (found < options.overlap_modes || !modes.complete) {
    open = true;
    checks.add("modes of D that were not found", std::max(1, options.overlap_modes - found), 0.0);
    return false;
  }
  const double delta = accuracy_of_residuals(options.overlap_tolerance),
               bound = 0.998 * modes.of(searched).eigenvalues.back(), of_probe = accuracy_of_probe(bound);
  // If all that were found are zero modes, there may be more.
  open = (searched > 0 ? modes.zero_plus : modes.zero_minus) == found;
  // Modes but zero modes have partners as far as sign^2 = 1: if that holds, one chirality tells of both.
  const double size = 6.0 * stages.volume();
  const double steps =
      open ? 0.0 : 1.3 * (steps_to_find(bound, size, false) + steps_to_find(bound, size, !choice.is_by_hand));
  const kernel_speed& speed = stages.speed();
  const auto all = static_cast<double>(modes.plus.eigenvalues.size() + modes.minus.eigenvalues.size());
  const double predicted = 2.0 * all * sign->polynomial(delta).degree() * speed.many +
                           2.0 * steps * sign->polynomial(of_probe).degree() *
                               (sign->is_single_near_modes(of_probe) ? speed.single_one : speed.one);
  std::array<double, 2> lowest{4.0, 4.0};
  bool settled = true;
  stages.stage(judgement_of_modes, predicted, [&] {
    const int first = searched > 0 ? +1 : -1;
    for (const int chi : {first, -first}) {
      stages.run.stop_if_requested();
      chiral_modes<vectors_handle>& of = modes.of(chi);
      of.residuals = stages.solver.residuals(sign, chi, of, delta);
      if (open) continue;
      const complement_probe rest =
          stages.solver.probe_complement(sign, chi, of.vectors, bound, chi != first && !choice.is_by_hand);
      lowest[chi > 0 ? 0 : 1] = rest.lowest;
      settled = settled && (rest.settled || rest.lowest < bound);
    }
  });
  worst_of_several of_searched, of_partners, orthonormal;
  for (const int chi : {+1, -1}) {
    const chiral_modes<vectors_handle>& of = modes.of(chi);
    for (std::size_t i = 0; i < of.eigenvalues.size(); ++i)
      if (chi == searched)
        of_searched.add(of.residuals[i], options.overlap_tolerance);
      else
        of_partners.add(of.residuals[i], tolerance_of_partner(of.eigenvalues[i], options.overlap_tolerance,
                                                              choice.is_by_hand ? choice.delta : 0.0));
    orthonormal.add(stages.solver.distance_from_orthonormal(of.vectors), rounding_of_bases(stages));
  }
  checks.add("modes of D: |D^+ D v - e v|", of_searched.value, of_searched.tolerance);
  if (of_partners.any)
    checks.add("modes of D, partners in the other chirality: |D^+ D v - e v|", of_partners.value,
               of_partners.tolerance);
  checks.add("modes of D: orthonormal", orthonormal.value, orthonormal.tolerance);
  checks.add("modes of D: more than zero modes alone (or the index is open: more --overlap-modes)", !open);
  if (!open) {
    checks.add("modes of D: random vectors off them find none below the last: last / lowest",
               bound / std::min(lowest[0], lowest[1]), 1.0);
    checks.add("modes of D: the search for such came to its end", settled);
  }
  // Zero modes of both chiralities can cancel, but only a symmetry keeps them at zero.
  if (stages.gauge.plaquette.average < 1.0 - 1e-12)
    checks.add("modes of D: zero modes of one chirality only", modes.zero_plus == 0 || modes.zero_minus == 0);
  check_zero_modes(stages, modes);
  if (!open) check_pairs(stages, modes);
  return true;
}

std::vector<mass_record> check_solutions(overlap_stages& stages, const sign_choice& choice, const sign_handle& sign,
                                         const vectors_handle& sources, const overlap_solutions& solutions) {
  const overlap_options& options = stages.options;
  const overlap_solve_report& report = solutions.report;
  const double tolerance = options.tolerance();
  std::vector<mass_record> masses;
  double error = 0.0, delta_of_error = 1.0;
  stages.stage("verification", stages.expected_verification(*sign), [&] {
    spinor_configuration column(stages.run.geometry);
    for (std::size_t i = 0; i < report.masses.size(); ++i) {
      stages.run.stop_if_requested();
      mass_record m{.solve = report.masses[i]};
      const vectors_handle& x = solutions.x[i];
      m.bits = bits_of(x, column);
      m.judging_delta = stages.solver.judging_delta(sources, x, m.solve.mass, tolerance);
      m.judged = stages.solver.judge(sign, sources, x, m.solve.mass, m.judging_delta, choice.is_coarse);
      m.mass_of_others = 0.5 * m.solve.mass / options.rho;
      m.is_solved = m.solve.converged && m.judged.residual <= tolerance;
      masses.push_back(m);
    }
    // Low precision errs most along low modes of D, which the lightest mass has most of.
    stages.run.stop_if_requested();
    delta_of_error = masses.front().judging_delta;
    error = stages.solver.judging_error(sign, stages.solver.columns(solutions.x.front(), 0, 1), delta_of_error);
  });
  const bool is_polynomial = sign->options().method == sign_method::polynomial;
  const double rounding = rounding_of_sign(describe(*sign, delta_of_error)) +
                          (is_polynomial ? 0.0 : rounding_of_rational(sign->highest(), sign->lowest()));
  stages.checks().add("sign function that judges solutions: error on one", error, 1.1 * delta_of_error + rounding);
  for (const mass_record& m : masses) {
    stages.checks().add(fmt::format("residual of D({:g})", m.solve.mass), m.judged.residual, tolerance);
    if (m.solve.mass > 0.0)
      stages.checks().add(fmt::format("GMOR at mass {:g}", m.solve.mass), m.judged.gmor, m.judged.gmor_tolerance);
  }
  return masses;
}

void add_bits(bit_sum& sum, const spinor_configuration& column) {
  const std::int64_t sites = column.geometry().local_volume(), length = column.geometry().local()[0];
  std::vector<bit_sum> of_rows(static_cast<std::size_t>(sites / length));
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < sites / length; ++row)
    of_rows[static_cast<std::size_t>(row)].add(
        std::span(&column.at_site(row * length), static_cast<std::size_t>(length)));
  sum.add(std::span<const bit_sum>(of_rows));
}

bit_sum bits_of(const vectors_handle& x, spinor_configuration& column) {
  bit_sum sum;
  for (int c = 0; c < x->count(); ++c) {
    x->get(c, column);
    add_bits(sum, column);
  }
  return sum;
}
bit_sum bits_of(const std::vector<spinor_configuration>& columns) {
  bit_sum sum;
  for (const spinor_configuration& column : columns) add_bits(sum, column);
  return sum;
}

}  // namespace plaquette
