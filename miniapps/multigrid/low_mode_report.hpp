// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the lowest modes of gamma_5 M say: whether the configuration is exceptional at this mass, and how much of them
/// the null space holds.
#pragma once

#include <string>
#include <vector>

#include "common/app/report.hpp"
#include "miniapps/multigrid/multigrid_engine.hpp"

namespace plaquette {

/// Empty where nothing is wrong; else a sentence that says why a configuration is exceptional.
///
/// A mode's lambda crosses zero at the mass where M has a real mode, and d lambda / d mass is its chirality. So
/// lambda / chirality is the distance of the mass to that point. A quark of positive mass has lambda chirality > 0 in
/// all modes. One below zero, or one alone far below the others, makes M nearly singular and the propagator worthless.
std::string why_exceptional(const std::vector<low_mode>& modes);

/// [{value, residual, chirality, missed}]
json_document to_json(const std::vector<low_mode>& modes);
void print_modes(const std::vector<low_mode>& modes);

}  // namespace plaquette
