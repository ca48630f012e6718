// SPDX-License-Identifier: BSD-3-Clause
#include "common/mesh/simplex_mesh.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "common/error.hpp"
#include "common/io/text.hpp"
#include "common/mesh/vector3.hpp"

namespace plaquette {

namespace {

using corner_set = std::array<std::int32_t, 3>;  ///< of a face, ascending; -1 first on an edge

/// A face of an element, by its corners.
struct face_of_element {
  corner_set corners;
  std::int32_t element;
  std::int8_t face;
};

corner_set sorted(corner_set corners) {
  std::ranges::sort(corners);
  return corners;
}

corner_set corners_of(const simplex_mesh& mesh, std::int64_t element, int face) {
  corner_set corners{-1, -1, -1};
  const auto local = corners_of_face(mesh.dimension, face);
  for (std::size_t i = 0; i < static_cast<std::size_t>(mesh.dimension); ++i)
    corners[i] = mesh.elements[static_cast<std::size_t>(element)][static_cast<std::size_t>(local[i])];
  return corners;
}

/// The permutation that takes `here` to `there`: here[i] == there[permutation[i]].
std::int8_t orientation_of(const corner_set& here, const corner_set& there, int corners) {
  for (std::int8_t o = 0; o < face_orientations; ++o) {
    bool fits = true;
    for (std::size_t i = 0; i < static_cast<std::size_t>(corners); ++i)
      fits = fits && face_permutations[o][i] < corners &&
             here[i] == there[static_cast<std::size_t>(face_permutations[o][i])];
    if (fits) return o;
  }
  return -1;
}

std::vector<face_of_element> all_faces(const simplex_mesh& mesh, const stop_check& stop) {
  paced_stop pace(stop);
  std::vector<face_of_element> faces;
  faces.reserve(mesh.elements.size() * static_cast<std::size_t>(mesh.faces()));
  for (std::int64_t e = 0; e < mesh.size(); ++e, pace())
    for (int f = 0; f < mesh.faces(); ++f)
      faces.push_back({sorted(corners_of(mesh, e, f)), static_cast<std::int32_t>(e), static_cast<std::int8_t>(f)});
  std::ranges::sort(faces, {}, [&pace](const face_of_element& f) {
    pace();
    return std::make_pair(f.corners, f.element);
  });
  return faces;
}

face_link& link_of(simplex_mesh& mesh, const face_of_element& f) {
  return mesh.links[static_cast<std::size_t>(f.element)][static_cast<std::size_t>(f.face)];
}

/// Makes two faces neighbours; `image` are the first one's corners as the second one names them.
void join(simplex_mesh& mesh, const face_of_element& a, const face_of_element& b, const corner_set& image) {
  const corner_set there = corners_of(mesh, b.element, b.face);
  const std::int8_t to = orientation_of(image, there, mesh.dimension);
  const std::int8_t back = orientation_of(there, image, mesh.dimension);
  link_of(mesh, a) = {b.element, b.face, to, -1};
  link_of(mesh, b) = {a.element, a.face, back, -1};
}

/// Checks corners and sorts them.
void sort_corners(simplex_mesh& mesh, const mesh_naming& naming, const stop_check& stop) {
  paced_stop pace(stop);
  const auto last = static_cast<std::size_t>(mesh.dimension);
  for (std::int64_t e = 0; e < mesh.size(); ++e, pace()) {
    auto& corners = mesh.elements[static_cast<std::size_t>(e)];
    for (std::size_t c = 0; c <= last; ++c)
      if (corners[c] < 0 || static_cast<std::size_t>(corners[c]) >= mesh.vertices.size())
        naming.refuse("element " + naming.element(e) + " names vertex " + std::to_string(corners[c]) +
                      ", and there are " + std::to_string(mesh.vertices.size()));
    double longest = 0.0;
    for (std::size_t a = 0; a <= last; ++a)
      for (std::size_t b = 0; b < a; ++b) {
        double square = 0.0;
        for (std::size_t i = 0; i < 3; ++i) {
          const double d = mesh.vertices[static_cast<std::size_t>(corners[a])][i] -
                           mesh.vertices[static_cast<std::size_t>(corners[b])][i];
          square += d * d;
        }
        longest = std::max(longest, square);
      }
    const double volume = signed_volume(mesh, e);
    // Rounding of a determinant is some 1e-16 times the cube of the longest edge.
    if (!(std::abs(volume) > 1e-13 * std::pow(longest, 0.5 * mesh.dimension)))
      naming.refuse("element " + naming.element(e) + " is flat: its " + (mesh.dimension == 3 ? "volume" : "area") +
                    " is zero");
    std::sort(corners.begin(), corners.begin() + mesh.dimension + 1);
  }
}

const vector3& place_of(const simplex_mesh& mesh, std::int32_t vertex) {
  return mesh.vertices[static_cast<std::size_t>(vertex)];
}
/// The direction that is normal to a face and has the length of its area, twice; on an edge, of its length. Its sign
/// goes with the order of the corners.
vector3 area_vector(const simplex_mesh& mesh, const corner_set& corners) {
  const auto edge = [&](std::size_t i) { return difference(place_of(mesh, corners[i]), place_of(mesh, corners[0])); };
  return cross(edge(1), mesh.dimension == 3 ? edge(2) : vector3{0.0, 0.0, 1.0});
}
/// Positive or negative: on which side of its face an element lies, seen along `area`.
double side_of(const simplex_mesh& mesh, const face_of_element& f, const vector3& area) {
  const auto& corners = mesh.elements[static_cast<std::size_t>(f.element)];
  const vector3& opposite = place_of(mesh, corners[static_cast<std::size_t>(f.face)]);
  const vector3& on_face = place_of(mesh, corners[f.face == 0 ? 1 : 0]);
  return dot(area, difference(opposite, on_face));
}

/// Elements of a common face lie on its two sides: else the mesh is folded, or holds an element twice.
void require_two_sides(const simplex_mesh& mesh, const face_of_element& a, const face_of_element& b,
                       const mesh_naming& naming) {
  const vector3 area = area_vector(mesh, corners_of(mesh, a.element, a.face));
  if ((side_of(mesh, a, area) > 0.0) == (side_of(mesh, b, area) > 0.0))
    naming.refuse("elements " + naming.element(a.element) + " and " + naming.element(b.element) +
                  " overlap: both lie on the same side of their common face of vertices " +
                  naming.vertices_of(a.corners));
}

/// Periodic faces are the same face, moved, with the elements on its two sides; `image` are the corners of the second
/// one in the order of the first.
void require_moved(const simplex_mesh& mesh, const face_of_element& a, const face_of_element& b,
                   const corner_set& corners, const corner_set& image, const mesh_naming& naming) {
  const vector3 here = area_vector(mesh, corners), there = area_vector(mesh, image);
  const vector3 turned = difference(here, there);
  double edges = 0.0, longest = 0.0;
  for (std::size_t c = 1; c < static_cast<std::size_t>(mesh.dimension); ++c) {
    const vector3 edge = difference(place_of(mesh, corners[c]), place_of(mesh, corners[0]));
    const vector3 its = difference(place_of(mesh, image[c]), place_of(mesh, image[0])), change = difference(edge, its);
    edges += dot(change, change);
    for (const double along : edge) longest = std::max(longest, along * along);
  }
  // Files round coordinates, and meshers place periodic nodes to some tolerance.
  if (!(dot(turned, turned) <= 1e-8 * dot(here, here)) || !(edges <= 1e-8 * longest) ||
      (side_of(mesh, a, here) > 0.0) == (side_of(mesh, b, here) > 0.0))
    naming.refuse("the periodic faces of vertices " + naming.vertices_of(a.corners) + " and " +
                  naming.vertices_of(b.corners) + " are not one face moved from one side of the mesh to the other");
}

void join_inside(simplex_mesh& mesh, const std::vector<face_of_element>& faces, const mesh_naming& naming,
                 const stop_check& stop) {
  paced_stop pace(stop);
  for (std::size_t i = 0; i < faces.size();) {
    pace();
    std::size_t end = i + 1;
    while (end < faces.size() && faces[end].corners == faces[i].corners) ++end;
    if (end - i > 2)
      naming.refuse(std::to_string(end - i) + " elements share the face of vertices " +
                    naming.vertices_of(faces[i].corners) + ", and two at most may");
    if (end - i == 2) {
      require_two_sides(mesh, faces[i], faces[i + 1], naming);
      join(mesh, faces[i], faces[i + 1], corners_of(mesh, faces[i].element, faces[i].face));
    }
    i = end;
  }
}

/// Corners of a face as the map names them; nothing where one of them is not in it.
std::optional<corner_set> image_of(const corner_set& corners, const vertex_pairs& pairs, int count) {
  corner_set image{-1, -1, -1};
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const auto found = pairs.find(corners[i]);
    if (found == pairs.end()) return std::nullopt;
    image[i] = found->second;
  }
  return image;
}

/// True where the face before or after in the list is the same: elements lie on both sides.
bool is_between_elements(const std::vector<face_of_element>& faces, const face_of_element& f) {
  const face_of_element *first = faces.data(), *last = first + faces.size() - 1;
  return (&f != last && (&f + 1)->corners == f.corners) || (&f != first && (&f - 1)->corners == f.corners);
}

const face_of_element* find_face(const std::vector<face_of_element>& faces, const corner_set& corners) {
  const auto at = std::ranges::lower_bound(faces, corners, {}, &face_of_element::corners);
  return at != faces.end() && at->corners == corners ? &*at : nullptr;
}

/// Joins the faces of periodic sides. Returns the pairs of sides that have joined some.
std::vector<const vertex_pairs*> join_periodic(simplex_mesh& mesh, const std::vector<face_of_element>& faces,
                                               const mesh_naming& naming, const stop_check& stop) {
  paced_stop pace(stop);
  std::vector<const vertex_pairs*> used;
  for (const vertex_pairs& pairs : mesh.periodic) {
    bool joins = false;
    for (const face_of_element& f : faces) {
      pace();
      if (!link_of(mesh, f).is_boundary()) continue;
      const corner_set corners = corners_of(mesh, f.element, f.face);
      const auto image = image_of(corners, pairs, mesh.dimension);
      if (!image) continue;
      const face_of_element* other = find_face(faces, sorted(*image));
      if (other == nullptr || !link_of(mesh, *other).is_boundary() || other == &f)
        naming.refuse("the periodic face of vertices " + naming.vertices_of(f.corners) +
                      " has no free counterpart of vertices " + naming.vertices_of(sorted(*image)));
      require_moved(mesh, f, *other, corners, *image, naming);
      join(mesh, f, *other, *image);
      joins = true;
    }
    if (joins) used.push_back(&pairs);
  }
  return used;
}

/// Places of vertices that stand for each other: from one of them, by sums of the shifts between the sides.
class periodic_places {
 public:
  /// Coordinates and shifts become multiples of 2^-46 of the largest: sums of them, and six refinements, are exact.
  explicit periodic_places(const simplex_mesh& mesh) : mesh_(mesh) {
    double largest = 0.0;
    for (const auto& x : mesh.vertices)
      for (const double value : x) largest = std::max(largest, std::abs(value));
    unit_ = std::ldexp(1.0, std::ilogb(std::max(largest, 1e-290)) - 45);
  }
  double unit() const { return unit_; }
  void add(const vertex_pairs& pairs) {
    vector3 shift{};
    for (const auto& [from, to] : pairs)
      for (std::size_t i = 0; i < 3; ++i)
        shift[i] += (place_of(mesh_, to)[i] - place_of(mesh_, from)[i]) / static_cast<double>(pairs.size());
    for (double& x : shift) x = rounded(x);
    for (const auto& [from, to] : pairs) {
      neighbours_[from].push_back({to, shift});
      neighbours_[to].push_back({from, {-shift[0], -shift[1], -shift[2]}});
    }
  }
  std::map<std::int32_t, vector3> places() const {
    std::map<std::int32_t, vector3> places;
    for (const auto& [start, neighbours] : neighbours_) {
      if (places.contains(start)) continue;
      vector3 origin = place_of(mesh_, start);
      for (double& x : origin) x = rounded(x);
      places[start] = origin;
      for (std::vector<std::int32_t> todo{start}; !todo.empty();) {
        const std::int32_t from = todo.back();
        todo.pop_back();
        const vector3 here = places.at(from);
        for (const auto& [to, shift] : neighbours_.at(from))
          if (places.try_emplace(to, vector3{here[0] + shift[0], here[1] + shift[1], here[2] + shift[2]}).second)
            todo.push_back(to);
      }
    }
    return places;
  }

