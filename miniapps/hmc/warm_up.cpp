// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/hmc/warm_up.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/error.hpp"
#include "cpu_ref/gauge/plaquette.hpp"

namespace plaquette {

namespace {

/// Number of a trajectory that no chain and no trial has.
constexpr std::uint64_t first_of_warm_up = (std::uint64_t{1} << 40) + (std::uint64_t{1} << 20);

/// The action at another kappa, with solvers that need no choice: BiCGstab for the light factor, CG for the others.
hybrid_action heavier(const hmc_options& options, double kappa) {
  hybrid_action action = options.action;
  fermion_action& quark = action.quarks->action;
  quark.mass = fermion_action::mass_of_kappa(kappa, quark.anisotropy, quark.nu);
  if (action.exact_sums || !options.chooses_solvers) return action;
  const precision inner = options.shared.device == "gpu" ? precision::half : precision::single;
  for (factor_solver& solver : action.solvers) solver = {factor_solver::kind::cg, inner};
  if (!action.quarks->has_mass_shifts()) action.solvers.front().method = factor_solver::kind::bicgstab;
  return action;
}

/// Makes a trajectory without an accept step; returns its dH.
double move_links(app_run& run, molecular_dynamics& md, const md_plan& plan, std::uint64_t number,
                  trajectory_recorder& recorder) {
  md.refresh(number);
  const auto stops = [&] {
    recorder.note_operation(md, plan.operations.size());
    return run.control.should_stop();
  };
  if (!integrate(md, plan, stops)) throw error(exit_status::interrupted, "stopped in the warm-up");
  const double dh = md.change_of_energy().total();
  if (!std::isfinite(dh) || have_links_left_su3(md))
    throw input_error("--integrator: its steps are too long for the warm-up, links have left SU(3); take more steps");
  md.reunitarise();
  md.finish();
  return dh;
}

}  // namespace

hybrid_action action_of_warm_up(const hmc_options& options, std::uint64_t number) {
  std::uint64_t end = first_of_warm_up;
  for (const warm_up_step& step : options.warm_up)
    if (number < (end += static_cast<std::uint64_t>(step.trajectories))) return heavier(options, step.kappa);
  throw error(exit_status::internal_error, "warm-up: the action of a trajectory that it has not was requested");
}

warmed_links warm_up(app_run& run, const hmc_options& options, gauge_configuration links, const dynamics_on& make,
                     trajectory_recorder& recorder) {
  warmed_links warmed{std::move(links), {}};
  std::uint64_t number = first_of_warm_up;
  for (const warm_up_step& step : options.warm_up) {
    const auto md = make(warmed.links, heavier(options, step.kappa));
    if (number == first_of_warm_up) warmed.plaquette_before = md->measure_plaquettes().average;
    for (int n = 0; n < step.trajectories; ++n, ++number) {
      const stopwatch watch;
      warm_up_record record{.kappa = step.kappa, .dh = move_links(run, *md, options.plan, number, recorder)};
      record.plaquette = md->measure_plaquettes().average;
      record.seconds = watch.seconds();
      run.progress.clear();
      if (run.is_root())
        fmt::print("warm-up    kappa {:g}: dH {:.4g}, plaquette {:.8f}, {:.3g} s\n", record.kappa, record.dh,
                   record.plaquette, record.seconds);
      warmed.records.push_back(record);
      recorder.note_trajectory(*md, number, record.dh, true, record.plaquette, record.seconds);
    }
    warmed.links = md->links();
  }
  return warmed;
}

void check_warm_up(app_run& run, const hmc_options& options, const warmed_links& warmed) {
  const std::vector<warm_up_record>& records = warmed.records;
  std::size_t expected = 0;
  for (const warm_up_step& step : options.warm_up) expected += static_cast<std::size_t>(step.trajectories);
  std::vector<double> dh;
  double before = warmed.plaquette_before;
  int unmoved = 0;
  for (const warm_up_record& r : records) {
    dh.push_back(r.dh);
    unmoved += std::abs(r.plaquette - before) > 1e-13 ? 0 : 1;  // putting links back into SU(3) moves it by roundings
    before = r.plaquette;
  }
  std::ranges::sort(dh);
  const auto repeated = std::ranges::unique(dh).size();
  verification& checks = run.result.checks;
  checks.add("trajectories of the warm-up that are missing, or are those of another",
             static_cast<double>(expected - records.size() + repeated), 0.0);
  checks.add("trajectories of the warm-up that moved no links", unmoved, 0.0);
  checks.add("plaquette after the warm-up, by the CPU library",
             std::abs(cpu::measure_plaquettes(warmed.links, run.world).average - records.back().plaquette), 1e-12);
}

void note_warm_up(report& result, const warmed_links& warmed) {
  json_document all = json_document::array();
  for (const warm_up_record& r : warmed.records)
    all.push_back({{"kappa", r.kappa}, {"dh", r.dh}, {"plaquette", r.plaquette}, {"seconds", r.seconds}});
  result.observables["warm_up"] = all;
  result.gauge["plaquette_of_heat_bath"] = warmed.plaquette_before;
}

}  // namespace plaquette
