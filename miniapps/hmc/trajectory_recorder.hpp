// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Trajectories and pieces of them that are kept to be judged: drawn by the clock when they are done, so that no
/// program could know them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/comms/communicator.hpp"
#include "common/hmc/trajectory.hpp"

namespace plaquette {

/// Operations that follow each other in a trajectory, and the states on both sides of them.
struct kept_piece {
  std::size_t first = 0, end = 0;           ///< operations, the last one excluded
  std::unique_ptr<md_state> before, after;  ///< of the first piece nothing is kept before: refresh makes it
  int renewals = 0;                         ///< of multigrid's vectors until its end
};

/// The record of one trajectory. The states stay on the device.
struct kept_trajectory {
  std::uint64_t number = 0;  ///< of its random numbers
  double dh = 0.0, plaquette = 0.0, seconds = 0.0;
  bool accepted = false;
  gauge_configuration start;        ///< links
  std::unique_ptr<md_state> end{};  ///< before the accept step
  kept_piece piece{};
  int renewals = 0;                                  ///< of multigrid's vectors until the end
  std::optional<double> distance_after_rejection{};  ///< of the restored links from the links of the start
};

/// Keeps up to `slots` trajectories of all that are made, each with the same chance, and a piece of each.
class trajectory_recorder {
 public:
  static constexpr std::size_t pieces = 16;  ///< of a trajectory, or fewer
  static constexpr std::size_t least = 4;    ///< operations of a piece, so that it has kicks and drifts
  static constexpr double shortest = 0.1;    ///< seconds: after a shorter trajectory the next one is one piece

  trajectory_recorder(const communicator& world, int slots) : world_(world), slots_(slots) {}

  /// Notes that one more operation of a trajectory was done. Keeps the piece that ends there with the same chance as
  /// every other piece of the trajectory. Collective.
  /// \param all  operations of the trajectory
  void note_operation(const molecular_dynamics& state, std::size_t all);
  /// Notes the end of a trajectory, after its accept step: draws whether it takes the place of one that is kept.
  /// Collective.
  void note_trajectory(const molecular_dynamics& state, std::uint64_t number, double dh, bool accepted,
                       double plaquette, double seconds);
  /// Notes that a trajectory was left before its end.
  void drop() { done_ = 0; }

  std::size_t offered() const { return offered_; }
  bool is_empty() const { return kept_.empty(); }
  /// Returns a kept trajectory that is drawn, and forgets it. Collective.
  kept_trajectory take();
  /// Forgets all that is kept.
  void clear();

 private:
  const communicator& world_;
  int slots_;
  std::size_t done_ = 0, pieces_done_ = 0;  ///< of the trajectory under way
  std::unique_ptr<md_state> boundary_;      ///< the state at the end of its last piece
  kept_piece piece_;                        ///< the one that is kept of it
  std::size_t offered_ = 0;
  double seconds_ = shortest;  ///< of the last trajectory
  std::vector<kept_trajectory> kept_;
};

}  // namespace plaquette
