// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The plaquette of a gauge configuration, and the trace of its links, on the device. Sums are in a fixed order: the
/// same bits run after run. The CPU library's are in another one, and agree to rounding.
#pragma once

#include "gpu/gauge/gauge_fields.hpp"

namespace plaquette::gpu {

/// NaN if a link is. Collective; waits.
plaquettes measure_plaquettes(const gauge_configuration& links);

/// Returns `measure_plaquettes(links).average`. Collective; waits.
double average_plaquette(const gauge_configuration& links);

/// Returns the average of Re tr R / 3 over the rectangles R of two by one links, 12 a site; NaN if a link is.
/// Collective; waits.
double mean_rectangle(const gauge_configuration& links);

/// Returns the average of Re tr U / 3 over all links (the LINK_TRACE of a NERSC header). Collective; waits.
double link_trace(const gauge_configuration& links);

}  // namespace plaquette::gpu
