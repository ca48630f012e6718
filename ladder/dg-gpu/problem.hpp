// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all rungs of this ladder start from: the problem of the ladder dg-cpu, in the memory of a GPU. A state is
/// [field][element][node] on all rungs, so that threads of neighbouring nodes read neighbouring numbers.
#pragma once

#include "ladder/device.hpp"
#include "ladder/dg-cpu/problem.hpp"

namespace ladder::dg_gpu {

using dg::faces, dg::fields, dg::nfp, dg::np;
inline constexpr int stages = dg::steps * plaquette::lserk4::stages, face_nodes = faces * nfp;

template <class R>
struct vector3 {
  R v[3];
  LADDER_BOTH R& operator[](int i) { return v[i]; }
  LADDER_BOTH const R& operator[](int i) const { return v[i]; }
};
template <class R>
LADDER_BOTH R dot(const vector3<R>& a, const vector3<R>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
template <class R>
LADDER_BOTH vector3<R> cross(const vector3<R>& a, const vector3<R>& b) {
  return {{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]}};
}

/// What kernels take of the mesh. Vectors are [element][a], normals [element][face].
template <class R>
struct tables {
  int elements;
  const R *derivative, *lift;         ///< [a][n][m], [n][face][m]
  const vector3<R>*metric, *tangent;  ///< grad r_a, and d x / d r_a times det(grad r) = 1 / J
  const vector3<R>* normal;
  const R* scale;                    ///< [element][face]
  const int *behind, *node_of_face;  ///< dg::problem::vmap_p, and [face][m]

  LADDER_BOTH int at(int field, int element, int node) const { return (field * elements + element) * np + node; }

  /// Computes Fscale times the upwind fluxes of H and E at a node of a face, as on rung 1 of dg-cpu.
  LADDER_BOTH void fluxes(R (&flux)[fields], const R* q, int element, int face, int m) const {
    const int inside = at(0, element, node_of_face[face * nfp + m]), field = elements * np;
    const int there = behind[(element * faces + face) * nfp + m];
    vector3<R> dh, de;
    for (int i = 0; i < 3; ++i) {
      const R h = q[inside + i * field], e = q[inside + (3 + i) * field];
      dh[i] = there < 0 ? 0 : q[there + i * field] - h;
      de[i] = there < 0 ? -2 * e : q[there + (3 + i) * field] - e;
    }
    const vector3<R> n = normal[element * faces + face], n_de = cross(n, de), n_dh = cross(n, dh);
    const R along_h = dot(n, dh), along_e = dot(n, de), half = scale[element * faces + face] / 2;
    for (int i = 0; i < 3; ++i) {
      flux[i] = half * (dh[i] - n[i] * along_h - n_de[i]);
      flux[3 + i] = half * (de[i] - n[i] * along_e + n_dh[i]);
    }
  }
};

/// rate = (-curl E, curl H) at node n: u(field, m) gives the fields of the element.
template <class R, class Fields>
LADDER_BOTH void add_curls(R (&rate)[fields], const tables<R>& t, int element, int n, const Fields& u) {
  vector3<R> gradient[fields]{};  // by the chain rule
  for (int a = 0; a < 3; ++a) {
    R along[fields]{};
    for (int m = 0; m < np; ++m)
      for (int f = 0; f < fields; ++f) along[f] += t.derivative[(a * np + n) * np + m] * u(f, m);
    for (int f = 0; f < fields; ++f)
      for (int i = 0; i < 3; ++i) gradient[f][i] += t.metric[element * 3 + a][i] * along[f];
  }
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    rate[i] -= gradient[3 + k][j] - gradient[3 + j][k];
    rate[3 + i] += gradient[k][j] - gradient[j][k];
  }
}

template <class R>
struct begin_body {
  const R* from;
  R *q, *k;
  LADDER_BOTH void operator()(int i) const { q[i] = from[i], k[i] = 0; }
};