 private:
  struct neighbour {
    std::int32_t vertex;
    vector3 shift;
  };
  double rounded(double x) const { return std::round(x / unit_) * unit_; }

  const simplex_mesh& mesh_;
  double unit_;
  std::map<std::int32_t, std::vector<neighbour>> neighbours_;
};

bool is_one_shift(const simplex_mesh& mesh, const vertex_pairs& pairs) {
  const vector3 first = difference(place_of(mesh, pairs.begin()->second), place_of(mesh, pairs.begin()->first));
  return std::ranges::all_of(pairs, [&](const auto& pair) {
    return difference(place_of(mesh, pair.second), place_of(mesh, pair.first)) == first;
  });
}

/// Moves vertices of periodic sides so that one side is the other, moved, to the last bit. Both elements at a face then
/// have the same normal, as they have inside.
void align_periodic(simplex_mesh& mesh, const std::vector<const vertex_pairs*>& sides, const mesh_naming& naming) {
  if (std::ranges::all_of(sides, [&mesh](const vertex_pairs* pairs) { return is_one_shift(mesh, *pairs); })) return;
  periodic_places aligned(mesh);
  for (const vertex_pairs* pairs : sides) aligned.add(*pairs);
  const double extent = extent_of(mesh);
  double farthest = 0.0;
  for (const auto& [v, x] : aligned.places()) {
    double moved = 0.0;
    for (std::size_t i = 0; i < 3; ++i) moved = std::max(moved, std::abs(x[i] - place_of(mesh, v)[i]));
    if (!(moved <= 1e-4 * extent))
      naming.refuse("vertex " + naming.vertex(v) + " of a periodic side lies " + short_number(moved) +
                    " from where its counterpart is, moved; expected sides that are one side, moved");
    farthest = std::max(farthest, moved);
    mesh.vertices[static_cast<std::size_t>(v)] = x;
  }
  if (farthest > std::max(2.0 * aligned.unit(), 1e-13 * extent))
    mesh.remarks.push_back("periodic sides differ by up to " + short_number(farthest) +
                           ": their vertices were moved so that they fit");
}

/// Where a pair of sides has joined faces, all faces in their planes are joined, or have a group of their own. Else
/// $Periodic lacks some nodes, and a wall would stand in the side.
void require_whole_sides(simplex_mesh& mesh, const std::vector<face_of_element>& faces,
                         const std::vector<const vertex_pairs*>& sides, const mesh_naming& naming,
                         const stop_check& stop) {
  if (sides.empty()) return;
  paced_stop pace(stop);
  struct plane {
    vector3 area, point;
  };
  const double extent = extent_of(mesh);
  for (const vertex_pairs* pairs : sides) {
    std::set<std::int32_t> vertices;
    for (const auto& [from, to] : *pairs) vertices.insert({from, to});
    const auto common = [&](const corner_set& corners) {
      return std::ranges::count_if(corners, [&](std::int32_t c) { return vertices.contains(c); });
    };
    std::vector<plane> planes;
    for (const face_of_element& f : faces) {
      pace();
      if (link_of(mesh, f).is_boundary() || is_between_elements(faces, f)) continue;
      const corner_set corners = corners_of(mesh, f.element, f.face);
      if (!image_of(corners, *pairs, mesh.dimension)) continue;
      const face_link& link = link_of(mesh, f);
      for (const corner_set& side : {corners, corners_of(mesh, link.element, link.face)})
        planes.push_back({area_vector(mesh, side), place_of(mesh, side[0])});
      break;
    }
    for (const face_of_element& f : faces) {
      pace();
      const face_link& link = link_of(mesh, f);
      if (!link.is_boundary() || link.boundary > 0 || common(f.corners) < mesh.dimension - 1) continue;
      const corner_set corners = corners_of(mesh, f.element, f.face);
      for (const plane& p : planes) {
        const double size = std::sqrt(dot(p.area, p.area));
        bool lies_in = true;
        for (std::size_t c = 0; c < static_cast<std::size_t>(mesh.dimension); ++c)
          lies_in =
              lies_in && std::abs(dot(p.area, difference(place_of(mesh, corners[c]), p.point))) <= 1e-6 * extent * size;
        if (lies_in)
          naming.refuse(
              "the face of vertices " + naming.vertices_of(f.corners) +
              " lies in a periodic side and has no counterpart: expected all nodes of that side in $Periodic");
      }
    }
  }
}

void tag_boundary(simplex_mesh& mesh, const std::vector<face_of_element>& faces, const std::vector<tagged_face>& tagged,
                  const mesh_naming& naming, const stop_check& stop) {
  paced_stop pace(stop);
  mesh.boundary_tags = {group_set{}};
  mesh.inner_groups.clear();
  std::map<group_set, std::int16_t> number{{group_set{}, 0}};
  for (const face_of_element& f : faces) {
    pace();
    if (link_of(mesh, f).is_boundary()) link_of(mesh, f).boundary = 0;
  }
  for (const tagged_face& t : tagged) {
    pace();
    const face_of_element* f = find_face(faces, sorted(t.corners));
    if (f == nullptr)
      naming.refuse("the boundary face of vertices " + naming.vertices_of(sorted(t.corners)) + " (group " +
                    std::to_string(t.tag) + ") is a face of no element");
    if (!link_of(mesh, *f).is_boundary()) {  // an interface of materials, or a periodic side
      inner_faces& inner = mesh.inner_groups[t.tag];
      ++(is_between_elements(faces, *f) ? inner.between_elements : inner.periodic);
      continue;
    }
    std::int16_t& boundary = link_of(mesh, *f).boundary;
    group_set groups = mesh.boundary_tags[static_cast<std::size_t>(boundary)];
    groups.add(t.tag);
    const auto [at, is_new] = number.try_emplace(groups, static_cast<std::int16_t>(mesh.boundary_tags.size()));
    if (is_new) {
      if (mesh.boundary_tags.size() >= std::numeric_limits<std::int16_t>::max())
        naming.refuse("more than 32766 different groups of sides");
      mesh.boundary_tags.push_back(std::move(groups));
    }
    boundary = at->second;
  }
}

std::vector<tagged_face> tagged_faces_of(const simplex_mesh& mesh, const stop_check& stop) {
  paced_stop pace(stop);
  std::vector<tagged_face> tagged;
  for (std::int64_t e = 0; e < mesh.size(); ++e, pace())
    for (int f = 0; f < mesh.faces(); ++f) {
      const face_link& link = mesh.links[static_cast<std::size_t>(e)][static_cast<std::size_t>(f)];
      if (!link.is_boundary() || link.boundary <= 0) continue;
      for (const int tag : mesh.boundary_tags[static_cast<std::size_t>(link.boundary)].tags)
        tagged.push_back({corners_of(mesh, e, f), tag});
    }
  return tagged;
}

/// Vertices in the middle of edges, made when first named.
class middles {
 public:
  explicit middles(simplex_mesh& mesh) : mesh_(mesh) {}
  std::int32_t of(std::int32_t a, std::int32_t b) {
    if (2 * (edges_ + 1) > table_.size()) grow();
    entry& found = table_[place_of_edge(key_of(a, b))];
    if (found.key == 0) {
      ++edges_;
      found = {key_of(a, b), static_cast<std::int32_t>(mesh_.vertices.size())};
      std::array<double, 3> x{};
      for (std::size_t i = 0; i < 3; ++i)
        x[i] = 0.5 * (mesh_.vertices[static_cast<std::size_t>(a)][i] + mesh_.vertices[static_cast<std::size_t>(b)][i]);
      mesh_.vertices.push_back(x);
    }
    return found.vertex;
  }
  /// The vertex in the middle of an edge, -1 where none was made.
  std::int32_t find(std::int32_t a, std::int32_t b) const { return table_[place_of_edge(key_of(a, b))].vertex; }
  /// body(one end, the other, the middle) for each edge, in no order.
  template <class Body>
  void for_each(Body&& body) const {
    for (const entry& e : table_)
      if (e.key != 0)
        body(static_cast<std::int32_t>(e.key >> 32U), static_cast<std::int32_t>(e.key & 0xffffffffU), e.vertex);
  }

