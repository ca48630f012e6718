// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Stout smearing of gauge configurations.
#pragma once

#include "common/comms/communicator.hpp"
#include "common/lattice/site_field.hpp"
#include "common/lattice/stout_smearing.hpp"

namespace plaquette::cpu {

/// Returns the links after this number of steps, put back into SU(3) after each; gauge covariant. (Morningstar,
/// Peardon, hep-lat/0311018)
/// \param links  in SU(3), ghosts filled
/// Returns a configuration with its ghosts filled. The same bits on any number of ranks and threads. Throws input_error
/// for parameters that cannot be used. Collective.
gauge_configuration stout_smeared(const gauge_configuration& links, const stout_smearing& smearing,
                                  const communicator& comm);

}  // namespace plaquette::cpu
