// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A trajectory of hybrid Monte Carlo. (Duane, Kennedy, Pendleton, Roweth, Phys. Lett. B 195 (1987) 216)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/hmc/integrator.hpp"
#include "common/hmc/molecular_dynamics.hpp"
#include "common/random/random_stream.hpp"

namespace plaquette {

/// The operations of a trajectory, with the terms of the action that act in each level.
struct md_plan {
  std::vector<md_level> levels;
  double tau = 1.0;
  std::vector<md_operation> operations{};
  std::vector<std::vector<int>> terms_of_level{};
};

/// Returns the plan of levels that parse_integrator made for this action.
inline md_plan plan_of(const hybrid_action& action, std::vector<md_level> levels, double tau) {
  md_plan plan{std::move(levels), tau};
  plan.operations = operations_of(plan.levels, tau);
  const std::vector<std::string> names = term_names(action);
  for (const md_level& level : plan.levels) {
    std::vector<int> terms;
    for (int n = 0; n < std::ssize(names); ++n)
      for (const std::string& name : level.terms)
        if (name == names[static_cast<std::size_t>(n)]) terms.push_back(n);
    plan.terms_of_level.push_back(terms);
  }
  return plan;
}

/// Returns the order of the error of dH: 2 if any level is of second order, else 4.
inline int order_of(const md_plan& plan) {
  const auto is_second = [](const md_level& level) {
    return level.scheme == md_scheme::leapfrog || level.scheme == md_scheme::omelyan2;
  };
  return std::ranges::any_of(plan.levels, is_second) ? 2 : 4;
}

/// Does one operation.
inline void operate(molecular_dynamics& state, const md_plan& plan, const md_operation& operation) {
  using enum md_operation::kind;
  const std::vector<int>& terms = plan.terms_of_level[static_cast<std::size_t>(operation.level)];
  if (operation.what == drift)
    state.drift(operation.step);
  else if (operation.what == kick)
    state.kick(terms, operation.step);
  else
    state.displaced_kick(terms, operation.step, operation.displacement);
}

/// Does all operations. Returns false if it was told to stop in between: links and momenta are then of no use.
/// \param stops  asked after each operation, the same answer on all ranks; null: never
inline bool integrate(molecular_dynamics& state, const md_plan& plan, const std::function<bool()>& stops = nullptr) {
  for (const md_operation& operation : plan.operations) {
    operate(state, plan, operation);
    if (stops && stops()) return false;
  }
  return true;
}

/// Returns the number r in [0, 1) of a trajectory's accept step: of no other use, the same on all ranks.
inline double accept_number(std::uint64_t seed, std::uint64_t trajectory) {
  return random_stream(seed, random_stream_id(random_purpose::accept_step, trajectory), 0).uniform();
}
/// Returns whether links whose H has changed by dh are accepted: r < exp(-dh). A NaN is not. (Metropolis et al. 1953)
inline bool is_accepted(double dh, double r) { return r < std::exp(-dh); }

/// The result of a trajectory.
struct trajectory_result {
  energy_change change{};
  bool accepted = false;
};

/// Makes a trajectory: draws momenta and pseudofermions, integrates, accepts or puts the links back. If it is told to
/// stop, the links are put back and there is no result.
inline std::optional<trajectory_result> make_trajectory(molecular_dynamics& state, const md_plan& plan,
                                                        std::uint64_t number,
                                                        const std::function<bool()>& stops = nullptr) {
  state.refresh(number);
  if (!integrate(state, plan, stops)) {
    state.restore();
    return std::nullopt;
  }
  trajectory_result result{state.change_of_energy()};
  result.accepted = is_accepted(result.change.total(), accept_number(state.action().seed, number));
  result.accepted ? state.reunitarise() : state.restore();
  state.finish();
  return result;
}

}  // namespace plaquette
