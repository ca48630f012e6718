// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The one place that knows both libraries.
#pragma once

#include <memory>

#include "common/solvers/library.hpp"

namespace plaquette {

/// Returns the functions of a device's library that need no lattice; null if this build has no such library.
const platform* find_platform(device_kind device);

/// Opens a lattice on the device of each rank. Throws input_error if this build has no such library, or no device is
/// found. Collective.
std::shared_ptr<library> open_library(device_kind device, const lattice_geometry& geometry, const communicator& comm,
                                      const library_options& options = {});

}  // namespace plaquette
