// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Meshes of triangles or tetrahedra: vertices, elements, and which face touches which.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/mesh/stop_check.hpp"

namespace plaquette {

inline constexpr int most_faces = 4;
/// Elements of a mesh at most: faces are numbered in 32 bits.
inline constexpr std::int64_t most_elements = ((std::int64_t{1} << 31) - 1) / most_faces;
/// Ways in which two triangles with the same corners can lie on each other.
inline constexpr int face_orientations = 6;

/// What lies behind a face of an element.
struct face_link {
  /// The neighbour's number; `outside` where the mesh ends; in a part of a mesh -2 - h is face h of the halo.
  std::int32_t element = outside;
  std::int8_t face = -1;        ///< of the neighbour
  std::int8_t orientation = 0;  ///< corner i of this face is corner face_permutations[orientation][i] of the other
  std::int16_t boundary = -1;   ///< where the mesh ends: number of its groups in `boundary_tags`
  static constexpr std::int32_t outside = -1;

  bool is_boundary() const { return element == outside; }
  bool is_halo() const { return element < outside; }
  std::int32_t halo_face() const { return -2 - element; }
};

/// The six permutations of a triangle's corners; an edge has the first and the third of them (0: as it is, 2: swapped).
inline constexpr std::int8_t face_permutations[face_orientations][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                                        {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/// Face f of an element lies opposite its corner f; its own corners are the others, in increasing order.
constexpr std::array<int, 3> corners_of_face(int dimension, int face) {
  std::array<int, 3> corners{-1, -1, -1};
  for (int corner = 0, n = 0; corner <= dimension; ++corner)
    if (corner != face) corners[static_cast<std::size_t>(n++)] = corner;
  return corners;
}

/// Vertices that stand for others: in a periodic mesh the vertex `first` of one side is the vertex `second` of the
/// opposite one. One map a pair of sides.
using vertex_pairs = std::map<std::int32_t, std::int32_t>;

/// The physical groups of a face or an element: their tags, ascending, each once.
struct group_set {
  std::vector<int> tags;

  group_set() = default;
  /// Makes a set of one group; 0: of none.
  group_set(int tag) {  // NOLINT(google-explicit-constructor): a tag is the set of one group
    if (tag != 0) tags.push_back(tag);
  }
  bool empty() const { return tags.empty(); }
  void add(int tag);
  bool operator==(const group_set&) const = default;
  auto operator<=>(const group_set&) const = default;
};

/// Faces of a group of sides that are no sides of the mesh: waves pass them.
struct inner_faces {
  std::int64_t between_elements = 0, periodic = 0;
};

/// A conforming mesh. Corners of an element are numbered by ascending vertex, so that both sides of a face count its
/// corners in the same order (orientation 0, but for some periodic faces). Half of the elements are left-handed, which
/// the method does not see.
struct simplex_mesh {
  int dimension = 3;  ///< 2: triangles in the plane z = 0; 3: tetrahedra
  std::vector<std::array<double, 3>> vertices;
  std::vector<std::array<std::int32_t, 4>> elements;     ///< corners; the fourth of a triangle is -1
  std::vector<std::int16_t> materials;                   ///< of each element: number of its set in `material_tags`
  std::vector<std::array<face_link, most_faces>> links;  ///< of each element and face; a triangle has three
  std::vector<group_set> material_tags{{}}, boundary_tags{{}};  ///< physical groups of the file; the first: none
  std::map<std::pair<int, int>, std::string> names;             ///< of physical groups: (dimension, tag)
  std::vector<vertex_pairs> periodic;
  std::map<int, inner_faces> inner_groups;  ///< groups of sides with faces inside, by tag
  std::vector<std::string> remarks;         ///< what was mended while the file was read, a line each

  int faces() const { return dimension + 1; }
  std::int64_t size() const { return static_cast<std::int64_t>(elements.size()); }
};

/// A side of an element that was given a tag: its corners, and the tag.
struct tagged_face {
  std::array<std::int32_t, 3> corners;  ///< the third of an edge is -1
  int tag;
};

/// Returns the area or volume; negative where the element is left-handed.
double signed_volume(const simplex_mesh& mesh, std::int64_t element);

/// How messages name a mesh, its vertices and its elements: by the numbers of its file, or where there are none by
/// those of `simplex_mesh`.
struct mesh_naming {
  std::string name;
  std::vector<std::int64_t> vertices{}, elements{};

  std::string vertex(std::int64_t v) const;
  std::string element(std::int64_t e) const;
  /// Returns "3, 7, 12"; corners below 0 are left out.
  std::string vertices_of(const std::array<std::int32_t, 3>& corners) const;
  /// Throws input_error: "name: what".
  [[noreturn]] void refuse(const std::string& what) const;
};

/// Returns the largest distance between two corners of the box around a mesh, along one axis: tolerances are relative
/// to it.
double extent_of(const simplex_mesh& mesh);

/// Fills `links`, `boundary_tags` and `inner_groups` from vertices, elements, `periodic` and the faces that have tags;
/// a face with several tags is in all these groups. Sorts the corners of elements. Where periodic sides differ by less
/// than 1e-4 of a face, moves their vertices so that one side is the other, moved, to the last bit.
///
/// Throws input_error, with one line that begins with the mesh's name, where an element is flat, or names a vertex that
/// is not there. Also where a face has three elements or more, or two on the same side. Where a tagged face belongs to
/// no element. Where a periodic face has no counterpart or is not its own, moved.
void connect(simplex_mesh& mesh, const std::vector<tagged_face>& tagged, const mesh_naming& naming,
             const stop_check& stop = {});

/// Splits each element in four (triangles) or eight (tetrahedra) of half its size, boundary and materials kept.
/// \param name  of the result, for messages
simplex_mesh refined(const simplex_mesh& mesh, const std::string& name = "refined mesh", const stop_check& stop = {});

/// Returns the same mesh with its elements in another order: element i of the result is order[i] of the argument.
simplex_mesh reordered(const simplex_mesh& mesh, const std::vector<std::int32_t>& order, const stop_check& stop = {});

}  // namespace plaquette
