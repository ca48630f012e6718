// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/overlap-propagator/overlap_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "common/algebra/largest.hpp"

namespace plaquette {

namespace {

double largest(const std::vector<double>& numbers) {
  double worst = 0.0;
  for (const double x : numbers) keep_largest(worst, x);
  return worst;
}

/// Hours of Alexandru et al. 2011 at 24^3 x 64: 32 M2070, and 256 cores of a Cray XT-5.
struct paper_hours {
  const char* stage;
  double gpus, cores;
};
constexpr std::array<paper_hours, 3> paper{
    {{"modes of H", 0.27, 0.60}, {"modes of D", 2.7, 10.6}, {"propagators", 0.52, 2.3}}};

}  // namespace

sign_record describe(const sign_operator& sign, double delta) {
  sign_record r;
  r.method = name(sign.options().method);
  r.lowest = sign.lowest();
  r.highest = sign.highest();
  if (sign.options().method == sign_method::polynomial) {
    const minimax_polynomial& p = sign.polynomial(delta);
    r.degree = p.degree();
    r.delta = p.delta;
    r.coefficients = p.coefficients;
  } else {
    const zolotarev_function f = sign.rational(delta);
    r.poles = f.poles();
    r.delta = f.delta;
    r.shifts = f.shifts;
    r.weights = f.weights;
  }
  return r;
}

json_document to_json(const kernel_modes& r) {
  return {{"eigenvalues", r.values}, {"residuals", r.residuals}, {"bound", r.highest},        {"sought", r.sought},
          {"complete", r.complete},  {"window", r.window},       {"filter_degree", r.degree}, {"block", r.block},
          {"kept", r.keep},          {"search_space", r.most},   {"cycles", r.cycles},        {"widened", r.widened},
          {"raised", r.raised},      {"probing", r.probing}};
}

json_document to_json(const sign_record& r) {
  json_document all{{"method", r.method},
                    {"range", {r.lowest, r.highest}},
                    {"delta", r.delta},
                    {"precision", r.precision},
                    {"seconds_a_vector",
                     {{"double", r.seconds_double},
                      {"mixed", r.seconds_mixed},
                      {"columns", r.columns},
                      {"columns_double", r.columns_double}}},
                    {"errors",
                     {{"square", r.square_error},
                      {"mixed", r.error},
                      {"double", r.error_double},
                      {"ginsparg_wilson", r.ginsparg_wilson},
                      {"normality", r.normality}}}};
  if (r.poles > 0) {
    all["poles"] = r.poles;
    all["shifts"] = r.shifts;
    all["weights"] = r.weights;
    all["formula"] = "sign(x) = x sum_l weights[l] / (x^2 + shifts[l])";
  } else {
    all["degree"] = r.degree;
    all["coefficients"] = r.coefficients;
    all["formula"] =
        "sign(x) = q P(q^2), q = x / hi, P(y) = sum_j c_j T_j(z), z = (2 y - 1 - eps) / (1 - eps), eps = "
        "(lo / hi)^2";
  }
  return all;
}

json_document to_json(const overlap_record& r) {
  const overlap_modes& modes = r.modes;
  const std::vector<complex<double>> values = overlap_eigenvalues(modes);
  json_document eigenvalues = json_document::array(), chiralities = json_document::array();
  for (std::size_t i = 0; i < values.size(); ++i) {
    eigenvalues.push_back({values[i].re, values[i].im});
    const int zeros = modes.zero_plus + modes.zero_minus;  // come first; vectors of pairs have no chirality
    chiralities.push_back(static_cast<int>(i) >= zeros ? 0 : static_cast<int>(i) < modes.zero_plus ? +1 : -1);
  }
  const auto chirality = [](const chiral_modes<vectors_handle>& of, int zeros) {
    return json_document{{"eigenvalues", of.eigenvalues}, {"residuals", of.residuals}, {"zero_modes", zeros}};
  };
  return {{"eigenvalues", eigenvalues},
          {"chiralities", chiralities},
          {"chirality_plus", chirality(modes.plus, modes.zero_plus)},
          {"chirality_minus", chirality(modes.minus, modes.zero_minus)},
          {"index", r.has_open_index() ? json_document(nullptr) : json_document(modes.index())},
          {"searched_chirality", modes.searched},
          {"cycles", modes.cycles},
          {"restarts", modes.restarts}};
}

json_document to_json(const mass_record& r) {
  return {{"mass", r.solve.mass},
          {"mass_of_others", r.mass_of_others},
          {"residual", r.judged.residual},
          {"residuals_of_normal_equations", r.solve.residual},
          {"iterations", r.solve.iterations},
          {"corrections", r.solve.corrections},
          {"judging_delta", r.judging_delta},
          {"condensate", r.judged.condensate},
          {"sum_of_squares", r.judged.sum_of_squares},
          {"gmor", r.judged.gmor},
          {"gmor_tolerance", r.judged.gmor_tolerance},
          {"pion", r.pion},
          {"rho", r.rho}};
}

json_document to_json(const std::vector<stage_record>& stages) {
  json_document all = json_document::array();
  for (const stage_record& s : stages)
    all.push_back({{"stage", s.name},
                   {"seconds", s.seconds},
                   {"predicted_seconds", s.predicted_seconds},
                   {"applications_double", s.as_double},
                   {"applications_single", s.as_single},
                   {"applications_half", s.half},
                   {"sign_applications", s.sign_applications},
                   {"restored", s.restored}});
  return all;
}

json_document to_json(const preconditioned_work& work) {
  return {{"directions", work.directions},
          {"columns_at_once", work.columns_at_once},
          {"leading_columns", work.leading},
          {"directions_of_a_leading_column", work.directions_of_leading},
          {"recycled_directions", work.recycled},
          {"accurate_signs", work.accurate_signs},
          {"cheap_signs", work.cheap_signs},
          {"clover_solves", work.clover_solves},
          {"clover_applications", work.clover_applications},
          {"clover_solver", work.by_multigrid ? "multigrid" : "bicgstab"},
          {"corrections", work.corrections},
          {"setup_seconds", work.setup_seconds},
          {"accurate_sign_seconds", work.accurate_sign_seconds},
          {"cheap_sign_seconds", work.cheap_sign_seconds},
          {"clover_seconds", work.clover_seconds},
          {"projection_seconds", work.projection_seconds}};
}

void print(const preconditioned_work& work) {
  if (work.directions == 0.0) return;  // read from a file
  fmt::print(
      "solves     {} columns at once, {:.0f} directions, {:.0f} + {:.0f} signs (accurate + cheap), {:.0f} solves of M "
      "by "
      "{} with {:.0f} applications, {} corrections; M was made in {:.2g} s\n",
      work.columns_at_once, work.directions, work.accurate_signs, work.cheap_signs, work.clover_solves,
      work.by_multigrid ? "multigrid" : "BiCGstab", work.clover_applications, work.corrections, work.setup_seconds);
  fmt::print(
      "solves     seconds of accurate signs {:.3g}, cheap signs {:.3g}, M {:.3g}, projections of images {:.3g}\n",
      work.accurate_sign_seconds, work.cheap_sign_seconds, work.clover_seconds, work.projection_seconds);
  if (work.recycled == 0) return;
  const int leading = work.leading;
  fmt::print(
      "solves     columns that came first, {}, took {:.1f} directions each; the others began with {} of columns before "
      "them, and took {:.1f}\n",
      leading, work.directions_of_leading, work.recycled,
      (work.directions - leading * work.directions_of_leading) / (spin_colours - leading));
}

void print(const kernel_modes& r) {
  fmt::print("modes      {} of {} modes of H, |lambda| {:.6f} to {:.6f}, largest residual {:.2e}; |H| <= {:.5f}\n",
             r.values.size(), r.sought, r.values.empty() ? 0.0 : std::abs(r.values.front()),
             r.values.empty() ? 0.0 : std::abs(r.values.back()), largest(r.residuals), r.highest);
  fmt::print("search     window {:.4f}{}, filter of degree {}, blocks of {}, {} kept of {} vectors, {} cycles\n",
             r.window, r.widened > 0 ? fmt::format(" (widened {} times)", r.widened) : "", r.degree, r.block, r.keep,
             r.most, r.cycles);
  if (r.probing > 0.0)
    fmt::print("search     random vectors at the end, for modes that may have been missed: {:.0f}% of the filter\n",
               100.0 * r.probing);
  if (r.raised > 0) fmt::print("remark     modes above the bound of |H| came: it was raised {} times\n", r.raised);
  if (!r.complete && std::ssize(r.values) < r.sought)
    fmt::print("remark     {} of {} modes of H converged: allow more with --mode-cycles or a larger --search-space\n",
               r.values.size(), r.sought);
}

std::vector<std::string> table_of(const sign_record& r) {
  const std::string what =
      r.poles > 0 ? fmt::format("{}, {} poles", r.method, r.poles) : fmt::format("polynomial of degree {}", r.degree);
  std::vector<std::string> lines{
      fmt::format("{} on [{:.5f}, {:.5f}], delta {:.6e}", what, r.lowest, r.highest, r.delta)};
  for (std::size_t l = 0; l < r.shifts.size(); ++l)
    lines.push_back(fmt::format("shift {:.15e}  weight {:.15e}", r.shifts[l], r.weights[l]));
  for (std::size_t j = 0; j < r.coefficients.size(); ++j)
    lines.push_back(fmt::format("c_{} {:.15e}", j, r.coefficients[j]));
  return lines;
}

void print(const sign_record& r, bool whole) {
  std::vector<std::string> lines = table_of(r);
  if (!whole) lines.resize(1);
  for (const std::string& line : lines) fmt::print("sign       {}\n", line);
  if (r.columns == 0) return;
  fmt::print("sign       {:.4g} s a vector in double, {:.4g} s {} ({} in batches of {}); errors {:.2e}, {:.2e}\n",
             r.seconds_double, r.seconds_mixed, r.precision == "double" ? "again" : r.precision, r.columns, r.batch,
             r.error_double, r.error);
}

void print(const overlap_record& r) {
  const overlap_modes& modes = r.modes;
  const std::vector<complex<double>> values = overlap_eigenvalues(modes);
  if (values.empty())
    fmt::print("overlap    no modes of D were sought: the index is not known\n");
  else if (r.open)
    fmt::print("overlap    at least {} zero modes of chirality {}: the index is open, take more --overlap-modes\n",
               modes.searched > 0 ? modes.zero_plus : modes.zero_minus, modes.searched > 0 ? "+" : "-");
  else
    fmt::print("overlap    {} zero modes of chirality +, {} of -: index {}\n", modes.zero_plus, modes.zero_minus,
               modes.index());
  const std::size_t shown = std::min<std::size_t>(values.size(), 12);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i)
    if (values[i].im >= 0.0) text += fmt::format(" {:.6f}{:+.6f}i", values[i].re, values[i].im);
  if (!text.empty()) fmt::print("overlap    eigenvalues of D{}{}\n", text, values.size() > shown ? " ..." : "");
}

