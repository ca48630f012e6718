// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// APE and HYP smearing of gauge configurations. Stout smearing is in stout.hpp.
#pragma once

#include "common/comms/communicator.hpp"
#include "common/lattice/link_smearing.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu {

using plaquette::ape_smearing;
using plaquette::hyp_smearing;

/// Returns the links after the steps of a smearing. Gauge covariant. The same bits on any number of ranks and threads.
/// Links in, and out, have their ghosts filled. Throws input_error for parameters that make no sense. Collective.
gauge_configuration ape_smeared(const gauge_configuration& links, const ape_smearing& smearing,
                                const communicator& comm);
gauge_configuration hyp_smeared(const gauge_configuration& links, const hyp_smearing& smearing,
                                const communicator& comm);

}  // namespace plaquette::cpu
