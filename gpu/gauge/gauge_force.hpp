// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The force of a gauge action on momenta, and the motion of links, on the device. common/gauge/force.hpp has the
/// conventions.
#pragma once

#include "common/lattice/loop_action.hpp"
#include "gpu/gauge/gauge_fields.hpp"

namespace plaquette::gpu {

/// A traceless, anti-Hermitian matrix a link.
using gauge_momenta = gauge_configuration;

/// Adds step dA/dt to the momenta. The bits of one rank on any process grid. Throws input_error for an action that
/// cannot be used, and if geometries differ. Collective.
void add_gauge_force(gauge_momenta& momenta, const gauge_configuration& links, const loop_action& action, double step);

/// Returns S(after) - S(before), summed as differences site by site: no digits are lost if S is large. Sums are in a
/// fixed order: the same bits run after run. Throws input_error as add_gauge_force does. Collective; waits.
double action_difference(const gauge_configuration& after, const gauge_configuration& before,
                         const loop_action& action);

/// Makes U = exp(step A) U of all links. Links are not put back into SU(3): that could not be reversed. The bits of the
/// CPU library. Throws input_error if geometries differ.
void move_links(gauge_configuration& links, const gauge_momenta& momenta, double step);

}  // namespace plaquette::gpu
