// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Stout smearing of gauge configurations on the device.
#pragma once

#include "common/lattice/stout_smearing.hpp"
#include "gpu/gauge/gauge_fields.hpp"

namespace plaquette::gpu {

/// Returns the links after this number of steps, put back into SU(3) after each; gauge covariant. (Morningstar,
/// Peardon, hep-lat/0311018)
/// \param links  in SU(3)
/// Returns a configuration of its own. The bits of one rank on any process grid. Throws input_error for parameters that
/// cannot be used. Collective.
gauge_configuration stout_smeared(const gauge_configuration& links, const stout_smearing& smearing);

}  // namespace plaquette::gpu
