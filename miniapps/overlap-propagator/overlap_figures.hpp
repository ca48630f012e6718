// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The speed of H in all stages, against the limits of the machine.
#pragma once

#include "miniapps/overlap-propagator/overlap_stages.hpp"

namespace plaquette {

/// Returns how links of H are stored. The third row of a link is computed from the others if that costs no digit, and
/// if the links do not fit into a cache.
reconstruct stored_links(const app_run& run, const gauge_input& gauge);

/// Adds figures of H to the report: over all stages, and of twelve columns in each precision.
void note_figures(overlap_stages& stages);

}  // namespace plaquette
