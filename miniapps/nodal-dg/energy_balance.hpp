// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The energy of a run against what its sides, faces and sources take and give.
#pragma once

#include <cstdint>
#include <vector>

namespace plaquette::nodal_dg {

/// The energy of the first state at times of a run, and the rate at which it should change then. Between two times it
/// changes by the integral of the rate.
class energy_balance {
 public:
  /// \param loss  of the time steps, a step: what they are expected to take besides
  void note(double time, std::int64_t steps, double energy, double rate, double loss);

  struct result {
    double defect = 0.0;     ///< |change - integral| of the interval where it is worst, over the largest energy
    double tolerance = 0.0;  ///< likewise; infinity where nothing can be said
    double growth = 0.0;     ///< largest growth of the energy in an interval, over the largest energy
    double uncertain = 0.0;  ///< sum of all tolerances, over the largest energy
  };
  /// Returns the rate is integrated as the cubic polynomial through four times. That may be wrong by some times what
  /// differs from the trapezoidal rule there and in two intervals on both sides. To that come the loss and rounding.
  /// \param unit_roundoff  of the numbers of the state
  /// \param of_sums        relative, of two energies: what adding up leaves
  /// \param mismatch       relative, of faces that should lie on each other: the scheme loses energy there
  result judge(double unit_roundoff, double of_sums, double mismatch) const;

 private:
  struct moment {
    double time;
    std::int64_t steps;
    double energy, rate, loss;
  };
  std::vector<moment> moments_;
};

}  // namespace plaquette::nodal_dg
