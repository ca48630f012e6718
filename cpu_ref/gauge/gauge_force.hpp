// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The force of a gauge action on momenta, and the motion of links. common/gauge/force.hpp has the conventions.
#pragma once

#include "common/comms/communicator.hpp"
#include "common/lattice/loop_action.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu {

/// A traceless, anti-Hermitian matrix a link. Their ghosts are not used.
using gauge_momenta = gauge_configuration;

/// Adds step dA/dt to the momenta. The same bits on any number of ranks and threads. Throws input_error for an action
/// that cannot be used, and if geometries differ. Collective.
/// \param links  ghosts filled
void add_gauge_force(gauge_momenta& momenta, const gauge_configuration& links, const loop_action& action, double step,
                     const communicator& comm);

/// Returns S(after) - S(before), summed as differences site by site: no digits are lost if S is large. Ghosts filled.
/// Throws input_error as add_gauge_force does. Collective.
double action_difference(const gauge_configuration& after, const gauge_configuration& before, const loop_action& action,
                         const communicator& comm);

/// Makes U = exp(step A) U of all links, and fills their ghosts. Links are not put back into SU(3): that could not be
/// reversed. The same bits on any number of ranks and threads, and in the CUDA library. Throws input_error if
/// geometries differ. Collective.
void move_links(gauge_configuration& links, const gauge_momenta& momenta, double step, const communicator& comm);

}  // namespace plaquette::cpu
