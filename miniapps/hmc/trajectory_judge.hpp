// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A trajectory that is drawn after it was made, made again and judged by the textbook.
#pragma once

#include <cstdint>
#include <optional>

#include "common/hmc/trajectory.hpp"
#include "miniapps/hmc/chain_store.hpp"
#include "miniapps/shared/app_run.hpp"

namespace plaquette {

/// Keeps one trajectory of a run: each with the same chance, drawn by the clock when it is done.
class trajectory_judge {
 public:
  static constexpr int judged_links = 64;  ///< at which forces are compared

  trajectory_judge(app_run& run, const hmc_options& options) : run_(run), options_(options) {}

  /// Draws whether this trajectory replaces the one that is kept. Collective.
  void offer(const molecular_dynamics& state, std::uint64_t number, const trajectory_record& record);
  /// Makes the kept trajectory again, compares, and adds the checks. There is none without a trajectory. Collective.
  void judge(molecular_dynamics& state);

 private:
  struct kept_trajectory {
    std::uint64_t number;
    trajectory_record record;
    gauge_configuration start, end;
  };

  void judge_start(molecular_dynamics& state);
  void judge_forces(molecular_dynamics& state);
  void judge_last_force(molecular_dynamics& state);
  void judge_energy(molecular_dynamics& state, const energy_change& change);
  void judge_way_back(molecular_dynamics& state);

  app_run& run_;
  const hmc_options& options_;
  std::uint64_t offered_ = 0;
  std::optional<kept_trajectory> kept_;
  std::optional<gauge_configuration> momenta_;  ///< of the start, by the textbook
};

/// Adds the checks of a whole history: accept steps, links that changed if and only if they were accepted, and averages
/// from 50 trajectories on. Returns a line on what was not judged, or nothing.
std::string check_history(verification& checks, const chain_state& state, const hmc_options& options);

}  // namespace plaquette
