// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/multigrid/multigrid_report.hpp"

#include <fmt/core.h>

#include <cmath>
#include <optional>
#include <string>

#include "common/app/standard_streams.hpp"

namespace plaquette {

namespace {

/// Returns the number of solves after which the setup has saved more than it took; none if it saves nothing.
std::optional<double> solves_that_pay(const setup_results& setup, const series& fast, const series* slow) {
  if (!slow) return std::nullopt;
  const double saved = spread_of(*slow, &source_result::seconds).mean - spread_of(fast, &source_result::seconds).mean;
  if (!(saved > 0.0)) return std::nullopt;
  return std::ceil(setup.seconds() / saved);
}

void print_pay(const setup_results& setup, const series& fast, const series* slow) {
  if (!slow) return;
  const std::string at_once = fast.batch == 1 ? "one by one" : fmt::format("{} at once", fast.batch);
  if (const auto solves = solves_that_pay(setup, fast, slow))
    fmt::print("setup      {:.4g} s: paid for by {:.0f} solves {}\n", setup.seconds(), *solves, at_once);
  else
    fmt::print("setup      {:.4g} s: solves {} do not pay for it, since bicgstab is as fast\n", setup.seconds(),
               at_once);
}

void print_work(const json_document& levels, const series* slow) {
  double flops = 0.0;
  for (const auto& level : levels) flops += level["flops"].get<double>();
  std::string text = fmt::format("flops      {:.4g} Gflop a solve by multigrid", 1e-9 * flops);
  if (slow && slow->flops > 0.0) {
    const double of_one = slow->flops / static_cast<double>(slow->sources.size());
    text += fmt::format(", {:.4g} by bicgstab: {:.2f} times as many", 1e-9 * of_one, of_one / flops);
  }
  fmt::print("{} (operators and transfers)\n", text);
}

void print_energy(const std::vector<series>& all) {
  for (const series& s : all)
    if (s.power_watt)
      fmt::print("energy     {:.4g} J a solve by {}, {} at once: {:.0f} W\n",
                 *s.power_watt * spread_of(s, &source_result::seconds).mean, s.solver, s.batch, *s.power_watt);
}

/// Returns advice if a solve is slow or has failed.
std::string advice(const series& s, const multigrid_options& options) {
  const spread it = iterations_of(s);
  if (s.solved(10.0 * options.tolerance()) && it.mean <= 40.0) return "";
  constexpr double good_rate = 0.6;  // 46 iterations for ten digits
  if (!s.solved(options.tolerance()) && rate_of(s) <= good_rate && it.mean >= options.iteration_limit)
    return fmt::format("a cycle leaves {:.2f} of the residual: more --max-iterations are all that is missing",
                       rate_of(s));
  if (!options.load_setup.empty() && options.refresh == 0)
    return "the null vectors are of another mass: --refresh 2 would help";
  if (options.load_setup.empty() && options.multigrid.refinements < 5)
    return "the null space is not good enough: more --setup-refinements (say 6) would help";
  if (options.multigrid.steps_after.front() < 8) return "more relaxation (--post 8) would help";
  return "more --vectors would help; or the configuration is exceptional at this mass (stout smearing removes that)";
}

}  // namespace

json_document to_json(const null_space_study& study) {
  json_document document;
  document["errors"] = {
      {"steps", study.steps}, {"relaxation", study.relaxation}, {"missed", study.missed}, {"cycle", study.cycle}};
  document["coherence"] = {{"cut", study.cut}, {"whole", study.whole}, {"random", study.random}};
  if (study.plane) {
    const auto& [z, t, mode, kept] = *study.plane;
    document["picture"] = {{"z", z}, {"t", t}, {"mode", mode}, {"kept", kept}};
  }
  return document;
}

void add_solves(report& result, const multigrid_results& results, const multigrid_options& options) {
  const auto& all = results.all;
  const double tolerance = options.tolerance();
  for (const series& s : all) {
    result.solves.push_back(record_of(s, tolerance));
    // A reference that says itself that it did not converge is no fault of multigrid.
    if (s.is_multigrid() || s.claims_convergence())
      result.checks.add(fmt::format("residual of the full system, {} {}",
                                    s.is_multigrid() ? s.solver + " " + s.schedule : s.solver, s.batch),
                        result.solves.back().reference_residual, tolerance);
    if (const series* slow = s.is_multigrid() ? reference_of(s, all, tolerance) : nullptr) {
      const spread ratio = spread_of(speed_up(*slow, s));
      result.solves.back().details["speed_up"] = {{"mean", ratio.mean}, {"deviation", ratio.deviation}};
    }
    if (s.is_multigrid() && s.solved(tolerance)) {
      const double rate = 1.0 / spread_of(s, &source_result::seconds).mean;
      if (!(result.fom.value >= rate)) result.fom.value = rate;
    }
  }
}

void add_to_report(report& result, const multigrid_results& results, const multigrid_options& options, double memory) {
  const auto& [all, schedules, modes, explanation] = results;
  const double tolerance = options.tolerance();
  add_solves(result, results, options);
  for (const schedule_results& schedule : schedules) {
    json_document& details = result.solves[schedule.first].details;
    details["levels"] = schedule.levels;
    details["setup"] = to_json(schedule.setup);
    details["setup"]["memory_bytes"] = memory;
    const series& fast = all[schedule.first];
    if (const auto solves = solves_that_pay(schedule.setup, fast, reference_of(fast, all, tolerance)))
      details["setup"]["paid_for_by_solves"] = *solves;
  }
  result.solves.front().details["null_space"] = {{"modes", to_json(modes)},
                                                 {"exceptional", !why_exceptional(modes).empty()}};
  if (!explanation.is_null()) result.solves.front().details["explanation"] = explanation;
  if (!std::isfinite(result.fom.value)) result.fom.value = 0.0;
}

void print_results(const multigrid_results& results, const multigrid_options& options) {
  const auto& [all, schedules, modes, explanation] = results;
  const double tolerance = options.tolerance();
  print_series(all, tolerance);
  for (const schedule_results& schedule : schedules) print_levels(schedule.levels);
  fmt::print("\n");
  const series& first = all.front();
  fmt::print("cycle      leaves {:.3f} of the residual, a mean over iterations and sources\n", rate_of(first));
  for (std::size_t k = 0; k < schedules.size(); ++k) {
    const std::size_t end = k + 1 < schedules.size() ? schedules[k + 1].first : all.size();
    for (std::size_t s = schedules[k].first; s < end; ++s)
      if (all[s].is_multigrid()) print_pay(schedules[k].setup, all[s], reference_of(all[s], all, tolerance));
  }
  print_work(schedules.front().levels, reference_of(first, all, tolerance));
  print_energy(all);
  for (const series& s : all)
    if (!s.sources.empty() && !s.solved(tolerance)) {
      const source_result& worst = s.worst();
      const std::string text =
          fmt::format("{} leaves source {} at {:.2e}, above {:g} ({}{}{})", s.solver, worst.column, worst.reference,
                      tolerance, name(worst.status), worst.why.empty() ? "" : ": ", worst.why);
      if (s.is_multigrid())
        write_to_stderr(fmt::format("no convergence: {}\n", text));
      else
        fmt::print("remark     {}; no speed-up is given\n", text);
    }
  if (const std::string help = advice(first, options); !help.empty()) fmt::print("remark     {}\n", help);
}

exit_status status_of(const multigrid_results& results, const multigrid_options& options) {
  bool solved = true, claimed = true;
  for (const series& s : results.all) {
    if (!s.is_multigrid() || s.solved(options.tolerance())) continue;
    solved = false;
    claimed = claimed && s.claims_convergence();
  }
  if (solved) return exit_status::success;
  return claimed ? exit_status::verification_failed : exit_status::no_convergence;
}

}  // namespace plaquette
