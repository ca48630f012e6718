// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What products on a coarse lattice need of other ranks.
#pragma once

#include "gpu/coarse/coarse_products.hpp"

namespace plaquette::gpu {

/// Queues the exchange of the sites of `in` that hops of other ranks lead to, and tells the products where theirs come.
/// Products wait for messages that kernels write, site by site; for those that the host drives the queue waits. Nothing
/// where no direction is cut. Collective.
template <class T>
void exchange_faces(coarse_products<T>& p, const coarse_field<T>& in);

}  // namespace plaquette::gpu