/// A rung whose numbers have precision R. do_stage(a, b) does a stage of LSERK4, k = a k + dt rate and q += b k.
template <class R>
class dg_rung : public rung {
 public:
  dg_rung(size s, std::uint64_t seed)
      : p(s, seed),
        start_(converted(p.state)),
        q_{device_array<R>(start_.numbers()), device_array<R>(start_.numbers())},
        k_(start_.numbers()),
        derivative_(derivatives()),
        lift_(lifts()),
        metric_(vectors(3, [](const auto& g, std::size_t a) { return g.metric[a]; })),
        tangent_(vectors(3,
                         [](const auto& g, std::size_t a) {
                           const auto &b = g.metric[(a + 1) % 3], &c = g.metric[(a + 2) % 3];
                           return std::array<double, 3>{b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2],
                                                        b[0] * c[1] - b[1] * c[0]};
                         })),
        normal_(vectors(faces, [](const auto& g, std::size_t face) { return g.normal[face]; })),
        scale_(scales()),
        behind_(std::vector<int>(p.vmap_p.begin(), p.vmap_p.end())),
        node_of_face_(nodes_of_faces()) {}

  void run() override {
    now_ = 0;
    for_each_index(int(p.state.size()), begin_body<R>{start_.data(), q(), k_.data()});
    for (int stage = 0; stage < stages; ++stage)
      do_stage(R(plaquette::lserk4::a[std::size_t(stage % plaquette::lserk4::stages)]),
               R(plaquette::lserk4::b[std::size_t(stage % plaquette::lserk4::stages)]));
  }
  std::vector<double> result() const override {
    const auto from = q_[now_].numbers();
    return {from.begin(), from.end()};
  }
  double bytes() const override {
    const double geometry = metric_.bytes() + normal_.bytes() + scale_.bytes() + behind_.bytes();
    return stages * (states_of_stage() * start_.bytes() + geometry);
  }

 protected:
  virtual void do_stage(R a, R b) = 0;
  /// Returns how often a stage reads or writes as many numbers as a state has.
  virtual double states_of_stage() const = 0;

  R* q() const { return q_[now_].data(); }
  R* other_q() const { return q_[1 - now_].data(); }
  tables<R> mesh() const {
    return {p.elements,     derivative_.data(), lift_.data(),   metric_.data(),      tangent_.data(),
            normal_.data(), scale_.data(),      behind_.data(), node_of_face_.data()};
  }

  dg::problem p;
  device_array<R> start_, q_[2], k_;
  int now_ = 0;

 private:
  static std::vector<R> converted(const std::vector<double>& from) { return {from.begin(), from.end()}; }
  template <class Of>
  std::vector<vector3<R>> vectors(int count, const Of& of) const {
    std::vector<vector3<R>> to;
    for (const auto& g : p.domain.geometry)
      for (int k = 0; k < count; ++k) {
        const auto v = of(g, std::size_t(k));
        to.push_back({{R(v[0]), R(v[1]), R(v[2])}});
      }
    return to;
  }
  std::vector<R> scales() const {
    std::vector<R> to;
    for (const auto& g : p.domain.geometry)
      for (std::size_t face = 0; face < faces; ++face) to.push_back(R(g.face_scale[face]));
    return to;
  }
  std::vector<R> derivatives() const {
    std::vector<R> to;
    for (std::size_t a = 0; a < 3; ++a)
      for (int i = 0; i < np * np; ++i) to.push_back(R(p.domain.reference.derivative[a](i / np, i % np)));
    return to;
  }
  std::vector<R> lifts() const {
    std::vector<R> to;
    for (int i = 0; i < np * face_nodes; ++i) to.push_back(R(p.domain.reference.lift(i / face_nodes, i % face_nodes)));
    return to;
  }
  std::vector<int> nodes_of_faces() const {
    std::vector<int> to;
    for (int i = 0; i < face_nodes; ++i) to.push_back(p.domain.reference.node_of_face(i / nfp, i % nfp));
    return to;
  }

  device_array<R> derivative_, lift_;
  device_array<vector3<R>> metric_, tangent_, normal_;
  device_array<R> scale_;
  device_array<int> behind_, node_of_face_;
};

}  // namespace ladder::dg_gpu
