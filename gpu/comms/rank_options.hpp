// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The names of this library for how several ranks, a GPU each, work together.
#pragma once

#include "common/comms/rank_options.hpp"

namespace plaquette::gpu {

using plaquette::halo_policy;
using plaquette::rank_options;
using plaquette::wait_mode;

}  // namespace plaquette::gpu
