// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Judges the lowest modes of gamma_5 M: whether the configuration is exceptional at this mass, and how much of them
/// the null space holds.
#pragma once

#include <string>
#include <vector>

#include "common/app/report.hpp"
#include "common/solvers/multigrid_solver.hpp"
#include "miniapps/shared/gauge_input.hpp"

namespace plaquette {

/// Returns an empty text if nothing is wrong; else a sentence that says why a configuration is exceptional.
///
/// Of H = gamma_5 M a mode v has d lambda / d mass = <v, gamma_5 v>, its chirality, and lambda chirality = <v, M v>. A
/// quark of positive mass has <v, M v> > 0 in all low modes. If it is negative in one, |lambda| falls as the mass
/// rises: a real mode of M lies below zero (chirality near 1), or the mass is below the critical one. Such a mode is
/// refused, and one alone far below the others, which makes M nearly singular and the propagator worthless. A mode that
/// is not known well enough to have a sign says nothing.
std::string why_exceptional(const std::vector<low_mode>& modes);

/// Adds the check that values, residuals and chiralities belong to the solver's vectors, by the textbook operator.
/// Collective.
/// \param two_rows  the solver stores two rows of each link, if links are in SU(3) to rounding
void check_modes(verification& checks, const std::vector<low_mode>& modes, int wanted, const multigrid_solver& solver,
                 const gauge_input& gauge, bool two_rows, const fermion_action& action, const communicator& world);

/// Returns [{value, residual, chirality, missed}]
json_document to_json(const std::vector<low_mode>& modes);
void print_modes(const std::vector<low_mode>& modes);

}  // namespace plaquette
