// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The formula as two kernels: a thread makes one leaf, then a thread makes the force on one link.
#pragma once

#include "ladder/force-cpu/formula.hpp"
#include "ladder/force-gpu/problem.hpp"

namespace ladder::force_gpu {

template <class Order>
struct leaf_body {
  device_fields<Order> f;

  LADDER_BOTH void operator()(int index) const {
    const int site = index % f.l.sites, plane = index / f.l.sites;
    f.set_leaf(site, plane, leaf_at(f, site, first_of(plane), second_of(plane)));
  }
};

template <class Order>
struct force_body {
  device_fields<Order> f;

  LADDER_BOTH void operator()(int index) const {
    const int site = index % f.l.sites, mu = index / f.l.sites;
    f.set_force(site, mu, 0.5 * traceless_antihermitian(hopping_loops(f, site, mu) + clover_loops(f, site, mu)));
  }
};

}  // namespace ladder::force_gpu
