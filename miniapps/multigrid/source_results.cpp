// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/multigrid/source_results.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "common/algebra/largest.hpp"

namespace plaquette {

bool series::solved(double tolerance) const {
  return !sources.empty() &&
         std::ranges::all_of(sources, [&](const source_result& s) { return s.reference <= tolerance; });
}

bool series::claims_convergence() const {
  return std::ranges::all_of(sources, [](const source_result& s) { return s.status == solve_status::converged; });
}

const source_result& series::worst() const {
  // A residual that is not a number is the worst of all.
  const auto key = [](const source_result& s) { return s.reference >= 0.0 ? s.reference : 1e300; };
  return *std::ranges::max_element(sources, {}, key);
}

spread spread_of(const std::vector<double>& values) {
  if (values.empty()) return {};
  if (std::ranges::adjacent_find(values, std::ranges::not_equal_to{}) == values.end()) return {values.front(), 0.0};
  const std::size_t first = values.size() > 1 ? 1 : 0;
  const auto count = static_cast<double>(values.size() - first);
  spread s;
  for (std::size_t k = first; k < values.size(); ++k) s.mean += values[k] / count;
  for (std::size_t k = first; k < values.size(); ++k) s.deviation += (values[k] - s.mean) * (values[k] - s.mean);
  s.deviation = count > 1.0 ? std::sqrt(s.deviation / (count - 1.0)) : 0.0;
  return s;
}

spread spread_of(const series& s, double source_result::* what) {
  std::vector<double> values;
  for (const source_result& source : s.sources) values.push_back(source.*what);
  return spread_of(values);
}

spread iterations_of(const series& s) {
  std::vector<double> values;
  for (const source_result& source : s.sources) values.push_back(source.iterations);
  return spread_of(values);
}

std::vector<double> speed_up(const series& slow, const series& fast) {
  std::vector<double> ratios;
  for (std::size_t k = 0; k < std::min(slow.sources.size(), fast.sources.size()); ++k)
    ratios.push_back(slow.sources[k].seconds / fast.sources[k].seconds);
  return ratios;
}

solve_record record_of(const series& s, double tolerance) {
  solve_record record;
  record.solver = s.solver;
  record.precision = s.precision;
  record.history = s.history;
  json_document columns = json_document::array();
  std::vector<double> seconds;
  for (const source_result& c : s.sources) {
    record.iterations = std::max(record.iterations, c.iterations);
    keep_largest(record.iterated_residual, c.iterated);
    keep_largest(record.device_residual, c.device);
    keep_largest(record.reference_residual, c.reference);
    seconds.push_back(c.seconds);
    columns.push_back({{"column", c.column},
                       {"status", name(c.status)},
                       {"why", c.why},
                       {"iterations", c.iterations},
                       {"seconds", c.seconds},
                       {"solved", c.reference <= tolerance},
                       {"residual", {{"iterated", c.iterated}, {"device", c.device}, {"reference", c.reference}}},
                       {"tolerance", tolerance},
                       {"solution_norm", c.norm},
                       {"error_over_residual", c.error_over_residual},
                       {"relative_error_over_residual", c.relative_error_over_residual}});
  }
  record.seconds = statistics(seconds).median;
  const spread mean = spread_of(seconds), iterations = iterations_of(s);
  record.details = {{"batch", s.batch},
                    {"devices", s.devices},
                    {"device_seconds_mean", s.devices * mean.mean},
                    {"rate", rate_of(s)},
                    {"seconds_mean", mean.mean},
                    {"seconds_deviation", mean.deviation},
                    {"iterations_mean", iterations.mean},
                    {"iterations_deviation", iterations.deviation},
                    {"converged", s.solved(tolerance)},
                    {"tuning_seconds", s.tuning_seconds},
                    {"columns", columns}};
  if (s.is_multigrid()) record.details["vectors"] = s.schedule;
  if (s.flops > 0.0) record.details["flops_a_solve"] = s.flops / static_cast<double>(s.sources.size());
  if (s.power_watt) {
    record.details["energy_joule_a_solve"] = *s.power_watt * mean.mean;
    record.details["power_watt"] = *s.power_watt;
  }
  if (!s.host_source.empty())
    record.details["host_energy"] = {{"seconds", s.host_seconds},
                                     {"energy_joule", s.host_joule},
                                     {"power_watt", s.host_joule / s.host_seconds},
                                     {"source", s.host_source}};
  return record;
}

json_document levels_of(const solve_profile& profile, const multigrid_options& options,
                        const lattice_geometry& geometry) {
  json_document levels = json_document::array();
  const auto lattices = lattices_of(options.multigrid, geometry);
  const auto& p = profile.lattices;
  for (std::size_t k = 0; k < lattices.size(); ++k) {
    // The time below the lattice above, minus the cycles of this one, is the time of its Krylov solver.
    const double inclusive = k == 0 ? profile.seconds : p[k - 1].below;
    const bool coarsest = k + 1 == lattices.size();
    const double krylov = inclusive - p[k].whole;
    const double seconds = coarsest ? inclusive : inclusive - p[k].below;
    levels.push_back({{"lattice", lattices[k]},
                      {"n", k == 0 ? 12 : 2 * options.multigrid.coarsenings[k - 1].vectors},
                      {"seconds", seconds},
                      {"share", seconds / profile.seconds},
                      {"smoothing_seconds", p[k].smoothing},
                      {"transfer_seconds", p[k].transfer},
                      {"krylov_seconds", krylov},
                      {"cycles", p[k].cycles},
                      {"krylov_steps", p[k].krylov_steps},
                      {"operator_applications", profile.work[k].applications},
                      {"flops", profile.work[k].flops}});
  }
  return levels;
}

double rate_of(const series& s) {
  double sum = 0.0, count = 0.0;
  for (const source_result& c : s.sources)
    if (c.iterations > 0 && c.iterated > 0.0) sum += std::pow(c.iterated, 1.0 / c.iterations), count += 1.0;
  return count > 0.0 ? sum / count : 0.0;
}

const series* reference_of(const series& s, const std::vector<series>& all, double tolerance) {
  const auto found = std::ranges::find_if(
      all, [&](const series& r) { return !r.is_multigrid() && r.batch == s.batch && r.solved(tolerance); });
  return found == all.end() ? nullptr : &*found;
}

namespace {

std::string with_deviation(double mean, double deviation, int width, int digits) {
  return fmt::format("{:{}.{}f} ({:.{}f})", mean, width, digits, deviation, digits);
}

std::string seconds_text(const spread& s) { return fmt::format("{:.4g} ({:.1g})", s.mean, s.deviation); }

}  // namespace

void print_series(const std::vector<series>& all, double tolerance) {
  fmt::print("\n{:<24}{:>8}{:>6}  {:>14}{:>19}{:>15}{:>11}{:>12}{:>15}\n", "solver", "vectors", "batch", "iterations",
             "seconds a source", "error/residual", "residual", "devices x s", "speed-up");
  bool unsolved = false;
  for (const series& s : all) {
    const spread it = iterations_of(s), seconds = spread_of(s, &source_result::seconds),
                 error = spread_of(s, &source_result::error_over_residual);
    const double worst = s.sources.empty() ? 0.0 : s.worst().reference;
    const bool solved = s.solved(tolerance);
    unsolved = unsolved || !solved;
    std::string gain = "-";
    if (const series* slow = reference_of(s, all, tolerance); slow && s.is_multigrid() && solved) {
      const spread ratio = spread_of(speed_up(*slow, s));
      gain = with_deviation(ratio.mean, ratio.deviation, 0, 2);
    }
    fmt::print("{:<24}{:>8}{:>6}  {:>14}{:>19}{:>15}{:>11}{:>12}{:>15}\n", s.solver + " " + s.precision,
               s.is_multigrid() ? s.schedule : "-", s.batch, with_deviation(it.mean, it.deviation, 0, 1),
               seconds_text(seconds), with_deviation(error.mean, error.deviation, 0, 1),
               fmt::format("{:.1e}{}", worst, solved ? "" : "!"), fmt::format("{:.4g}", s.devices * seconds.mean),
               gain);
  }
  fmt::print("           means (standard deviations) over the sources after the first; the setup is apart\n");
  if (unsolved) fmt::print("           !: not solved\n");
}

void print_levels(const json_document& levels) {
  fmt::print(
      "\nlattice               n   seconds  share  smoothing  transfer    krylov   cycles  krylov steps  operators   "
      "gflop\n");
  for (const auto& level : levels) {
    const auto lattice = level["lattice"].get<extents>();
    fmt::print("{:18} {:4}  {:8.4f}  {:4.0f}%  {:9.4f}  {:8.4f}  {:8.4f}  {:7}  {:12}  {:9.0f}  {:6.3g}\n",
               to_string(lattice), level["n"].get<int>(), level["seconds"].get<double>(),
               100.0 * level["share"].get<double>(), level["smoothing_seconds"].get<double>(),
               level["transfer_seconds"].get<double>(), level["krylov_seconds"].get<double>(),
               level["cycles"].get<long>(), level["krylov_steps"].get<long>(),
               level["operator_applications"].get<double>(), 1e-9 * level["flops"].get<double>());
  }
}

namespace {

std::string text_of(const cycle_shape& shape) {
  const std::string steps = shape.cycle == cycle_kind::k ? fmt::format(" of gcr {}", shape.k_steps) : "";
  return fmt::format("{}-cycle{}, {} {}", name(shape.cycle), steps, name(shape.smoother),
                     text_of_steps(shape.steps_after));
}

std::string text_of_placement(std::size_t first_on_cpu, const cycle_shape& shape) {
  return fmt::format("{}{}",
                     first_on_cpu > 0 ? fmt::format("coarse lattices from {} on with the CPU", first_on_cpu)
                                      : "all lattices on one device",
                     shape.additive_on ? ", additive correction" : "");
}

std::string text_of_division(std::size_t whole_from) {
  return whole_from > 0 ? fmt::format("coarse lattices from {} on whole on every rank", whole_from)
                        : "all lattices divided among ranks";
}

json_document to_json(const cycle_shape& shape) {
  return {{"cycle", name(shape.cycle)},
          {"k_steps", shape.k_steps},
          {"post", shape.steps_after},
          {"smoother", name(shape.smoother)},
          {"additive_on", shape.additive_on ? json_document(*shape.additive_on) : json_document(nullptr)}};
}

}  // namespace

json_document to_json(const setup_results& results) {
  const setup_report& setup = results.setup;
  const tuning_report& tuning = results.tuning;
  const auto& s = setup.seconds;
  json_document document{{"seconds",
                          {{"whole", results.seconds()},
                           {"relaxation", s.relaxation},
                           {"refinement", s.refinement},
                           {"orthonormalisation", s.orthonormalisation},
                           {"galerkin", s.galerkin},
                           {"trial", tuning.seconds.trial},
                           {"tuning", results.tuning_seconds}}},
                         {"replaced", setup.replaced},
                         {"dropped", setup.dropped},
                         {"stages", setup.stages},
                         {"offload_from_level", tuning.offload_from_level},
                         {"whole_from_lattice", tuning.whole_from},
                         {"divisions", json_document::array()},
                         {"smallest_gain", setup.smallest_gain},
                         {"largest_gain", setup.largest_gain},
                         {"trial_rates", tuning.trial_rates},
                         {"coarsest_steps", tuning.coarsest_steps},
                         {"cycle", to_json(tuning.cycle)},
                         {"trials", json_document::array()},
                         {"placements", json_document::array()}};
  for (const cycle_trial& t : tuning.shapes) {
    document["trials"].push_back(to_json(t.shape));
    document["trials"].back().update({{"rate", t.rate}, {"seconds", t.seconds}, {"columns", t.columns}});
  }
  for (const cycle_trial& t : tuning.divisions)
    document["divisions"].push_back(
        {{"whole_from_lattice", t.whole_from}, {"seconds", t.seconds}, {"columns", t.columns}});
  for (const cycle_trial& t : tuning.placements)
    document["placements"].push_back({{"offload_from_level", t.offload_from_level},
                                      {"additive", t.shape.additive_on.has_value()},
                                      {"rate", t.rate},
                                      {"seconds", t.seconds},
                                      {"columns", t.columns}});
  if (setup.mass_of_vectors) document["mass_of_vectors"] = *setup.mass_of_vectors;
  return document;
}

namespace {

/// Prints which lattices are too small for the ranks, if the trial has shown it.
void print_why_whole(const tuning_report& tuning) {
  const auto seconds_of = [&tuning](std::size_t whole_from) {
    const auto found = std::ranges::find(tuning.divisions, whole_from, &cycle_trial::whole_from);
    return found == tuning.divisions.end() ? 0.0 : found->seconds;
  };
  const double divided = seconds_of(0), whole = seconds_of(tuning.whole_from);
  if (tuning.whole_from == 0 || !(divided > whole)) return;
  fmt::print(
      "remark     lattices from {} on are too small to gain from more ranks: divided among them an iteration takes "
      "{:.3g} "
      "ms, whole on each {:.3g} ms\n",
      tuning.whole_from, 1e3 * divided, 1e3 * whole);
}

}  // namespace

void print_setup(const setup_results& results) {
  const setup_report& setup = results.setup;
  const tuning_report& tuning = results.tuning;
  const auto& s = setup.seconds;
  const double of_tuner = results.tuning_seconds;
  fmt::print(
      "setup      {:.4g} s: null vectors {:.4g}, refinement {:.4g}, orthonormalisation {:.4g}, coarse operators "
      "{:.4g}, trial {:.4g}{}\n",
      results.seconds(), s.relaxation, s.refinement, s.orthonormalisation, s.galerkin, tuning.seconds.trial,
      of_tuner > 0.0 ? fmt::format(" (and tuning of kernels {:.4g} s)", of_tuner) : "");
  if (setup.mass_of_vectors)
    fmt::print("           null vectors from a file, made at mass {:g}\n", *setup.mass_of_vectors);
  if (setup.largest_gain > 0.0)
    fmt::print("           |M v| / |v| of the null vectors: {:.3g} to {:.3g}\n", setup.smallest_gain,
               setup.largest_gain);
  if (setup.stages > 1)
    fmt::print("           null space: on each aggregate the leading vectors of {} stages\n", setup.stages);
  if (setup.replaced > 0)
    fmt::print("           {} times a null vector added nothing on an aggregate and gave way to a random one\n",
               setup.replaced);
  if (setup.dropped > 0)
    fmt::print("           dropped: {} null vector{} that added nothing to the others\n", setup.dropped,
               setup.dropped == 1 ? "" : "s");
  const auto& rates = tuning.trial_rates;
  if (rates.size() > 1)
    fmt::print(
        "           a trial was slow: {} more inverse iteration{} made a cycle leave {:.2f} of the residual instead of "
        "{:.2f}\n",
        rates.size() - 1, rates.size() == 2 ? "" : "s", rates.back(), rates.front());
  const auto tell = [](const std::string& what, const cycle_trial& t, bool is_taken) {
    fmt::print("           tried: {}: leaves {:.2f} of the residual, {:.3g} ms an iteration of {}{}\n", what, t.rate,
               1e3 * t.seconds, t.columns, is_taken ? ", taken" : "");
  };
  for (const cycle_trial& t : tuning.shapes) {
    cycle_shape shape = t.shape;
    shape.additive_on = tuning.cycle.additive_on;
    tell(text_of(t.shape), t, shape == tuning.cycle);
  }
  for (const cycle_trial& t : tuning.divisions)
    fmt::print("           tried: {}: {:.3g} ms an iteration of {}{}\n", text_of_division(t.whole_from),
               1e3 * t.seconds, t.columns, t.whole_from == tuning.whole_from ? ", taken" : "");
  print_why_whole(tuning);
  if (tuning.divisions.empty() && tuning.whole_from > 0)
    fmt::print("           {}\n", text_of_division(tuning.whole_from));
  for (const cycle_trial& t : tuning.placements)
    tell(text_of_placement(t.offload_from_level, t.shape), t,
         t.offload_from_level == tuning.offload_from_level && t.shape == tuning.cycle);
  if (tuning.offload_from_level > 0 || tuning.cycle.additive_on)
    fmt::print("           {}\n", text_of_placement(tuning.offload_from_level, tuning.cycle));
}

}  // namespace plaquette
