// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The plaquette of a gauge configuration, and the trace of its links.
#pragma once

#include "common/comms/communicator.hpp"
#include "common/lattice/gauge_action.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu {

using plaquette::plaquettes;

/// Throws std::logic_error if the ghosts of `links` are not up to date (`exchange_ghosts`). The same bits for any
/// number of threads; process grids agree to rounding. NaN if a link is. Collective.
plaquettes measure_plaquettes(const gauge_configuration& links, const communicator& comm);

/// Returns `measure_plaquettes(links, comm).average`.
double average_plaquette(const gauge_configuration& links, const communicator& comm);

/// Returns the average of Re tr R / 3 over the rectangles R of two by one links, 12 a site; NaN if a link is. Throws as
/// measure_plaquettes does. Collective.
double mean_rectangle(const gauge_configuration& links, const communicator& comm);

/// Returns the average of Re tr U / 3 over all links (the LINK_TRACE of a NERSC header). Needs no ghosts. Collective.
double link_trace(const gauge_configuration& links, const communicator& comm);

}  // namespace plaquette::cpu
