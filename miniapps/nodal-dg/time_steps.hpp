// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The time steps of a run: made on the clock, and made again off it.
#pragma once

#include "miniapps/nodal-dg/wave_run.hpp"

namespace plaquette::nodal_dg {

/// Makes the steps of the run in stretches. Each stretch is made again, step by step, and must end in the same bits.
/// This finds steps that were left out and bits that flipped. Some steps of each stretch are drawn by the clock when it
/// is over, and are judged by their right-hand sides and their energy. Keeps checkpoints on the way. Collective.
void make_steps(wave_run& run);

/// Keeps the checkpoint of a run that was stopped: it goes on from the end of the last stretch that was made again. So
/// no step before it was made only once. Where all were, it goes on from before the steps that are judged last.
/// Collective.
void keep_what_was_judged(wave_run& run);

/// Times steps from random numbers that are drawn at this moment: no work could be done for them before. The clock ends
/// when the energy of their end is known: no work is left for later. The steps are made again too. Notes
/// what a stage takes at best, over what it takes by the figure of the run. Collective.
void try_speed(wave_run& run);

}  // namespace plaquette::nodal_dg