 private:
  /// Of a table with open addressing, at most half full: on large meshes several times as fast as a std::map.
  struct entry {
    std::uint64_t key = 0;  ///< 0: free; no edge has it, since its ends differ
    std::int32_t vertex = -1;
  };
  static std::uint64_t key_of(std::int32_t a, std::int32_t b) {
    const auto [low, high] = std::minmax(a, b);
    return static_cast<std::uint64_t>(low) << 32U | static_cast<std::uint64_t>(high);
  }
  std::size_t place_of_edge(std::uint64_t key) const {
    std::uint64_t h = key * 0x9e3779b97f4a7c15ULL;
    std::size_t at = (h ^ (h >> 32U)) & (table_.size() - 1);
    while (table_[at].key != 0 && table_[at].key != key) at = (at + 1) & (table_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<entry> old(2 * table_.size());
    old.swap(table_);
    for (const entry& e : old)
      if (e.key != 0) table_[place_of_edge(e.key)] = e;
  }

  simplex_mesh& mesh_;
  std::size_t edges_ = 0;
  std::vector<entry> table_ = std::vector<entry>(1024);  ///< a power of two
};

double squared_distance(const simplex_mesh& mesh, std::int32_t a, std::int32_t b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < 3; ++i) {
    const double d = mesh.vertices[static_cast<std::size_t>(a)][i] - mesh.vertices[static_cast<std::size_t>(b)][i];
    sum += d * d;
  }
  return sum;
}

/// Cuts the four corners off, and the octahedron between them in four along its shortest diagonal. (Bey 1995 takes a
/// fixed one, which keeps the number of shapes finite; the shortest keeps elements round.)
std::vector<std::array<std::int32_t, 4>> halves_of_tetrahedron(simplex_mesh& mesh, middles& middle,
                                                               const std::array<std::int32_t, 4>& v) {
  const std::int32_t m01 = middle.of(v[0], v[1]), m02 = middle.of(v[0], v[2]), m03 = middle.of(v[0], v[3]);
  const std::int32_t m12 = middle.of(v[1], v[2]), m13 = middle.of(v[1], v[3]), m23 = middle.of(v[2], v[3]);
  std::vector<std::array<std::int32_t, 4>> parts{
      {v[0], m01, m02, m03}, {m01, v[1], m12, m13}, {m02, m12, v[2], m23}, {m03, m13, m23, v[3]}};
  // A diagonal joins the middles of opposite edges; the other four, in a ring, pair up with it.
  struct cut {
    std::array<std::int32_t, 2> diagonal;
    std::array<std::int32_t, 4> ring;
  };
  const std::array<cut, 3> cuts{cut{{m02, m13}, {m01, m12, m23, m03}}, cut{{m01, m23}, {m02, m12, m13, m03}},
                                cut{{m03, m12}, {m01, m02, m23, m13}}};
  const cut& best = *std::ranges::min_element(
      cuts, {}, [&](const cut& c) { return squared_distance(mesh, c.diagonal[0], c.diagonal[1]); });
  for (std::size_t i = 0; i < 4; ++i)
    parts.push_back({best.diagonal[0], best.diagonal[1], best.ring[i], best.ring[(i + 1) % 4]});
  return parts;
}

}  // namespace

