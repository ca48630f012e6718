// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Updates of links and of momenta in place, link by link, on the device. Geometries are the same. The twin of
/// cpu_ref/gauge/link_arithmetic.hpp.
#pragma once

#include "gpu/gauge/gauge_fields.hpp"

namespace plaquette::gpu {

/// Copies links.
void assign(gauge_configuration& to, const gauge_configuration& from);

/// Makes every matrix zero.
void clear(gauge_configuration& matrices);

/// Computes p = a p + b f.
void combine(gauge_configuration& p, double a, const gauge_configuration& f, double b);

/// Puts every link back into SU(3), which rounding has led it out of.
void reunitarise(gauge_configuration& links);

}  // namespace plaquette::gpu
