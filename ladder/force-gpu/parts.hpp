// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 5 brings: a thread makes a plaquette, and writes the forces on its four links side by side. Threads that
/// added to the same link would disturb each other. A second kernel gathers a link's parts: of each of its six
/// plaquettes, three that begin at its site and three that begin one step below.
#pragma once

#include "ladder/force-gpu/two_spins.hpp"

namespace ladder::force_gpu {

/// The parts of a plane's four links, as real numbers [plane][link][number][site]. A Part is a matrix, or what stands
/// for one: Part::numbers of them, read and written by load and store.
template <class Part>
struct parts {
  device_fields<site_order> f;
  double* memory;

  LADDER_BOTH double* at(int plane, int link, int site) const {
    return memory + (4 * plane + link) * Part::numbers * f.l.sites + site;
  }
};

template <class Part>
struct plaquette_body {
  parts<Part> to;

  LADDER_BOTH void operator()(int index) const {
    const int site = index % to.f.l.sites, plane = index / to.f.l.sites;
    Part::for_links(to.f, site, first_of(plane), second_of(plane), [&](int number, const auto& part) {
      Part::store(to.at(plane, number - 1, site), to.f.l.sites, part);
    });
  }
};

/// Adds a link's parts to G of the hops.
template <class Part>
struct gather_body {
  parts<Part> from;

  LADDER_BOTH void operator()(int index) const {
    const device_fields<site_order>& f = from.f;
    const int site = index % f.l.sites, mu = index / f.l.sites;
    matrix sum = f.force(site, mu);
    for (int nu = 0; nu < 4; ++nu) {
      if (nu == mu) continue;
      // Of a plaquette the first and third link run along its first direction, the second and fourth along the other.
      const int own = mu < nu ? 0 : 3, passed = mu < nu ? 2 : 1, below = f.neighbour(site, nu, -1);
      sum = sum + (mu < nu ? 1.0 : -1.0) * (Part::load(from.at(plane(mu, nu), own, site), f.l.sites) -
                                            Part::load(from.at(plane(mu, nu), passed, below), f.l.sites));
    }
    f.set_force(site, mu, 0.5 * traceless_antihermitian(sum));
  }
};

/// A rung of these kernels.
template <class Part>
class parts_rung : public gpu_rung<site_order> {
 public:
  parts_rung(size s, std::uint64_t seed)
      : gpu_rung(s, seed), memory_(std::vector<double>(std::size_t(p.sites) * 24 * Part::numbers)) {}
  double bytes() const override { return gpu_rung::bytes() + 2 * memory_.bytes(); }
  void run() override {
    for_each_index(p.sites * 6, leaf_of_four_products_body{fields()});
    for_each_index(p.sites, hops_body{fields()});
    for_each_index(p.sites * 6, plaquette_body<Part>{{fields(), memory_.data()}});
    for_each_index(p.sites * 4, gather_body<Part>{{fields(), memory_.data()}});
  }

 private:
  device_array<double> memory_;
};

}  // namespace ladder::force_gpu