double signed_volume(const simplex_mesh& mesh, std::int64_t element) {
  const auto& corners = mesh.elements[static_cast<std::size_t>(element)];
  std::array<std::array<double, 3>, 3> edge{};
  edge[2] = {0.0, 0.0, 1.0};
  for (std::size_t c = 1; c <= static_cast<std::size_t>(mesh.dimension); ++c)
    for (std::size_t i = 0; i < 3; ++i)
      edge[c - 1][i] = mesh.vertices[static_cast<std::size_t>(corners[c])][i] -
                       mesh.vertices[static_cast<std::size_t>(corners[0])][i];
  const double determinant = edge[0][0] * (edge[1][1] * edge[2][2] - edge[1][2] * edge[2][1]) -
                             edge[0][1] * (edge[1][0] * edge[2][2] - edge[1][2] * edge[2][0]) +
                             edge[0][2] * (edge[1][0] * edge[2][1] - edge[1][1] * edge[2][0]);
  return determinant / (mesh.dimension == 3 ? 6.0 : 2.0);
}

void group_set::add(int tag) {
  const auto at = std::ranges::lower_bound(tags, tag);
  if (tag != 0 && (at == tags.end() || *at != tag)) tags.insert(at, tag);
}

std::string mesh_naming::vertex(std::int64_t v) const {
  return std::to_string(vertices.empty() ? v : vertices[static_cast<std::size_t>(v)]);
}
std::string mesh_naming::element(std::int64_t e) const {
  return std::to_string(elements.empty() ? e : elements[static_cast<std::size_t>(e)]);
}
std::string mesh_naming::vertices_of(const std::array<std::int32_t, 3>& corners) const {
  std::string text;
  for (const std::int32_t c : corners)
    if (c >= 0) text.append(text.empty() ? "" : ", ").append(vertex(c));
  return text;
}
void mesh_naming::refuse(const std::string& what) const { throw input_error(name + ": " + what); }

