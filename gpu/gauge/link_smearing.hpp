// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// APE and HYP smearing of gauge configurations on the device. Stout smearing is in stout.hpp.
#pragma once

#include "common/lattice/link_smearing.hpp"
#include "gpu/gauge/gauge_fields.hpp"

namespace plaquette::gpu {

/// Returns the links after the steps of a smearing, as a configuration of its own. Gauge covariant. The bits of one
/// rank on any process grid. Throws input_error for parameters that make no sense. Collective.
gauge_configuration ape_smeared(const gauge_configuration& links, const ape_smearing& smearing);
/// Takes the memory of six more configurations, and of their ghosts.
gauge_configuration hyp_smeared(const gauge_configuration& links, const hyp_smearing& smearing);

}  // namespace plaquette::gpu
