// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Trajectories that are drawn after they were made, made again and judged by the textbook.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/hmc/trajectory.hpp"
#include "miniapps/hmc/chain_store.hpp"
#include "miniapps/shared/app_run.hpp"

namespace plaquette {

/// Keeps a few trajectories of a run: each with the same chance, drawn by the clock when it is done. Keeps the numbers
/// of all of them.
class trajectory_judge {
 public:
  static constexpr int judged_links = 64;  ///< at which forces are compared
  static constexpr int most_kept = 8;      ///< trajectories
  /// Seconds for judging more than one of them, at least, and as a share of the seconds of all trajectories.
  static constexpr double seconds = 2.0, share = 0.1;
  static constexpr double bytes = 0x1p28;  ///< of the host, for links of more than one trajectory

  trajectory_judge(app_run& run, const hmc_options& options) : run_(run), options_(options) {}

  /// Returns how many trajectories of this lattice are kept at most.
  static int slots(const lattice_geometry& geometry);

  /// Draws whether this trajectory takes the place of one that is kept. Collective.
  void offer(const molecular_dynamics& state, std::uint64_t number, const trajectory_record& record);
  /// Makes kept trajectories again, compares, and adds the checks, each with the value of the worst one. The first is
  /// always judged, more within their share of the time. Adds a check that fails if no trajectory was offered.
  /// Collective.
  void judge(molecular_dynamics& state);
  /// Adds the check that the history has all trajectories of this run, as they were offered, and no others.
  /// \param first  trajectory of this run
  void check_offered(const chain_state& state, int first) const;

  /// Returns what was judged in this run, for the report.
  json_document judged(int first) const;
  /// Returns the same as a sentence.
  std::string describe_judged(int first) const;

 private:
  struct kept_trajectory {
    std::uint64_t number;
    trajectory_record record;
    gauge_configuration start, end;
  };
  struct offered_trajectory {
    std::uint64_t number;
    double dh, plaquette;
    bool accepted;
  };

  void add(const std::string& name, double value, double tolerance) {
    run_.result.checks.keep_worse({name, value, tolerance});
  }
  double force_tolerance() const;  ///< to which solves of forces can be repeated
  void judge_kept(molecular_dynamics& state);
  void judge_start(molecular_dynamics& state);
  void judge_forces(molecular_dynamics& state);
  void judge_last_force(molecular_dynamics& state);
  void judge_energy(molecular_dynamics& state, const energy_change& change);
  void judge_way_back(molecular_dynamics& state);

  app_run& run_;
  const hmc_options& options_;
  double seconds_ = 0.0;  ///< of all trajectories that were offered
  std::vector<offered_trajectory> offered_;
  std::vector<kept_trajectory> waiting_;
  std::vector<std::uint64_t> judged_;           ///< their numbers
  std::optional<kept_trajectory> kept_;         ///< the one that is judged now
  std::optional<gauge_configuration> momenta_;  ///< of its start, by the textbook
};

}  // namespace plaquette
