// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links of a file that are a little off SU(3).
#pragma once

#include <string>

#include "common/comms/communicator.hpp"
#include "common/io/gauge_file.hpp"

namespace plaquette {

/// Puts all links back into SU(3); zero ones of an open boundary stay. Returns a line on the repairs. Collective.
std::string reunitarise(gauge_configuration& links, const gauge_file_header& header, const communicator& world);

}  // namespace plaquette
