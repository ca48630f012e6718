// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where a rank runs.
#pragma once

#include <string>

namespace plaquette {

/// Returns the name of this process's host, "unknown" where the system does not tell.
std::string host_name();

}  // namespace plaquette
