// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The checkpoint of a run, from which a later run continues.
#pragma once

#include <vector>

#include "miniapps/nodal-dg/wave_run.hpp"

namespace plaquette::nodal_dg {

/// Writes the checkpoint of a run that continues from these states. Collective.
/// \param finished  the run is at its end, and all its files are there
void keep_checkpoint(const wave_run& run, const dg_progress& done, const std::vector<double>& states, bool finished);

/// Keeps the checkpoint of a run that was stopped. A later run continues from the end of the last stretch that was made
/// again, so that no step before it was made only once. If all stretches were, it continues from the states before the
/// steps that are judged last. Collective.
void keep_what_was_judged(const wave_run& run, const steps_made& made);

}  // namespace plaquette::nodal_dg
