// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Variant 1: a whole stage as a gather, one index a node. It forms every flux again for each node of the element, and
/// is slow for that; the other variants are held to it.
#pragma once

#include "gpu/dg/dg_arrays.hpp"
#include "gpu/dg/wave_equations.hpp"

namespace plaquette::gpu::dg {

template <class Equations>
struct gather_stage {
  using T = typename Equations::real;
  static constexpr int fields = Equations::fields;
  using values = node_values<T, fields>;

  stage_arguments<T, fields> stage;

  std::int64_t count() const { return std::int64_t{stage.end - stage.begin} * stage.mesh.nodes * stage.columns; }

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const mesh_arrays<T>& mesh = stage.mesh;
    const std::int64_t row = index / mesh.nodes;
    const int n = static_cast<int>(index - row * mesh.nodes);
    const std::int64_t elements = stage.end - stage.begin, column = row / elements;
    const std::int64_t element = stage.begin + (row - column * elements);
    const values* const q = stage.in + column * stage.column_stride;

    T rhs[fields];
    add_volume(q + element * mesh.nodes, element, n, rhs);
    for (int face = 0; face < mesh.faces; ++face) add_face(q, element, face, n, rhs);

    const medium_constants<T> medium = read_medium(mesh, element);
    const std::int64_t place = element * mesh.nodes + n;
    values& residual = stage.residual[column * stage.residual_stride() + place];
    values& out = stage.out[column * stage.column_stride + place];
    const values in = q[place];
    for (int f = 0; f < fields; ++f) {
      const T k = stage.a * residual.f[f] + stage.dt * (Equations::constant(medium, f) * rhs[f]);
      residual.f[f] = k;
      out.f[f] = in.f[f] + stage.b * k;
    }
  }

 private:
  /// Adds derivatives along r, s, t by Dr, Ds, Dt, then along x, y, z by the chain rule.
  PLAQUETTE_HOST_DEVICE void add_volume(const values* q, std::int64_t element, int n, T (&rhs)[fields]) const {
    const mesh_arrays<T>& mesh = stage.mesh;
    T along_r[3][fields] = {};
    for (int k = 0; k < mesh.nodes; ++k) {
      const T* const d = mesh.derivative + (std::int64_t{k} * mesh.nodes + n) * 4;
      for (int f = 0; f < fields; ++f)
        for (int r = 0; r < 3; ++r) along_r[r][f] += d[r] * q[k].f[f];
    }
    const T* const m = mesh.geometry + element * 16 + 4;
    T along_x[3][fields];
    for (int x = 0; x < 3; ++x)
      for (int f = 0; f < fields; ++f)
        along_x[x][f] = m[x] * along_r[0][f] + m[4 + x] * along_r[1][f] + m[8 + x] * along_r[2][f];
    Equations::volume(along_x, rhs);
  }
  PLAQUETTE_HOST_DEVICE void add_face(const values* q, std::int64_t element, int face, int n, T (&rhs)[fields]) const {
    const mesh_arrays<T>& mesh = stage.mesh;
    const decoded_link link = mesh.link(element, face);
    const face_side<T> side = read_face(mesh, element, face, link.code == static_cast<int>(open_code));
    for (int m = 0; m < mesh.face_nodes; ++m) {
      T difference[fields], flux[fields];
      face_difference<Equations>(mesh, q, element, face, m, link, difference);
      Equations::flux(side, difference, flux);
      const T weight = mesh.lift[std::int64_t{face * mesh.face_nodes + m} * mesh.nodes + n];
      for (int f = 0; f < fields; ++f) rhs[f] += weight * flux[f];
    }
  }
};

}  // namespace plaquette::gpu::dg