void print(const std::vector<mass_record>& masses) {
  fmt::print("\n{:>8} {:>10} {:>11} {:>10} {:>14} {:>10}\n", "mass", "iterations", "corrections", "residual",
             "condensate", "GMOR");
  for (const mass_record& m : masses)
    fmt::print("{:8g} {:10} {:11} {:10.2e} {:14.8f} {:10.2e}\n", m.solve.mass, m.solve.iterations, m.solve.corrections,
               m.judged.residual, m.judged.condensate, m.judged.gmor);
  if (masses.empty() || masses.front().pion.empty()) return;
  fmt::print("\n{:>4}", "t");
  for (const mass_record& m : masses) fmt::print(" {:>16}", fmt::format("pion, m {:g}", m.solve.mass));
  fmt::print("\n");
  for (std::size_t t = 0; t < masses.front().pion.size(); ++t) {
    fmt::print("{:4}", t);
    for (const mass_record& m : masses) fmt::print(" {:16.8e}", m.pion[t]);
    fmt::print("\n");
  }
}

void print(const std::vector<stage_record>& stages, bool is_paper) {
  double total = 0.0, predicted = 0.0, halves = 0.0;
  for (const stage_record& s : stages) {
    halves += s.half;
    total += s.seconds;
    predicted += s.predicted_seconds;
  }
  fmt::print("\n{:<14} {:>10} {:>6} {:>10} {:>11} {:>11} {:>8}{}\n", "stage", "seconds", "share", "predicted",
             "H double", "H single", "signs", is_paper ? " paper 32 GPUs     256 cores" : "");
  for (const stage_record& s : stages) {
    const auto known = std::ranges::find(paper, s.name, &paper_hours::stage);
    fmt::print("{:<14} {:10.3g} {:5.0f}% {:10.3g} {:11.0f} {:11.0f} {:8.0f}", s.name, s.seconds,
               total > 0.0 ? 100.0 * s.seconds / total : 0.0, s.predicted_seconds, s.as_double, s.as_single,
               s.sign_applications);
    if (is_paper && known != paper.end())
      fmt::print(" {:11.0f} s {:11.0f} s", 3600.0 * known->gpus, 3600.0 * known->cores);
    fmt::print("{}\n", s.restored ? "  (from the checkpoint)" : "");
  }
  fmt::print("{:<14} {:10.3g} {:>6} {:10.3g}", "all", total, "", predicted);
  if (is_paper) fmt::print(" {:>11} {:>11} {:>8} {:11.0f} s {:11.0f} s", "", "", "", 3600.0 * 3.5, 3600.0 * 13.5);
  fmt::print("\n");
  if (halves > 0.0) fmt::print("and {:.0f} applications of H in half precision\n", halves);
}

}  // namespace plaquette
