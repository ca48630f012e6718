// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The arrays that kernels of nodal discontinuous Galerkin read and write: nodes, geometry, links between elements.
///
/// A state is [column][node places]. The place of node n of element e is e Np + n. Behind the elements' nodes lie the
/// nodes of the ghost faces, Nfp each: messages of other ranks, and waves from outside. A place holds the numbers of
/// one node side by side.
#pragma once

#include <cstdint>

#include "common/algebra/complex.hpp"
#include "gpu/device/unroll.hpp"

namespace plaquette::gpu::dg {

/// The numbers of one node; of three fields the fourth is 0.
template <class T, int fields>
struct alignas(fields * sizeof(T) % 16 == 0 ? 16 : 8) node_values {
  T f[fields];
};

// The link behind a face is one number: block * 64 + code. The block is an element's number, or the number of a ghost
// face plus the number of elements. The code, below link_codes, chooses the row of the table that says where node m of
// the face finds its partner.
inline constexpr int link_code_bits = 6;
inline constexpr std::uint32_t link_codes = 35;
inline constexpr std::uint32_t first_ghost_code = 24;  ///< below: face * 6 + orientation of the neighbouring element
inline constexpr std::uint32_t open_code = 30;         ///< a ghost face where waves leave, upwind whatever the flux
inline constexpr std::uint32_t mirror_code = 31;       ///< + face: the element's own face, with one field negated

struct decoded_link {
  std::int32_t place;  ///< of the first node of the element, or the ghost face, in a column
  std::int32_t code;
  bool is_mirror;
};
/// \param ghost_shift  elements * (nodes - face_nodes), from a ghost's block to its place
PLAQUETTE_HOST_DEVICE inline decoded_link decode(std::uint32_t link, std::int32_t ghost_shift, std::int32_t nodes,
                                                 std::int32_t face_nodes) {
  const auto block = static_cast<std::int32_t>(link >> link_code_bits);
  const std::uint32_t code = link & ((1U << link_code_bits) - 1);
  const bool is_ghost = code - first_ghost_code <= open_code - first_ghost_code;
  return {block * (is_ghost ? face_nodes : nodes) + (is_ghost ? ghost_shift : 0), static_cast<std::int32_t>(code),
          code >= mirror_code};
}

/// Numbers of an element in `media`.
inline constexpr int media_numbers = 8;

/// A mesh on the device, in the precision of the kernels.
template <class T>
struct mesh_arrays {
  std::int32_t elements;
  int nodes, face_nodes, faces;
  /// [element][face 0..3][4]: m_f = 2 grad lambda_f (3 numbers), Fscale = |m_f|. m_1, m_2, m_3 are grad r, grad s, grad
  /// t; the outward normal is -m_f / Fscale. Of a triangle m_3 = 0.
  const T* geometry;
  const std::uint32_t* links;   ///< [element][4]
  const std::uint8_t* partner;  ///< [link_codes][Nfp]
  /// [element][8]: 1 / first, 1 / second, impedance, 0, impedance behind each face. Null if every medium is {1, 1}.
  const T* media;
  const T* derivative;  ///< [column k][row n][4]: Dr, Ds, Dt, 0
  const T* lift;        ///< [face node fm][row n]
  T upwinding;          ///< alpha of the flux, but at open faces

  PLAQUETTE_HOST_DEVICE decoded_link link(std::int64_t element, int face) const {
    return decode(links[element * 4 + face], elements * (nodes - face_nodes), nodes, face_nodes);
  }
};

/// One stage of the Runge-Kutta method for elements begin <= e < end of every column:
/// residual = a residual + dt rhs(in); out = in + b residual.
template <class T, int fields>
struct stage_arguments {
  mesh_arrays<T> mesh;
  const node_values<T, fields>* in;
  node_values<T, fields>* out;
  node_values<T, fields>* residual;  ///< [column][element][node]: no ghosts
  std::int64_t column_stride;        ///< places of a column of in and out
  int columns;
  std::int32_t begin, end;
  T a, b, dt;

  PLAQUETTE_HOST_DEVICE std::int64_t residual_stride() const { return std::int64_t{mesh.elements} * mesh.nodes; }
};

}  // namespace plaquette::gpu::dg
