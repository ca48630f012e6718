// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What H takes in all stages, against what the machine can give.
#pragma once

#include "miniapps/overlap-propagator/overlap_stages.hpp"

namespace plaquette {

/// Returns how links of H are stored: the third row of a link is made of the others where that costs no digit, and
/// where memory is what counts.
reconstruct stored_links(const app_run& run, const gauge_input& gauge);

/// Adds figures of H to the report: over all stages, and of twelve columns in each precision.
void note_figures(overlap_stages& stages);

}  // namespace plaquette
