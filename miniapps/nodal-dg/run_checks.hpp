// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The checks of a run: each judges the results of the steps, and adds a line to the report.
#pragma once

#include <string>
#include <vector>

#include "common/app/bit_sum.hpp"
#include "common/app/verification.hpp"
#include "miniapps/nodal-dg/wave_run.hpp"

namespace plaquette::nodal_dg {

/// Compares two steps with two of the textbook from the same beginning, for --check. Collective.
void check_steps(const wave_run& run, const std::vector<double>& beginning);

/// Checks that all states are the first one, scaled: to the last bit. Collective.
void check_states(const wave_run& run, const std::vector<double>& states);

/// Checks energies and judged steps, and the speed of a run that was not stopped. Collective.
/// \param trial  see try_speed()
void check_energy(const wave_run& run, const steps_made& made, double trial);

/// Compares the right-hand side with the textbook's at the end of the timed steps, on drawn elements. The unit is the
/// largest number that the scheme can make of numbers of that size: |q| (N + 1)^2 Fscale c / 2. Collective.
void check_against_textbook(const wave_run& run, const std::vector<double>& states);

/// Compares the last timed steps with the textbook's, from the state that they began with. Collective.
void check_last_steps(const wave_run& run, const steps_made& made, const std::vector<double>& states);

/// Checks |q_h - I q| <= (time) * (truncation error). The scheme loses energy, so that errors add up and do not grow.
/// LSERK4 adds (w dt)^5 / 120 a step, and roundings come to that. If this allows an error as large as the solution, the
/// exact solution is no check, and the run says so. Collective.
void check_solution(const wave_run& run, const steps_made& made, const std::vector<double>& states);

/// Checks that each piece of the run begins with the last state of the piece before, and that the judged states are the
/// written ones. Collective.
void check_bits(const wave_run& run, const steps_made& made, const bit_sum& judged, const std::vector<double>& states);

/// Returns the checks of this and earlier parts of the run that have failed so far, without the checks of speed.
/// Collective.
verification failures_of(const wave_run& run, const steps_made& made);

/// Returns the sum of the bits of all states.
bit_sum sum_of(const std::vector<double>& states);

}  // namespace plaquette::nodal_dg
