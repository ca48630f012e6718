// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Trajectories that are drawn after they were made, judged by the textbook: H at both ends, a drawn piece of the way
/// made again and back, forces. If the time allows it, whole trajectories are made again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "miniapps/hmc/chain_store.hpp"
#include "miniapps/hmc/trajectory_recorder.hpp"
#include "miniapps/shared/app_run.hpp"

namespace plaquette {

/// Seconds by name, in the order of their first use.
class part_seconds {
 public:
  /// Adds the seconds of some work, and returns its result.
  template <class Work>
  auto operator()(const std::string& name, Work&& work) {
    const addition at_end{*this, name};
    return work();
  }
  double total() const;
  json_document document() const;
  /// Returns "heat bath 1.2, forces 0.5", the seconds of each part.
  std::string describe() const;

 private:
  struct addition {
    part_seconds& parts;
    const std::string& name;
    stopwatch watch{};
    ~addition() { parts.add(name, watch.seconds()); }
  };
  void add(const std::string& name, double seconds);
  std::vector<std::pair<std::string, double>> parts_;
};

/// Keeps a few trajectories of a run, and judges them. Keeps the numbers of all of them.
class trajectory_judge {
 public:
  static constexpr int judged_links = 64;  ///< at which forces are compared
  static constexpr int most_kept = 8;      ///< trajectories
  /// Seconds for whole trajectories and for more than one, at least, and as a share of the seconds of all trajectories.
  static constexpr double seconds = 2.0, share = 0.1;
  static constexpr double bytes = 0x1p28;  ///< for links and momenta of more than one trajectory
  static constexpr int states = 3;  ///< links and momenta that are kept of each, and as many of the one under way

  trajectory_judge(app_run& run, const hmc_options& options)
      : run_(run), options_(options), recorder_(run.world, slots(run.geometry)) {}

  /// Returns how many trajectories of this lattice are kept at most.
  static int slots(const lattice_geometry& geometry);

  /// Notes that a trajectory begins.
  void begin_trajectory() { recorder_.drop(); }
  /// Notes that an operation of the plan was done. Collective.
  void note_operation(const molecular_dynamics& state) {
    recorder_.note_operation(state, options_.plan.operations.size());
  }
  /// Draws whether this trajectory takes the place of one that is kept. Collective.
  void offer(const molecular_dynamics& state, std::uint64_t number, const trajectory_record& record);
  /// Judges kept trajectories and adds the checks, each with the value of the worst one. The first is always judged,
  /// more within their share of the time. Adds a check that fails if no trajectory was offered. Collective.
  /// \param companion  checks on another lattice. They are made once: with the first trajectory, while the textbook
  ///                   computes on the host if the device is a GPU and there is one rank.
  void judge(molecular_dynamics& state, const std::function<void()>& companion);
  /// Judges the heat bath and a piece of one trajectory of a warm-up, by the checks of the same names. Collective.
  /// \param state   has the action
  /// \param action  as the options have it for this trajectory
  void judge_warm_up(molecular_dynamics& state, const hybrid_action& action, const kept_trajectory& kept);
  /// Adds the check that the history has all trajectories of this run, as they were offered, and no others.
  /// \param first  trajectory of this run
  void check_offered(const chain_state& state, int first) const;

  /// Seconds of the verdict by part.
  part_seconds& parts() { return parts_; }
  /// Returns the list of the judged trajectories and pieces of this run, for the report.
  json_document judged(int first) const;
  /// Returns the same as a sentence.
  std::string describe_judged(int first) const;

 private:
  struct offered_trajectory {
    std::uint64_t number;
    double dh, plaquette;
    bool accepted;
  };

  app_run& run_;
  const hmc_options& options_;
  trajectory_recorder recorder_;
  double seconds_ = 0.0;  ///< of all trajectories that were offered
  std::vector<offered_trajectory> offered_;
  std::vector<std::uint64_t> judged_, judged_whole_;  ///< their numbers
  part_seconds parts_;
};

}  // namespace plaquette
