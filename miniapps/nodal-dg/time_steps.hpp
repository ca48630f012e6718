// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The time steps of a run: made on the clock, and made again off it.
#pragma once

#include "miniapps/nodal-dg/wave_run.hpp"

namespace plaquette::nodal_dg {

/// Makes the steps of the run in stretches. Each stretch is made again, step by step, and ends in the same bits, or a
/// check fails: steps that were left out, and bits that flipped, are seen wherever they were. Of each stretch some
/// steps, drawn by the clock when it was over, are judged by their right-hand sides and their energy. Keeps
/// checkpoints, and one where the run is stopped. Collective.
void make_steps(wave_run& run);

/// Keeps the checkpoint of a run that was stopped after its last step: it goes on from before the steps that are judged
/// last. Collective.
void keep_before_the_end(wave_run& run);

/// Times steps from random numbers that are drawn at this moment, so that no work could be done for them before, and
/// ends the clock when the energy of their end is known, so that none is left for later. They are made again too. Notes
/// what a stage takes at best, over what it takes by the figure of the run. Collective.
void try_speed(wave_run& run);

}  // namespace plaquette::nodal_dg
