// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all rungs of this ladder start from: Maxwell's equations H_t = -curl E, E_t = curl H in a box of tetrahedra
/// with conducting walls, order 3, and random fields. The operator is four time steps of LSERK4, 20 stages. Meshes and
/// the matrices of the reference element are the library's. Symbols are those of Hesthaven and Warburton (2008).
#pragma once

#include <cmath>

#include "common/dg/dg_solver.hpp"
#include "common/dg/lserk4.hpp"
#include "common/mesh/box_mesh.hpp"
#include "ladder/ladder.hpp"

namespace ladder::dg {

inline constexpr int order = 3, steps = 4, fields = 6;  ///< Hx Hy Hz Ex Ey Ez
inline constexpr int np = 20, nfp = 10, faces = 4;      ///< nodes of an element and of a face

inline int cells_of(size s) { return s == size::nano ? 2 : s == size::small ? 8 : 16; }

struct problem {
  plaquette::dg_domain domain;  ///< Dr Ds Dt, LIFT, metrics, normals, Fscale
  int elements;
  double dt;
  std::vector<double> state;         ///< [field][element][node]
  std::vector<std::int32_t> vmap_p;  ///< [element][face][m]: element * np + node behind a node of a face; -1: a wall

  problem(size s, std::uint64_t seed) : domain(domain_of(s)), elements(domain.elements()) {
    dt = stable_time_step(domain);
    std::mt19937_64 generator(seed);
    std::normal_distribution<double> normal;
    state.resize(std::size_t(fields * elements * np));
    for (double& v : state) v = normal(generator);
    for (int e = 0; e < elements; ++e)
      for (int face = 0; face < faces; ++face)
        for (int m = 0; m < nfp; ++m) {
          const auto& link = domain.part.links[std::size_t(e)][std::size_t(face)];
          const int there = link.is_boundary() ? 0 : domain.reference.matching_node(link.orientation, m);
          vmap_p.push_back(link.is_boundary() ? -1
                                              : link.element * np + domain.reference.node_of_face(link.face, there));
        }
  }
  std::size_t at(int field, int element, int node) const {
    return std::size_t((field * elements + element) * np + node);
  }

 private:
  static plaquette::dg_domain domain_of(size s) {
    const int n = cells_of(s);
    const auto mesh = plaquette::box_mesh({.cells = {n, n, n}, .shaking = 0.1});
    plaquette::dg_problem p;
    p.equations = plaquette::wave_equations::maxwell;
    p.boundaries.assign(mesh.boundary_tags.size(), plaquette::boundary_kind::reflecting);
    return make_domain(mesh, std::vector<std::int32_t>(mesh.elements.size()), order, p, {});
  }
};

/// Does the time steps: k = a k + dt f(q), q += b k. rate(out, q) computes f.
template <class V, class Rate>
void lserk4_steps(std::vector<V>& q, double dt, const Rate& rate) {
  std::vector<V> k(q.size()), f(q.size());
  for (int stage = 0; stage < steps * plaquette::lserk4::stages; ++stage) {
    const double a = plaquette::lserk4::a[stage % plaquette::lserk4::stages];
    const double b = plaquette::lserk4::b[stage % plaquette::lserk4::stages];
    rate(f.data(), q.data());
    for (std::size_t i = 0; i < q.size(); ++i) {
      k[i] = a * k[i] + dt * f[i];
      q[i] += b * k[i];
    }
  }
}

}  // namespace ladder::dg
