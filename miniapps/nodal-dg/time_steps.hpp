// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The time steps of a run: made on the clock, and made again off it.
#pragma once

#include "miniapps/nodal-dg/wave_run.hpp"

namespace plaquette::nodal_dg {

/// Makes the steps of the run in stretches. Each stretch is made again, step by step, and must end in the same bits.
/// This finds steps that were left out and bits that flipped. Some steps of each stretch are drawn by the clock when it
/// is over, and are judged by their right-hand sides and their energy. Keeps checkpoints on the way. Collective.
/// \param before  the progress of the run that this one continues
steps_made make_steps(const wave_run& run, const dg_progress& before);

}  // namespace plaquette::nodal_dg
