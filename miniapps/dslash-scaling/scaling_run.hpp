// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The run of the mini-app from its options to its exit status.
#pragma once

#include "common/comms/communicator.hpp"
#include "common/error.hpp"
#include "miniapps/dslash-scaling/scaling_options.hpp"

namespace plaquette::scaling {

/// Makes or reads the configuration, checks each operator, times it, reports. Collective.
exit_status run_scaling(scaling_options options, const communicator& world);

}  // namespace plaquette::scaling
