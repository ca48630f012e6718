// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where a rank runs.
#pragma once

#include <string>

namespace plaquette {

class communicator;

/// Returns the name of this process's host, "unknown" where the system does not tell.
std::string host_name();

/// Returns the number of ranks of `world` on this rank's host. Collective.
int ranks_on_this_host(const communicator& world);

}  // namespace plaquette
