// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The run of the mini-app from its options to its exit status.
#pragma once

#include "common/comms/communicator.hpp"
#include "common/error.hpp"
#include "miniapps/mixed-precision-solver/solver_options.hpp"

namespace plaquette {

/// Makes or reads the configuration, solves (or reads a stored propagator), checks, measures, reports. Collective.
exit_status run_solver(const solver_options& options, const communicator& world);

}  // namespace plaquette
