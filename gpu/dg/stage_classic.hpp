// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Variant 2: the three kernels of the gpuDG page and of MIDG (A. Kloeckner, T. Warburton, J. Bridge, J. S. Hesthaven,
/// J. Comput. Phys. 228 (2009) 7863): volume and surface with one block an element and one thread a node, then the
/// Runge-Kutta update. The right-hand side goes through memory twice.
#pragma once

#include <algorithm>

#include "gpu/dg/dg_arrays.hpp"
#include "gpu/dg/wave_equations.hpp"

namespace plaquette::gpu::dg {

/// Returns the threads of a block: the nodes of an element, filled up to warps.
inline int threads_of_element(int nodes) { return (nodes + 31) / 32 * 32; }

template <class Equations>
struct classic_kernel {
  using T = typename Equations::real;
  static constexpr int fields = Equations::fields;
  using values = node_values<T, fields>;

  stage_arguments<T, fields> stage;
  values* rhs;  ///< [column][element][node]

  struct place {
    std::int64_t column, element;
  };
  PLAQUETTE_HOST_DEVICE place place_of(std::int64_t block) const {
    const std::int64_t elements = stage.end - stage.begin, column = block / elements;
    return {column, stage.begin + (block - column * elements)};
  }
  std::int64_t blocks() const { return std::int64_t{stage.end - stage.begin} * stage.columns; }
};

/// Computes the interior's part of rhs.
template <class Equations>
struct classic_volume : classic_kernel<Equations> {
  using base = classic_kernel<Equations>;
  using typename base::T;
  using typename base::values;
  static constexpr int fields = base::fields;

  int shared_bytes() const { return this->stage.mesh.nodes * static_cast<int>(sizeof(values)); }

  PLAQUETTE_HOST_DEVICE void first(std::int64_t block, int n, int /*threads*/, std::byte* shared) const {
    const auto [column, element] = this->place_of(block);
    const int nodes = this->stage.mesh.nodes;
    if (n < nodes)
      reinterpret_cast<values*>(shared)[n] = this->stage.in[column * this->stage.column_stride + element * nodes + n];
  }
  PLAQUETTE_HOST_DEVICE void second(std::int64_t block, int n, int /*threads*/, const std::byte* shared) const {
    const auto [column, element] = this->place_of(block);
    const mesh_arrays<T>& mesh = this->stage.mesh;
    if (n >= mesh.nodes) return;
    const auto* const q = reinterpret_cast<const values*>(shared);
    const auto* const d = reinterpret_cast<const node_values<T, 4>*>(mesh.derivative);
    T along_r[3][fields] = {};
#pragma unroll 4
    for (int k = 0; k < mesh.nodes; ++k) {
      const node_values<T, 4> row = d[k * mesh.nodes + n];
      const values at = q[k];
      PLAQUETTE_GPU_UNROLL
      for (int r = 0; r < 3; ++r) {
        PLAQUETTE_GPU_UNROLL
        for (int f = 0; f < fields; ++f) along_r[r][f] += row.f[r] * at.f[f];
      }
    }
    const T* const m = mesh.geometry + element * 16 + 4;
    T along_x[3][fields], result[fields];
    PLAQUETTE_GPU_UNROLL
    for (int x = 0; x < 3; ++x) {
      PLAQUETTE_GPU_UNROLL
      for (int f = 0; f < fields; ++f)
        along_x[x][f] = m[x] * along_r[0][f] + m[4 + x] * along_r[1][f] + m[8 + x] * along_r[2][f];
    }
    Equations::volume(along_x, result);
    values& to = this->rhs[column * this->stage.residual_stride() + element * mesh.nodes + n];
    PLAQUETTE_GPU_UNROLL
    for (int f = 0; f < fields; ++f) to.f[f] = result[f];
  }
};

/// Adds the faces' part to rhs.
template <class Equations>
struct classic_surface : classic_kernel<Equations> {
  using base = classic_kernel<Equations>;
  using typename base::T;
  using typename base::values;
  static constexpr int fields = base::fields;

  int shared_bytes() const {
    return this->stage.mesh.faces * this->stage.mesh.face_nodes * static_cast<int>(sizeof(values));
  }

  PLAQUETTE_HOST_DEVICE void first(std::int64_t block, int thread, int threads, std::byte* shared) const {
    const auto [column, element] = this->place_of(block);
    const mesh_arrays<T>& mesh = this->stage.mesh;
    const values* const q = this->stage.in + column * this->stage.column_stride;
    for (int fm = thread; fm < mesh.faces * mesh.face_nodes; fm += threads) {
      const int face = fm / mesh.face_nodes, m = fm - face * mesh.face_nodes;
      const decoded_link link = mesh.link(element, face);
      T difference[fields], flux[fields];
      face_difference<Equations>(mesh, q, element, face, m, link, difference);
      Equations::flux(read_face(mesh, element, face, link.code == static_cast<int>(open_code)), difference, flux);
      values& to = reinterpret_cast<values*>(shared)[fm];
      PLAQUETTE_GPU_UNROLL
      for (int f = 0; f < fields; ++f) to.f[f] = flux[f];
    }
  }
  PLAQUETTE_HOST_DEVICE void second(std::int64_t block, int n, int /*threads*/, const std::byte* shared) const {
    const auto [column, element] = this->place_of(block);
    const mesh_arrays<T>& mesh = this->stage.mesh;
    if (n >= mesh.nodes) return;
    values& to = this->rhs[column * this->stage.residual_stride() + element * mesh.nodes + n];
    T sum[fields];
    PLAQUETTE_GPU_UNROLL
    for (int f = 0; f < fields; ++f) sum[f] = to.f[f];
#pragma unroll 4
    for (int fm = 0; fm < mesh.faces * mesh.face_nodes; ++fm) {
      const T weight = mesh.lift[fm * mesh.nodes + n];
      const values flux = reinterpret_cast<const values*>(shared)[fm];
      PLAQUETTE_GPU_UNROLL
      for (int f = 0; f < fields; ++f) sum[f] += weight * flux.f[f];
    }
    const medium_constants<T> medium = read_medium(mesh, element);
    PLAQUETTE_GPU_UNROLL
    for (int f = 0; f < fields; ++f) to.f[f] = Equations::constant(medium, f) * sum[f];
  }
};

/// residual = a residual + dt rhs; out = in + b residual.
template <class Equations>
struct classic_update : classic_kernel<Equations> {
  using base = classic_kernel<Equations>;
  using typename base::values;

  std::int64_t count() const { return this->blocks() * this->stage.mesh.nodes; }
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t nodes = this->stage.mesh.nodes, row = index / nodes;
    const auto [column, element] = this->place_of(row);
    const std::int64_t node = element * nodes + (index - row * nodes);
    const std::int64_t of_residual = column * this->stage.residual_stride() + node;
    const std::int64_t of_state = column * this->stage.column_stride + node;
    const values right = this->rhs[of_residual];
    values k = this->stage.residual[of_residual], q = this->stage.in[of_state];
    PLAQUETTE_GPU_UNROLL
    for (int f = 0; f < base::fields; ++f) {
      k.f[f] = this->stage.a * k.f[f] + this->stage.dt * right.f[f];
      q.f[f] += this->stage.b * k.f[f];
    }
    this->stage.residual[of_residual] = k;
    this->stage.out[of_state] = q;
  }
};

}  // namespace plaquette::gpu::dg
