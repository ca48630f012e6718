// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Variant 0: the first port of the gpuDG page. It ported a code in two dimensions that was written as products of
/// whole matrices, as in Matlab. The products go to cuBLAS, the work between them to kernels. A column of a matrix is
/// one field of one element. NOTES.md counts why it loses.
#pragma once

#include <algorithm>

#include "gpu/dg/dg_arrays.hpp"
#include "gpu/dg/wave_equations.hpp"

namespace plaquette::gpu::dg {

/// The arguments that the steps of a stage share. Elements begin <= e < end of one state; column f * count + (e -
/// begin) is field f.
template <class Equations>
struct products_kernel {
  using T = typename Equations::real;
  static constexpr int fields = Equations::fields, used = Equations::used;
  using values = node_values<T, fields>;

  stage_arguments<T, fields> stage;
  std::int64_t state;  ///< which one of the batch
  T* columns;          ///< [field][element][node]
  T* slopes;           ///< [field][element][direction][node]: derivatives along r, s, t
  T* flux;             ///< [field][element][face node]
  T* lifted;           ///< [field][element][node]
  int directions;      ///< 2 or 3

  PLAQUETTE_HOST_DEVICE std::int64_t elements() const { return stage.end - stage.begin; }
  PLAQUETTE_HOST_DEVICE const values* q() const { return stage.in + state * stage.column_stride; }
  PLAQUETTE_HOST_DEVICE std::int64_t column(int field, std::int64_t element) const {
    return field * elements() + element - stage.begin;
  }
};

/// columns = the state.
template <class Equations>
struct take_columns : products_kernel<Equations> {
  std::int64_t count() const { return this->elements() * this->stage.mesh.nodes; }
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t nodes = this->stage.mesh.nodes, element = this->stage.begin + index / nodes, n = index % nodes;
    const auto at = this->q()[element * nodes + n];
    for (int f = 0; f < Equations::used; ++f) this->columns[this->column(f, element) * nodes + n] = at.f[f];
  }
};

/// flux = Fscale times the flux at each face node.
template <class Equations>
struct form_fluxes : products_kernel<Equations> {
  using typename products_kernel<Equations>::T;

  PLAQUETTE_HOST_DEVICE std::int64_t of_element() const {
    return std::int64_t{this->stage.mesh.faces} * this->stage.mesh.face_nodes;
  }
  std::int64_t count() const { return this->elements() * of_element(); }
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const mesh_arrays<T>& mesh = this->stage.mesh;
    const std::int64_t element = this->stage.begin + index / of_element();
    const int fm = static_cast<int>(index % of_element());
    const int face = fm / mesh.face_nodes, m = fm - face * mesh.face_nodes;
    const decoded_link link = mesh.link(element, face);
    T difference[Equations::fields], through[Equations::fields];
    face_difference<Equations>(mesh, this->q(), element, face, m, link, difference);
    Equations::flux(read_face(mesh, element, face, link.code == static_cast<int>(open_code)), difference, through);
    for (int f = 0; f < Equations::used; ++f) this->flux[this->column(f, element) * of_element() + fm] = through[f];
  }
};

/// The chain rule, the right-hand side, and the update.
template <class Equations>
struct combine_and_update : products_kernel<Equations> {
  using typename products_kernel<Equations>::T;
  static constexpr int fields = Equations::fields;

  std::int64_t count() const { return this->elements() * this->stage.mesh.nodes; }
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const mesh_arrays<T>& mesh = this->stage.mesh;
    const std::int64_t nodes = mesh.nodes, element = this->stage.begin + index / nodes, n = index % nodes;
    const T* const metric = mesh.geometry + element * 16 + 4;
    T along_x[3][fields] = {}, rhs[fields] = {};
    for (int f = 0; f < Equations::used; ++f)
      for (int r = 0; r < this->directions; ++r) {
        const T slope = this->slopes[(this->column(f, element) * this->directions + r) * nodes + n];
        for (int x = 0; x < 3; ++x) along_x[x][f] += metric[4 * r + x] * slope;
      }
    Equations::volume(along_x, rhs);
    const medium_constants<T> medium = read_medium(mesh, element);
    const std::int64_t place = element * nodes + n;
    auto& residual = this->stage.residual[this->state * this->stage.residual_stride() + place];
    auto q = this->q()[place];
    for (int f = 0; f < Equations::used; ++f) {
      const T right = rhs[f] + this->lifted[this->column(f, element) * nodes + n];
      const T k = this->stage.a * residual.f[f] + this->stage.dt * (Equations::constant(medium, f) * right);
      residual.f[f] = k;
      q.f[f] += this->stage.b * k;
    }
    this->stage.out[this->state * this->stage.column_stride + place] = q;
  }
};

/// C = A B, column by column, one thread an entry: makes the products if there is no cuBLAS.
template <class T>
struct plain_product {
  std::int64_t rows, columns, inner;
  const T *a, *b;
  T* c;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t j = index / rows, i = index - j * rows;
    T sum = T(0);
    for (std::int64_t k = 0; k < inner; ++k) sum += a[k * rows + i] * b[j * inner + k];
    c[index] = sum;
  }
};

}  // namespace plaquette::gpu::dg
