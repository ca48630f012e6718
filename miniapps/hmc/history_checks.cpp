// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/hmc/history_checks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <sstream>
#include <utility>
#include <vector>

#include "common/hmc/trajectory.hpp"

namespace plaquette {

namespace {

constexpr int enough = 50;  ///< trajectories for averages

double mean_of(std::span<const double> values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// A plaquette that another program has found, or the heat bath of plaquette-make-configuration.
struct known_plaquette {
  extents lattice;
  double beta, kappa, csw;  ///< Wilson's gauge action; two flavours, antiperiodic in time; kappa 0: links alone
  double value, error;
  const char* source;
};

constexpr known_plaquette known_plaquettes[] = {
    {{4, 4, 4, 4}, 5.7, 0.0, 0.0, 0.559874, 1.2e-4, "the heat bath"},  // seed 7, sweeps 501 to 40000
    {{4, 4, 4, 4}, 5.6, 0.138, 1.76, 0.5905, 3e-4, "tmLQCD's sample"},
    {{8, 8, 8, 8}, 6.0, 0.0, 0.0, 0.594133, 8.6e-5, "the heat bath"},  // seed 3, sweeps 101 to 1786
};

bool is_of(const known_plaquette& known, const hybrid_action& action, const extents& lattice) {
  if (action.gauge.beta != known.beta || action.gauge.c1 != 0.0 || action.gauge.anisotropy != 1.0 ||
      lattice != known.lattice || action.quarks.has_value() != (known.kappa > 0.0))
    return false;
  if (!action.quarks) return true;
  const fermion_action& quark = action.quarks->action;
  bool is_the_same = action.quarks->pairs == 1 && action.quarks->twisted_mass == 0.0 &&
                     std::abs(quark.kappa() - known.kappa) < 1e-12 && quark.clover_spatial == known.csw &&
                     quark.clover_temporal == known.csw && quark.anisotropy == 1.0 && quark.nu == 1.0;
  for (int mu = 0; mu < dimensions; ++mu)
    is_the_same = is_the_same && quark.boundary_phase[mu] == complex<double>{mu == 3 ? -1.0 : 1.0, 0.0};
  return is_the_same;
}

/// Trajectories of the first twenty units of time, and a fifth of all, do not count.
std::string check_known_plaquette(verification& checks, const chain_state& state, const hmc_options& options,
                                  const extents& lattice) {
  const auto* const known =
      std::ranges::find_if(known_plaquettes, [&](const auto& k) { return is_of(k, options.action, lattice); });
  if (known == std::end(known_plaquettes)) return "plaquette not known for this action and lattice: not judged";
  const int left_out = std::max(static_cast<int>(std::ceil(20.0 / options.plan.tau)), state.trajectories_done() / 5);
  std::vector<double> values;
  for (int n = left_out; n < state.trajectories_done(); ++n)
    values.push_back(state.history[static_cast<std::size_t>(n)].plaquette);
  if (std::ssize(values) < enough)
    return fmt::format("plaquette not judged: {} trajectories of {} count", values.size(), enough);
  checks.add(fmt::format("plaquette, {} by {}, in both errors", known->value, known->source),
             std::abs(mean_of(values) - known->value) / std::hypot(blocked_error(values), known->error), 3.0);
  return {};
}

/// Adds checks of averages that any right chain has. Errors include the contribution of a distribution that is not
/// normal: its third cumulant, in the expansions of <exp(-dH)> and of its error function. (Edgeworth)
void check_averages(verification& checks, std::span<const double> dh, double accepted) {
  const double count = static_cast<double>(dh.size()), mean = mean_of(dh);
  std::vector<double> exponentials;
  double variance = 0.0, third = 0.0;
  for (const double x : dh) {
    exponentials.push_back(std::exp(-x));
    variance += (x - mean) * (x - mean) / count;
    third += std::pow(x - mean, 3) / count;
  }
  const auto add = [&](const char* name, double off, double error) {
    checks.add(name, off == 0.0 ? 0.0 : std::abs(off) / error, 4.5);  // without any force dH is 0
  };
  add("<exp(-dH)> = 1, in its errors", mean_of(exponentials) - 1.0, blocked_error(exponentials));
  // The difference of <dH> and var / 2 has a variance of about (var + var^2 / 2) / count.
  add("<dH> = var/2, in its errors", mean - 0.5 * variance,
      std::hypot(std::sqrt((variance + 0.5 * variance * variance) / count), third / 6.0));
  // Of normal dH with this variance, erfc(sqrt(var / 8)) are accepted. (Gupta, Irbaeck, Karsch, Petersson 1990)
  const double expected = std::erfc(std::sqrt(variance / 8.0));
  const double of_count = (expected * (1.0 - expected) + 1.0 / count) / count,
               of_variance = variance * std::exp(-variance / 4.0) / (4.0 * std::numbers::pi * count),
               skewness = variance > 0.0 ? third / std::pow(variance, 1.5) : 0.0;
  add("acceptance = erfc(sqrt(var/8)), in its errors", accepted - expected,
      std::hypot(std::sqrt(of_count + of_variance), skewness / (6.0 * std::sqrt(2.0 * std::numbers::pi))));
}

/// Returns the first cells of each line of a table, without its head.
std::vector<std::vector<double>> cells_of(const std::string& table, int most) {
  std::vector<std::vector<double>> rows;
  std::istringstream lines(table);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    std::string cell;
    std::vector<double> row;
    while (std::ssize(row) < most && std::getline(cells, cell, ',')) row.push_back(std::strtod(cell.c_str(), nullptr));
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

double blocked_error(std::span<const double> values) {
  constexpr std::size_t least = 10;
  const std::size_t count = values.size();
  if (count < 2) return std::numeric_limits<double>::quiet_NaN();
  double largest = 0.0;
  for (std::size_t length = 1; length == 1 || count / length >= least; length *= 2) {
    std::vector<double> means;
    for (std::size_t n = 0; n + length <= count; n += length) means.push_back(mean_of(values.subspan(n, length)));
    const double mean = mean_of(means), blocks = static_cast<double>(means.size());
    double squares = 0.0;
    for (const double m : means) squares += (m - mean) * (m - mean);
    largest = std::max(largest, std::sqrt(squares / (blocks * (blocks - 1.0))));
  }
  return largest;
}

std::string check_history(verification& checks, const chain_state& state, const hmc_options& options,
                          const extents& lattice) {
  constexpr double rounding = 1e-13;
  int wrong = 0, unmoved = 0, accepted = 0;
  double before = state.start_plaquette;
  std::vector<double> dh, sorted;
  for (int n = 0; n < state.trajectories_done(); ++n) {
    const trajectory_record& t = state.history[static_cast<std::size_t>(n)];
    const double r = accept_number(options.action.seed, static_cast<std::uint64_t>(n));
    wrong += is_accepted(t.dh, r) == t.accepted ? 0 : 1;
    const double moved = std::abs(t.plaquette - before);  // putting links back into SU(3) moves it by roundings
    unmoved += (t.accepted ? moved > rounding : moved == 0.0) ? 0 : 1;
    before = t.plaquette;
    accepted += t.accepted ? 1 : 0;
    dh.push_back(t.dh);
    if (t.dh != 0.0) sorted.push_back(t.dh);  // without any force it is 0
  }
  std::ranges::sort(sorted);
  checks.add("trajectories with the dH of another",
             std::ssize(sorted) - (std::ranges::unique(sorted).begin() - sorted.begin()), 0.0);
  checks.add("accept steps that r < exp(-dH) does not explain", wrong, 0.0);
  checks.add("trajectories whose links moved and were not accepted, or the reverse", unmoved, 0.0);
  std::string remark = check_known_plaquette(checks, state, options, lattice);
  if (state.trajectories_done() >= enough)
    check_averages(checks, dh, accepted / static_cast<double>(state.trajectories_done()));
  else
    remark = fmt::format("<exp(-dH)>, <dH>, acceptance: not judged, {} trajectories of {}; {}",
                         state.trajectories_done(), enough, remark);
  return remark;
}

void check_reported(report& result, const chain_state& state, const std::string& table) {
  const std::vector<std::vector<double>> rows = cells_of(table, 4);
  const json_document &found = result.observables, &averages = found["averages"];
  const std::size_t count = state.history.size();
  std::size_t off = rows.size() == count ? 0 : 1;
  for (const char* list : {"dh", "accepted", "plaquette"}) off += found[list].size() == count ? 0 : 1;
  double accepted = 0.0, dh = 0.0, plaquette = 0.0, exponential = 0.0;
  for (std::size_t n = 0; n < count && off == 0; ++n) {
    const trajectory_record& t = state.history[n];
    const std::vector<double> row{static_cast<double>(n + 1), t.dh, t.accepted ? 1.0 : 0.0, t.plaquette};
    off += rows[n] == row && found["dh"][n] == t.dh && found["accepted"][n] == t.accepted &&
                   found["plaquette"][n] == t.plaquette
               ? 0
               : 1;
    accepted += row[2];
    dh += t.dh;
    plaquette += t.plaquette;
    exponential += std::exp(-t.dh);
  }
  result.checks.add("lists of the report and lines of the table that are not those of the history",
                    static_cast<double>(off), 0.0);
  if (count == 0) return;
  double worst = 0.0;
  const std::pair<const char*, double> sums[] = {
      {"acceptance", accepted}, {"dh", dh}, {"plaquette", plaquette}, {"exponential", exponential}};
  for (const auto& [name, sum] : sums) {
    const double mean = sum / static_cast<double>(count), given = averages.at(name).get<double>();
    const double distance = std::abs(given - mean) / std::max(1.0, std::abs(mean));
    if (!(distance <= worst)) worst = distance;
  }
  result.checks.add("averages of the report, from the history", worst, 1e-12);
}

}  // namespace plaquette
