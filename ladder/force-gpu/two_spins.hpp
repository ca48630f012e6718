// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 3 brings: four outer products a hop and a leaf. A thread then makes all four links of a site, and the
/// force begins as G of the hops.
#pragma once

#include "ladder/force-cpu/half_spinor.hpp"
#include "ladder/force-gpu/problem.hpp"

namespace ladder::force_gpu {

struct leaf_of_four_products_body {
  device_fields<site_order> f;

  LADDER_BOTH void operator()(int index) const {
    const int site = index % f.l.sites, plane = index / f.l.sites;
    f.set_leaf(site, plane, leaf_of_four_products(f, site, first_of(plane), second_of(plane)));
  }
};

struct hops_body {
  device_fields<site_order> f;

  LADDER_BOTH void operator()(int site) const {
    for_hops_of_site(f, site, [&](int mu, const matrix& hops) { f.set_force(site, mu, hops); });
  }
};

/// Adds the loops of the clover term to G of the hops, of a link.
template <class Loops>
struct clover_body {
  device_fields<site_order> f;
  Loops loops;

  LADDER_BOTH void operator()(int index) const {
    const int site = index % f.l.sites, mu = index / f.l.sites;
    f.set_force(site, mu, 0.5 * traceless_antihermitian(f.force(site, mu) + loops(f, site, mu)));
  }
};

}  // namespace ladder::force_gpu
