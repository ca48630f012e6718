// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The calculation: modes of H, sign function, modes of D, solutions, correlators; each judged.
#pragma once

#include "miniapps/overlap-propagator/overlap_options.hpp"
#include "miniapps/shared/app_run.hpp"

namespace plaquette {

/// Runs all stages of the options on the device of the run, with checks and report. Returns the exit status before the
/// verdict. Collective.
exit_status calculate_overlap(app_run& run, const overlap_options& options);

}  // namespace plaquette
