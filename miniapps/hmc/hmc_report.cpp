// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/hmc/hmc_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "miniapps/hmc/history_checks.hpp"

namespace plaquette {

namespace {

json_document averages_of(const chain_state& state) {
  const double count = std::max(state.trajectories_done(), 1);
  double plaquette = 0.0, dh = 0.0, exponential = 0.0, accepted = 0.0;
  std::vector<double> plaquettes;
  for (const trajectory_record& t : state.history) {
    plaquettes.push_back(t.plaquette);
    plaquette += t.plaquette / count;
    dh += t.dh / count;
    exponential += std::exp(-t.dh) / count;
    accepted += (t.accepted ? 1.0 : 0.0) / count;
  }
  return {{"acceptance", accepted},
          {"plaquette", plaquette},
          {"plaquette_error", blocked_error(plaquettes)},
          {"dh", dh},
          {"exponential", exponential}};
}

/// Returns cells of the table, empty ones if nothing was measured. Without a t0 its cell is empty.
std::string cells_of(const std::optional<chain_measurement>& measured) {
  if (!measured) return ",,,,,,,,";
  const chain_measurement& m = *measured;
  return fmt::format(",{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{},{:.17g},{:.6g}", m.spatial, m.temporal, m.rectangle,
                     m.polyakov.re, m.polyakov.im, m.t0 > 0.0 ? fmt::format("{:.17g}", m.t0) : "", m.charge, m.seconds);
}

json_document measurements_of(const chain_state& state) {
  json_document all = json_document::array();
  for (int n = 0; n < state.trajectories_done(); ++n) {
    const trajectory_record& t = state.history[static_cast<std::size_t>(n)];
    if (!t.measured) continue;
    const chain_measurement& m = *t.measured;
    all.push_back({{"trajectory", n + 1},
                   {"plaquette_spatial", m.spatial},
                   {"plaquette_temporal", m.temporal},
                   {"rectangle", m.rectangle},
                   {"polyakov_loop", {m.polyakov.re, m.polyakov.im}},
                   {"charge", m.charge},
                   {"seconds", m.seconds}});
    if (m.t0 > 0.0) all.back()["t0"] = m.t0;
  }
  return all;
}

}  // namespace

void print_history_head() { fmt::print("\ntrajectory            dH  accepted       plaquette   seconds\n"); }

void print_trajectory(int number, const trajectory_record& t) {
  fmt::print("{:10}  {:12.6f}  {:>8}  {:.12f}  {:8.3g}\n", number, t.dh, t.accepted ? "yes" : "no", t.plaquette,
             t.seconds);
}

void print_chain(const report& result, const chain_state& state, const hmc_options& options) {
  if (state.history.empty()) return;
  const json_document& averages = result.observables.at("averages");
  const auto at = [&](const char* name) { return averages.at(name).get<double>(); };
  const std::string error =
      state.trajectories_done() > 1 ? fmt::format(" +- {:.2g}", at("plaquette_error")) : std::string();
  fmt::print(
      "\nchain      {} trajectories of {:g}: accepted {:.3f}, plaquette {:.8f}{}, <dH> {:.4g}, <exp(-dH)> "
      "{:.4g}\n",
      state.trajectories_done(), options.plan.tau, at("acceptance"), at("plaquette"), error, at("dh"),
      at("exponential"));
  const std::vector<std::string> names = term_names(options.action);
  const trajectory_record& last = state.history.back();
  for (std::size_t n = 0; n < names.size() && n < last.forces.size(); ++n)
    fmt::print("force      {:<8} {:.4g} a link (rms), {:.4g} at most\n", names[n], last.forces[n].rms,
               last.forces[n].largest);
  for (std::size_t k = 0; k < last.iterations.size(); ++k)
    fmt::print("solves     {:<8} {} iterations in the last trajectory, {:.3g} s\n",
               names[static_cast<std::size_t>(first_factor_term(options.action)) + k], last.iterations[k],
               last.parts[k]);
  if (const hierarchy_work& h = last.hierarchy; h.seconds > 0.0)
    fmt::print("multigrid  set-up and {} renewals {:.3g} s; iterations of forces {:.2f} times those of a fresh one\n",
               h.renewals, h.seconds, h.ageing());
  if (!last.parts.empty())
    fmt::print("rest       {:.1f}% of the trajectory is no solve\n",
               100.0 * (last.seconds - std::accumulate(last.parts.begin(), last.parts.end(), last.hierarchy.seconds)) /
                   last.seconds);
}

std::string history_table(const chain_state& state, const hmc_options& options) {
  const std::vector<std::string> names = term_names(options.action);
  std::string text = "trajectory,dh,accepted,plaquette,seconds";
  for (const std::string& name : names) text += fmt::format(",force_rms_{0},force_largest_{0}", name);
  const auto first = static_cast<std::size_t>(first_factor_term(options.action));
  for (std::size_t k = first; k < names.size(); ++k) text += ",iterations_" + names[k];
  for (std::size_t k = first; k < names.size(); ++k) text += ",seconds_" + names[k];
  if (options.action.has_multigrid()) text += ",seconds_multigrid,renewals,ageing";
  if (options.measure_every > 0)
    text += ",spatial,temporal,rectangle,polyakov_re,polyakov_im,t0,charge,measuring_seconds";
  text += "\n";
  for (int n = 0; n < state.trajectories_done(); ++n) {
    const trajectory_record& t = state.history[static_cast<std::size_t>(n)];
    text += fmt::format("{},{:.17g},{},{:.17g},{:.6g}", n + 1, t.dh, t.accepted ? 1 : 0, t.plaquette, t.seconds);
    for (const force_size& f : t.forces) text += fmt::format(",{:.17g},{:.17g}", f.rms, f.largest);
    for (const long iterations : t.iterations) text += fmt::format(",{}", iterations);
    for (const double seconds : t.parts) text += fmt::format(",{:.6g}", seconds);
    if (options.action.has_multigrid())
      text += fmt::format(",{:.6g},{},{:.4f}", t.hierarchy.seconds, t.hierarchy.renewals, t.hierarchy.ageing());
    if (options.measure_every > 0) text += cells_of(t.measured);
    text += "\n";
  }
  return text;
}

void note_chain(report& result, const chain_state& state, const hmc_options& options, int first) {
  const json_document averages = averages_of(state);
  std::vector<double> seconds;
  double largest = 0.0;
  json_document dh = json_document::array(), plaquettes = dh, accepted = dh, forces = json_document::object();
  for (int n = 0; n < state.trajectories_done(); ++n) {
    const trajectory_record& t = state.history[static_cast<std::size_t>(n)];
    dh.push_back(t.dh);
    largest = std::max(largest, std::abs(t.dh));
    plaquettes.push_back(t.plaquette);
    accepted.push_back(t.accepted);
    if (n >= first) seconds.push_back(t.seconds);
  }
  const sample_statistics median = statistics(seconds);
  const double plaquette = state.history.empty() ? state.start_plaquette : state.history.back().plaquette;
  result.gauge = {{"source", "hybrid Monte Carlo"}, {"start", options.start()}, {"plaquette", plaquette}};
  const std::vector<std::string> names = term_names(options.action);
  if (!state.history.empty())
    for (std::size_t n = 0; n < names.size() && n < state.history.back().forces.size(); ++n)
      forces[names[n]] = {{"rms", state.history.back().forces[n].rms},
                          {"largest", state.history.back().forces[n].largest}};
  result.observables = {
      {"dh", dh},
      {"largest_dh", largest},
      {"accepted", accepted},
      {"plaquette", plaquettes},
      {"acceptance", averages["acceptance"]},
      {"averages", averages},
      {"forces", forces},
      {"seconds_a_trajectory",
       {{"min", median.min}, {"median", median.median}, {"max", median.max}, {"samples", median.samples}}}};
  if (!state.history.empty() && !state.history.back().parts.empty()) {
    const trajectory_record& last = state.history.back();
    json_document solves = json_document::object();
    for (std::size_t k = 0; k < last.parts.size(); ++k)
      solves[names[static_cast<std::size_t>(first_factor_term(options.action)) + k]] = {
          {"iterations", last.iterations[k]}, {"seconds", last.parts[k]}};
    result.observables["solves_of_last"] = {{"factors", solves}, {"trajectory_seconds", last.seconds}};
    if (const hierarchy_work& h = last.hierarchy; h.seconds > 0.0)
      result.observables["solves_of_last"]["multigrid"] = {
          {"seconds", h.seconds}, {"renewals", h.renewals}, {"ageing", h.ageing()}};
  }
  if (options.measure_every > 0) result.observables["measurements"] = measurements_of(state);
  result.fom.value = median.median > 0.0 ? 3600.0 * options.plan.tau / median.median : 0.0;
}

}  // namespace plaquette
