// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The speed of steps from drawn numbers, next to the figure of a run.
#pragma once

#include "miniapps/nodal-dg/wave_run.hpp"

namespace plaquette::nodal_dg {

/// The most seconds of a stage from drawn numbers, over those of the figure. The run's states may be somewhat faster
/// than random numbers, and a machine is not equally fast at all times. Work that is left out, prepared or put off
/// makes several times the speed.
inline constexpr double slowest_trial = 1.5;

/// Steps from drawn numbers, made twice.
struct speed_trial {
  double share = 0.0;              ///< seconds of a stage at best, over those of the figure; 0 if the run was stopped
  double energy_difference = 0.0;  ///< as of step_evidence
  bool same_between = true;        ///< likewise
};

/// Times steps from random numbers that are drawn at this moment: no work could be done for them before. The clock ends
/// when the energy of their end is known: no work is left for later. The steps are made again too. Leaves the solver
/// with another state. Collective.
/// \param of_stage  seconds of a stage by the figure of the run
/// \param begin     the time at which steps begin
speed_trial try_speed(const wave_run& run, double of_stage, double begin);

}  // namespace plaquette::nodal_dg
