// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The reference triangle and tetrahedron of nodal discontinuous Galerkin methods: nodes, matrices, node lists of
/// faces. Symbols are those of J. S. Hesthaven, T. Warburton, Nodal Discontinuous Galerkin Methods (Springer 2008).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "common/mesh/simplex_mesh.hpp"

namespace plaquette {

/// Rows x columns doubles, row by row.
struct dense_matrix {
  int rows = 0, columns = 0;
  std::vector<double> values;

  dense_matrix() = default;
  dense_matrix(int r, int c) : rows(r), columns(c), values(static_cast<std::size_t>(r) * static_cast<std::size_t>(c)) {}
  double& operator()(int r, int c) {
    return values[static_cast<std::size_t>(r) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(c)];
  }
  double operator()(int r, int c) const {
    return values[static_cast<std::size_t>(r) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(c)];
  }
};
dense_matrix operator*(const dense_matrix& a, const dense_matrix& b);
dense_matrix transposed(const dense_matrix& a);

/// A point (r, s, t) of the reference element; t = 0 on the triangle.
using reference_point = std::array<double, 3>;

/// Returns nodes in a triangle or tetrahedron of order N.
constexpr int nodes_of_order(int dimension, int order) {
  return dimension == 2 ? (order + 1) * (order + 2) / 2 : (order + 1) * (order + 2) * (order + 3) / 6;
}

inline constexpr int highest_order = 10;

/// The element with corners (-1,-1,-1), (1,-1,-1), (-1,1,-1), (-1,-1,1), or (-1,-1), (1,-1), (-1,1). Face f lies
/// opposite corner f (mesh/simplex_mesh.hpp). Nodes are those of warp and blend (Warburton 2006), numbered as in the
/// book: the node of lattice indices (i, j, k), i + j + k <= N, comes in the order of k, then j, then i; node 0 is
/// corner 0.
struct reference_element {
  int dimension = 3, order = 1;
  int nodes = 4;       ///< Np
  int face_nodes = 3;  ///< Nfp
  int faces() const { return dimension + 1; }

  std::vector<std::array<double, 4>> barycentric;  ///< of each node: weights of the corners
  std::vector<reference_point> points;             ///< the same as (r, s, t)
  dense_matrix vandermonde;                        ///< V: node i of the orthonormal polynomial j
  dense_matrix inverse_vandermonde;
  dense_matrix mass;                       ///< M = (V V^T)^-1: integrals of products of Lagrange polynomials
  std::array<dense_matrix, 3> derivative;  ///< Dr, Ds, Dt: values at nodes to derivatives at nodes
  dense_matrix lift;                       ///< M^-1 E, nodes x (faces * face_nodes)
  /// Nodes on each face, [face * face_nodes + m]: m runs over the lattice of the face's corners A, B, C, towards B
  /// fastest, then towards C, from A (on an edge from A to B).
  std::vector<std::int32_t> face_node;
  /// Node m of a face lies on node matching[orientation * face_nodes + m] of the neighbour's (face_link::orientation).
  std::vector<std::int32_t> matching;

  int node_of_face(int face, int m) const { return face_node[static_cast<std::size_t>(face * face_nodes + m)]; }
  int matching_node(int orientation, int m) const {
    return matching[static_cast<std::size_t>(orientation * face_nodes + m)];
  }
};

/// \param dimension  2 or 3
/// \param order      1 .. highest_order; input_error else
reference_element make_reference_element(int dimension, int order);

/// Returns values at nodes to values at points: points x nodes.
dense_matrix interpolation(const reference_element& element, std::span<const reference_point> points);
/// Points and weights that integrate polynomials of the given degree exactly over the reference element.
struct cubature {
  std::vector<reference_point> points;
  std::vector<double> weights;
};
cubature make_cubature(int dimension, int degree);

}  // namespace plaquette
