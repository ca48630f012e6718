// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Updates of links and of momenta in place, link by link. Geometries are the same.
#pragma once

#include "common/comms/communicator.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu {

/// Copies links with their ghosts.
void assign(gauge_configuration& to, const gauge_configuration& from);

/// Makes every matrix zero. Ghosts do not change, here and in the following functions but for `reunitarise`.
void clear(gauge_configuration& matrices);

/// Computes p = a p + b f.
void combine(gauge_configuration& p, double a, const gauge_configuration& f, double b);

/// Puts every link back into SU(3), which rounding has led it out of, and fills the ghosts. Collective.
void reunitarise(gauge_configuration& links, const communicator& comm);

}  // namespace plaquette::cpu
