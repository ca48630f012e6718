// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A run of make-configuration: start, sweeps, measurements, files, verdict.
#pragma once

#include "common/comms/communicator.hpp"
#include "common/error.hpp"
#include "miniapps/make-configuration/configuration_options.hpp"

namespace plaquette {

/// Does what the options say; prints on rank 0. Throws the errors of error.hpp. Collective.
exit_status run_configuration(const configuration_options& options, const communicator& world);

}  // namespace plaquette
