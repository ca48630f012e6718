// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The report of a run: numbers, lines and files.
#pragma once

#include <span>

#include "miniapps/nodal-dg/wave_run.hpp"

namespace plaquette::nodal_dg {

/// Notes sizes, steps and energies.
void note_results(const wave_run& run, const steps_made& made);

/// Notes the fields of a state at the probes. Collective.
void note_probes(const wave_run& run, std::span<const double> state);

/// Notes the speed of a stage, with its share of the machine's speed. Collective.
void note_speed(const wave_run& run, const steps_made& made);

/// Writes the energies, and of a run that was not stopped the fields of a state. Collective.
void write_files(const wave_run& run, const steps_made& made, std::span<const double> state);

/// Notes the seconds of judging.
void note_judging(const wave_run& run, double seconds);

}  // namespace plaquette::nodal_dg
