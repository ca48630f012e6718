// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A quark propagator on the host.
#pragma once

#include <vector>

#include "common/lattice/site_field.hpp"

namespace plaquette {

/// S = M^-1 from one source, in the normalisation of M: column 3 * (source spin) + (source colour) holds S(x) b of that
/// source. DeGrand-Rossi basis. Twelve columns.
using propagator = std::vector<spinor_configuration>;

}  // namespace plaquette
