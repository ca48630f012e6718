// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The exchange of sites that products on a coarse lattice need from other ranks.
#pragma once

#include "gpu/coarse/coarse_products.hpp"

namespace plaquette::gpu {

/// Queues the exchange of the sites of `in` that hops of other ranks lead to, and tells the products where theirs come.
/// Products wait for messages that kernels write, site by site; for messages that the host drives the queue waits. Does
/// nothing if no direction is cut. Collective.
template <class T>
void exchange_faces(coarse_products<T>& p, const coarse_field<T>& in);

}  // namespace plaquette::gpu