double extent_of(const simplex_mesh& mesh) {
  double extent = 0.0;
  for (std::size_t i = 0; i < 3; ++i) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const auto& corners : mesh.elements)
      for (std::size_t c = 0; c < static_cast<std::size_t>(mesh.faces()); ++c) {
        low = std::min(low, place_of(mesh, corners[c])[i]);
        high = std::max(high, place_of(mesh, corners[c])[i]);
      }
    extent = std::max(extent, high - low);
  }
  return extent;
}

void connect(simplex_mesh& mesh, const std::vector<tagged_face>& tagged, const mesh_naming& naming,
             const stop_check& stop) {
  if (mesh.size() > most_elements) naming.refuse("more than " + std::to_string(most_elements) + " elements");
  mesh.materials.resize(mesh.elements.size(), 0);
  sort_corners(mesh, naming, stop);
  mesh.links.assign(mesh.elements.size(), {});
  const auto faces = all_faces(mesh, stop);
  join_inside(mesh, faces, naming, stop);
  const auto sides = join_periodic(mesh, faces, naming, stop);
  align_periodic(mesh, sides, naming);
  tag_boundary(mesh, faces, tagged, naming, stop);
  require_whole_sides(mesh, faces, sides, naming, stop);
}

simplex_mesh refined(const simplex_mesh& mesh, const std::string& name, const stop_check& stop) {
  paced_stop pace(stop);
  simplex_mesh fine;
  fine.dimension = mesh.dimension;
  fine.vertices = mesh.vertices;
  fine.material_tags = mesh.material_tags;
  fine.names = mesh.names;
  middles middle(fine);
  for (std::int64_t e = 0; e < mesh.size(); ++e, pace()) {
    const auto& v = mesh.elements[static_cast<std::size_t>(e)];
    if (mesh.dimension == 3) {
      for (const auto& part : halves_of_tetrahedron(fine, middle, v)) fine.elements.push_back(part);
    } else {
      const std::int32_t m01 = middle.of(v[0], v[1]), m02 = middle.of(v[0], v[2]), m12 = middle.of(v[1], v[2]);
      for (const auto& part : {std::array<std::int32_t, 4>{v[0], m01, m02, -1},
                               {m01, v[1], m12, -1},
                               {m02, m12, v[2], -1},
                               {m01, m12, m02, -1}})
        fine.elements.push_back(part);
    }
    fine.materials.resize(fine.elements.size(), mesh.materials[static_cast<std::size_t>(e)]);
  }
  for (const vertex_pairs& pairs : mesh.periodic) {
    vertex_pairs more = pairs;
    middle.for_each([&](std::int32_t first, std::int32_t second, std::int32_t vertex) {
      pace();
      const auto a = pairs.find(first), b = pairs.find(second);
      if (a == pairs.end() || b == pairs.end()) return;
      if (const std::int32_t image = middle.find(a->second, b->second); image >= 0) more.emplace(vertex, image);
    });
    fine.periodic.push_back(std::move(more));
  }
  std::vector<tagged_face> tagged;
  for (const tagged_face& t : tagged_faces_of(mesh, stop)) {
    pace();
    const auto& c = t.corners;
    const std::int32_t m01 = middle.of(c[0], c[1]);
    if (mesh.dimension == 2) {
      tagged.push_back({{c[0], m01, -1}, t.tag});
      tagged.push_back({{m01, c[1], -1}, t.tag});
      continue;
    }
    const std::int32_t m02 = middle.of(c[0], c[2]), m12 = middle.of(c[1], c[2]);
    for (const corner_set& part : {corner_set{c[0], m01, m02}, {m01, c[1], m12}, {m02, m12, c[2]}, {m01, m12, m02}})
      tagged.push_back({part, t.tag});
  }
  connect(fine, tagged, {name}, stop);
  fine.remarks = mesh.remarks;
  const std::int64_t parts = mesh.dimension == 3 ? 4 : 2;
  for (const auto& [tag, faces] : mesh.inner_groups)
    fine.inner_groups[tag] = {parts * faces.between_elements, parts * faces.periodic};
  return fine;
}

simplex_mesh reordered(const simplex_mesh& mesh, const std::vector<std::int32_t>& order, const stop_check& stop) {
  paced_stop pace(stop);
  simplex_mesh result = mesh;
  std::vector<std::int32_t> new_number(order.size());
  for (std::size_t i = 0; i < order.size(); ++i, pace())
    new_number[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
  for (std::size_t i = 0; i < order.size(); ++i, pace()) {
    const auto from = static_cast<std::size_t>(order[i]);
    result.elements[i] = mesh.elements[from];
    result.materials[i] = mesh.materials[from];
    result.links[i] = mesh.links[from];
    for (face_link& link : result.links[i])
      if (link.element >= 0) link.element = new_number[static_cast<std::size_t>(link.element)];
  }
  return result;
}

}  // namespace plaquette
