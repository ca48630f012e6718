// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/mixed-precision-solver/solver_checks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "miniapps/shared/operator_checks.hpp"
#include "miniapps/shared/spinor_difference.hpp"

namespace plaquette {

namespace {

/// How bad a value is against its tolerance; NaN is the worst.
double badness(double value, double tolerance) {
  if (value == 0.0 && tolerance >= 0.0) return 0.0;
  const double ratio = value / tolerance;
  return std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
}

double disagreement(const column_result& c) { return std::abs(c.device - c.reference); }

double allowed_disagreement(const column_result& c) { return 2.0 * (c.rounding + 4.0 * c.unit_roundoff); }

}  // namespace

scaling::number_precision in_words_of_figures(precision p) {
  using enum scaling::number_precision;
  return p == precision::half     ? half_precision
         : p == precision::single ? single_precision
         : p == precision::pairs  ? pairs_precision
                                  : double_precision;
}

namespace {

/// M of the residual or of the Krylov space, on all columns and the full lattice.
scaling::operator_case full_operator(const solver_options& options, bool inner) {
  using enum scaling::operator_kind;
  return {options.shared.action.has_clover() ? clover : wilson, scaling::site_layout::full,
          in_words_of_figures(inner ? options.inner : options.outer), inner ? options.inner_links : options.links,
          options.batch_size()};
}

std::string name_of_operator(bool inner, bool dagger) {
  return std::string(dagger ? "adjoint " : "") + (inner ? "inner operator" : "operator");
}

/// Visits M and M^+ of the residual, and then of the Krylov space if it has other operators: visit(inner, dagger).
template <class Visit>
void for_each_operator(const solver_options& options, const std::function<void()>& begin_each, Visit&& visit) {
  const bool has_inner = options.inner != options.outer || options.inner_links != options.links;
  for (const bool inner : {false, true})
    for (const bool dagger : {false, true}) {
      if (inner && !has_inner) continue;
      if (begin_each) begin_each();
      visit(inner, dagger);
    }
}

}  // namespace

void check_operators(verification& checks, const applied_operators& applied, const solver_options& options,
                     const gauge_configuration& links, double distance_from_su3, const communicator& comm,
                     const site_drawer& draw, const std::function<void()>& begin_each) {
  for_each_operator(options, begin_each, [&](bool inner, bool dagger) {
    const scaling::weighed_sums sums = applied(inner, dagger);
    const scaling::operator_case c = full_operator(options, inner);
    const scaling::site_sample sample = draw(name_of_operator(inner, dagger));
    const scaling::difference found =
        scaling::compare_with_textbook(sums.out, sums.in, links, options.shared.action,
                                       {c.kind, c.layout, options.preconditioning, dagger}, sample, comm);
    const scaling::difference allowed = scaling::tolerance_of(c, distance_from_su3);
    const std::string name = name_of_operator(inner, dagger) + " against the textbook";
    checks.add(name, found.norm, allowed.norm);
    checks.add(name + ", worst site", found.worst_site, allowed.worst_site);
  });
}

void check_against_cpu(verification& checks, const applied_operators& gpu, const applied_operators& cpu,
                       const solver_options& options, double distance_from_su3, const communicator& comm,
                       const std::function<void()>& begin_each) {
  for_each_operator(options, begin_each, [&](bool inner, bool dagger) {
    const spinor_configuration found = gpu(inner, dagger).out, expected = cpu(inner, dagger).out;
    checks.add(name_of_operator(inner, dagger) + ", GPU against CPU", relative_difference(found, expected, comm),
               2.0 * scaling::tolerance_of(full_operator(options, inner), distance_from_su3).norm);
  });
}

void check_columns(verification& checks, const std::vector<column_result>& columns) {
  const auto by_residual = [](const column_result& c) { return badness(c.reference, c.tolerance); };
  const auto by_disagreement = [](const column_result& c) { return badness(disagreement(c), allowed_disagreement(c)); };
  column_result nothing;
  nothing.reference = std::nan("");
  const auto worst = std::ranges::max_element(columns, {}, by_residual);
  const column_result& residual = columns.empty() ? nothing : *worst;
  checks.add("residual of the full system", residual.reference, residual.tolerance);
  const auto apart = std::ranges::max_element(columns, {}, by_disagreement);
  const column_result& agreement = columns.empty() ? nothing : *apart;
  checks.add("device and reference residual agree", disagreement(agreement), allowed_disagreement(agreement));
}

std::string remark_on_rebuilt_links(const std::vector<column_result>& columns, int stored_reals,
                                    double distance_from_su3) {
  const bool agree =
      std::ranges::all_of(columns, [](const column_result& c) { return disagreement(c) <= allowed_disagreement(c); });
  constexpr double rounding_of_doubles = 1024.0 * 0x1p-53;
  if (agree || stored_reals == 18 || distance_from_su3 <= rounding_of_doubles) return {};
  return fmt::format(
      "the links are in SU(3) to {:.1e} only, and those rebuilt from {} reals differ from them by as much: the device "
      "has solved another system. --reconstruct 18 solves this one (--inner-reconstruct is free)",
      distance_from_su3, stored_reals);
}

std::string remark_on_multigrid(const std::vector<column_result>& columns) {
  const auto slow = std::ranges::count_if(columns, [](const column_result& c) {
    constexpr int worth_a_setup = 500;
    return c.why.find(" gave way to cgn") != std::string::npos && c.iterations > worth_a_setup;
  });
  if (slow == 0) return {};
  return fmt::format(
      "{} of {} right-hand sides needed CG on the normal equations. auto does not try multigrid, whose setup takes as "
      "long as some twenty solves and would be timed as one: plaquette-multigrid solves this system and times both",
      slow, columns.size());
}

namespace {

constexpr double rounding_of_a_contraction = 128.0 * 0x1p-53;

}  // namespace

std::string remark_on_exceptional(const std::vector<double>& pion, int source_time) {
  const auto largest = std::ranges::max_element(pion);
  const auto time = static_cast<int>(largest - pion.begin());
  if (largest == pion.end() || time == source_time) return {};
  return fmt::format(
      "the configuration looks exceptional at this mass: the pion is {:.3g} at time {} and {:.3g} at its source, time "
      "{}. "
      "A mode of M near zero outweighs the others; a heavier quark or plaquette-multigrid, which finds such modes, "
      "helps",
      *largest, time, pion.at(static_cast<std::size_t>(source_time)), source_time);
}

void check_rho(verification& checks, const std::vector<double>& rho, const std::vector<double>& pion) {
  bool is_bounded = rho.size() == pion.size();
  for (std::size_t t = 0; is_bounded && t < rho.size(); ++t)
    is_bounded = std::abs(rho[t]) <= (1.0 + 2.0 * rounding_of_a_contraction) * pion[t];
  checks.add("rho correlator is at most the pion's", is_bounded);
}

}  // namespace plaquette
