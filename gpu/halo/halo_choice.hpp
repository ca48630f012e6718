// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which way a halo takes, where the user leaves it open.
#pragma once

#include <memory>

#include "gpu/halo/halo.hpp"
#include "gpu/tuning/tuner.hpp"

namespace plaquette::gpu {

/// Returns the halo of this rank by the policy of the options. With `automatic` the tuner chooses. An exchange of the
/// faces of a field in single precision is timed by every policy that there is, on all ranks together. The slowest rank
/// counts, and the first rank's tuner remembers. With the tuner off it is the halo's own order of preference.
/// Collective.
std::shared_ptr<halo> make_halo(const lattice_geometry& geometry, const communicator& comm, const queue& q,
                                const rank_options& options, const std::shared_ptr<watchdog>& watch, tuner& choices);

}  // namespace plaquette::gpu
