// SPDX-License-Identifier: BSD-3-Clause
#include "common/mesh/mesh_contact.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "common/mesh/vector3.hpp"

namespace plaquette {

namespace {

struct bounding_box {
  vector3 low{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
              std::numeric_limits<double>::infinity()};
  vector3 high{-low[0], -low[1], -low[2]};

  void add(const vector3& x) {
    for (std::size_t i = 0; i < 3; ++i) {
      low[i] = std::min(low[i], x[i]);
      high[i] = std::max(high[i], x[i]);
    }
  }
  void add(const bounding_box& box) {
    add(box.low);
    add(box.high);
  }
  bounding_box wider(double by) const {
    bounding_box box = *this;
    for (std::size_t i = 0; i < 3; ++i) {
      box.low[i] -= by;
      box.high[i] += by;
    }
    return box;
  }
  bool meets(const bounding_box& other) const {
    for (std::size_t i = 0; i < 3; ++i)
      if (high[i] < other.low[i] || other.high[i] < low[i]) return false;
    return true;
  }
};

vector3 moved(const vector3& x, double by, const vector3& along) {
  return {x[0] + by * along[0], x[1] + by * along[1], x[2] + by * along[2]};
}

/// A side of the mesh: a face behind which nothing lies.
struct free_side {
  std::int32_t element;
  std::array<std::int32_t, 3> corners;  ///< vertices; the third of an edge is -1
  std::array<vector3, 3> at;            ///< the corners' places
  vector3 outward;                      ///< normal of length one
  double size, height;                  ///< longest edge; of the element above this face
  double reach;                         ///< sides that are nearer than this coincide
  bounding_box box;
};

std::vector<free_side> free_sides_of(const simplex_mesh& mesh, const stop_check& stop = {}) {
  paced_stop pace(stop);
  const double extent = extent_of(mesh);
  const auto corners_of_side = static_cast<std::size_t>(mesh.dimension);
  std::vector<free_side> sides;
  for (std::int64_t e = 0; e < mesh.size(); ++e, pace())
    for (int f = 0; f < mesh.faces(); ++f) {
      if (!mesh.links[static_cast<std::size_t>(e)][static_cast<std::size_t>(f)].is_boundary()) continue;
      const auto& corners = mesh.elements[static_cast<std::size_t>(e)];
      free_side side{static_cast<std::int32_t>(e), {-1, -1, -1}, {}, {}, 0.0, 0.0, 0.0, {}};
      const auto local = corners_of_face(mesh.dimension, f);
      for (std::size_t c = 0; c < corners_of_side; ++c) {
        side.corners[c] = corners[static_cast<std::size_t>(local[c])];
        side.at[c] = mesh.vertices[static_cast<std::size_t>(side.corners[c])];
        side.box.add(side.at[c]);
        for (std::size_t b = 0; b < c; ++b) {
          const vector3 edge = difference(side.at[c], side.at[b]);
          side.size = std::max(side.size, std::sqrt(dot(edge, edge)));
        }
      }
      const vector3 edge = difference(side.at[1], side.at[0]);
      side.outward = cross(edge, mesh.dimension == 3 ? difference(side.at[2], side.at[0]) : vector3{0.0, 0.0, 1.0});
      const vector3& opposite = mesh.vertices[static_cast<std::size_t>(corners[static_cast<std::size_t>(f)])];
      const double length = std::sqrt(dot(side.outward, side.outward));
      const double above = dot(side.outward, difference(opposite, side.at[0])) / length;
      for (double& x : side.outward) x /= above > 0.0 ? -length : length;
      side.height = std::abs(above);
      side.reach = std::min(1e-3 * side.size, 2e-6 * extent);
      sides.push_back(side);
    }
  return sides;
}

/// Finds the boxes that meet another, in a tree of them.
class box_tree {
 public:
  explicit box_tree(const std::vector<free_side>& sides) : order_(sides.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    if (!sides.empty()) build(sides, 0, sides.size());
  }
  template <class Body>
  void for_each_meeting(const bounding_box& box, const std::vector<free_side>& sides, Body&& body) const {
    std::array<std::size_t, 128> todo;  // halves: their number is below the logarithm of the sides
    std::size_t waiting = 0;
    if (!nodes_.empty()) todo[waiting++] = 0;
    while (waiting > 0) {
      const node& here = nodes_[todo[--waiting]];
      if (!here.box.meets(box)) continue;
      if (here.second != 0) {
        todo[waiting++] = here.second;
        todo[waiting++] = here.first;
        continue;
      }
      for (std::size_t i = here.begin; i < here.end; ++i)
        if (sides[order_[i]].box.meets(box)) body(order_[i]);
    }
  }

 private:
  struct node {
    bounding_box box;
    std::size_t begin, end;
    std::size_t first = 0, second = 0;  ///< halves; 0: a leaf
  };
  std::size_t build(const std::vector<free_side>& sides, std::size_t begin, std::size_t end) {
    const std::size_t number = nodes_.size();
    nodes_.push_back({{}, begin, end});
    bounding_box box;
    for (std::size_t i = begin; i < end; ++i) box.add(sides[order_[i]].box);
    nodes_[number].box = box;
    if (end - begin <= 4) return number;
    std::size_t axis = 0;
    for (std::size_t i = 1; i < 3; ++i)
      if (box.high[i] - box.low[i] > box.high[axis] - box.low[axis]) axis = i;
    const std::size_t middle = (begin + end) / 2;
    const auto at = [this](std::size_t i) { return order_.begin() + static_cast<std::ptrdiff_t>(i); };
    std::nth_element(at(begin), at(middle), at(end), [&](std::size_t a, std::size_t b) {
      return sides[a].box.low[axis] + sides[a].box.high[axis] < sides[b].box.low[axis] + sides[b].box.high[axis];
    });
    const std::size_t first = build(sides, begin, middle), second = build(sides, middle, end);
    nodes_[number].first = first;
    nodes_[number].second = second;
    return number;
  }

  std::vector<std::size_t> order_;
  std::vector<node> nodes_;
};

/// Returns the part of a convex polygon on the side of a plane that `inward` points to.
std::vector<vector3> clipped(const std::vector<vector3>& polygon, const vector3& inward, const vector3& origin) {
  std::vector<vector3> part;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const vector3 &here = polygon[i], &next = polygon[(i + 1) % polygon.size()];
    const double a = dot(inward, difference(here, origin)), b = dot(inward, difference(next, origin));
    if (a >= 0.0) part.push_back(here);
    if ((a < 0.0) != (b < 0.0)) part.push_back(moved(here, a / (a - b), difference(next, here)));
  }
  return part;
}

double area_of(const std::vector<vector3>& polygon, const vector3& normal) {
  double twice = 0.0;
  for (std::size_t i = 2; i < polygon.size(); ++i)
    twice += dot(normal, cross(difference(polygon[i - 1], polygon[0]), difference(polygon[i], polygon[0])));
  return 0.5 * std::abs(twice);
}

double area_of(const free_side& side, int dimension) {
  return dimension == 3 ? area_of({side.at[0], side.at[1], side.at[2]}, side.outward) : side.size;
}

/// True where part of `b` lies on `a`: what of b is above a, seen along a's normal, has an area and is near.
bool coincide(const free_side& a, const free_side& b, int dimension) {
  const double near = std::min(a.reach, b.reach);
  std::vector<vector3> part(b.at.begin(), b.at.begin() + dimension);
  double size = 0.0;
  if (dimension == 3) {
    const std::array<vector3, 3>& corners = a.at;
    for (std::size_t i = 0; i < 3; ++i) {
      const vector3 edge = difference(corners[(i + 1) % 3], corners[i]);
      vector3 inward = cross(a.outward, edge);
      if (dot(inward, difference(corners[(i + 2) % 3], corners[i])) < 0.0)
        for (double& x : inward) x = -x;
      part = clipped(part, inward, corners[i]);
      if (part.size() < 3) return false;
    }
    size = area_of(part, a.outward);
  } else {
    const vector3 along = difference(a.at[1], a.at[0]);
    std::array<double, 2> place{};  // of b's ends, in units of a's length
    for (std::size_t i = 0; i < 2; ++i) place[i] = dot(along, difference(b.at[i], a.at[0])) / dot(along, along);
    const double low = std::max(0.0, std::min(place[0], place[1]));
    const double high = std::min(1.0, std::max(place[0], place[1]));
    if (!(high > low)) return false;
    size = (high - low) * a.size;
    const vector3 edge = difference(b.at[1], b.at[0]);
    part = {moved(b.at[0], (low - place[0]) / (place[1] - place[0]), edge),
            moved(b.at[0], (high - place[0]) / (place[1] - place[0]), edge)};
  }
  if (!(size > 1e-6 * std::min(area_of(a, dimension), area_of(b, dimension)))) return false;
  return std::ranges::all_of(
      part, [&](const vector3& x) { return std::abs(dot(a.outward, difference(x, a.at[0]))) <= near; });
}

/// Barycentric weights of points that are spread over a side and lie on no symmetric place.
constexpr std::array<std::array<double, 3>, 7> samples_3d{{{0.31, 0.33, 0.36},
                                                           {0.61, 0.21, 0.18},
                                                           {0.20, 0.59, 0.21},
                                                           {0.19, 0.22, 0.59},
                                                           {0.87, 0.07, 0.06},
                                                           {0.06, 0.86, 0.08},
                                                           {0.08, 0.06, 0.86}}};
constexpr std::array<std::array<double, 3>, 5> samples_2d{
    {{0.48, 0.52, 0.0}, {0.29, 0.71, 0.0}, {0.73, 0.27, 0.0}, {0.09, 0.91, 0.0}, {0.92, 0.08, 0.0}}};

/// True where a point lies in an element, and not on its faces.
class element_test {
 public:
  element_test(const simplex_mesh& mesh, std::int64_t e) : dimension_(static_cast<std::size_t>(mesh.dimension)) {
    const auto& corners = mesh.elements[static_cast<std::size_t>(e)];
    for (std::size_t c = 0; c <= dimension_; ++c) {
      const vector3& x = mesh.vertices[static_cast<std::size_t>(corners[c])];
      box.add(x);
      if (c == 0)
        origin_ = x;
      else
        edges_[c - 1] = difference(x, origin_);
    }
    if (dimension_ == 2) edges_[2] = {0.0, 0.0, 1.0};
    gradients_ = {cross(edges_[1], edges_[2]), cross(edges_[2], edges_[0]), cross(edges_[0], edges_[1])};
    const double determinant = dot(edges_[0], gradients_[0]);
    for (auto& g : gradients_)
      for (double& x : g) x /= determinant;
  }
  bool holds(const vector3& x) const {
    constexpr double rounding = 1e-9;
    double rest = 1.0;
    for (std::size_t a = 0; a < dimension_; ++a) {
      const double weight = dot(gradients_[a], difference(x, origin_));
      if (!(weight > rounding)) return false;
      rest -= weight;
    }
    return rest > rounding;
  }
  bounding_box box;

 private:
  std::size_t dimension_;
  vector3 origin_{};
  std::array<vector3, 3> edges_{}, gradients_{};
};

/// True where the element holds a point just before or just behind a side of another element.
bool reaches(const element_test& element, const free_side& side, int dimension) {
  const auto test = [&](const auto& samples) {
    for (const auto& weights : samples) {
      vector3 x{};
      for (std::size_t c = 0; c < static_cast<std::size_t>(dimension); ++c) x = moved(x, weights[c], side.at[c]);
      if (element.holds(moved(x, 0.5 * side.reach, side.outward)) ||
          element.holds(moved(x, -std::min(0.5 * side.reach, 0.1 * side.height), side.outward)))
        return true;
    }
    return false;
  };
  return dimension == 3 ? test(samples_3d) : test(samples_2d);
}

/// Sets that grow together. (Galler, Fischer 1964)
class disjoint_sets {
 public:
  explicit disjoint_sets(std::size_t size) : parent_(size), number_(static_cast<std::int64_t>(size)) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  void join(std::size_t a, std::size_t b) {
    a = root(a);
    b = root(b);
    if (a == b) return;
    parent_[std::max(a, b)] = std::min(a, b);
    --number_;
  }
  std::int64_t number() const { return number_; }

 private:
  std::size_t root(std::size_t a) {
    for (; parent_[a] != a; a = parent_[a]) parent_[a] = parent_[parent_[a]];
    return a;
  }
  std::vector<std::size_t> parent_;
  std::int64_t number_;
};

constexpr const char* advice = "; parts that touch need common nodes";

}  // namespace

void require_apart(const simplex_mesh& mesh, const mesh_naming& naming, const stop_check& stop) {
  paced_stop pace(stop);
  const std::vector<free_side> sides = free_sides_of(mesh, stop);
  const box_tree tree(sides);
  const auto text = [&](const free_side& s) {
    return "side " + naming.vertices_of(s.corners) + " of element " + naming.element(s.element);
  };
  for (std::size_t i = 0; i < sides.size(); ++i)
    tree.for_each_meeting(sides[i].box.wider(sides[i].reach), sides, [&](std::size_t other) {
      pace();
      if (other <= i ||
          !(coincide(sides[i], sides[other], mesh.dimension) || coincide(sides[other], sides[i], mesh.dimension)))
        return;
      naming.refuse(text(sides[i]) + " lies on " + text(sides[other]) + advice);
    });

  // The first of them, whatever the number of threads.
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::size_t in_side = 0;
  constexpr std::int64_t piece = 1 << 18;
  for (std::int64_t begin = 0; begin < mesh.size(); begin += piece) {
    const std::int64_t end = std::min(begin + piece, mesh.size());
    if (stop) stop();
#pragma omp parallel for schedule(dynamic, 1024) if (mesh.size() > 20000)
    for (std::int64_t e = begin; e < end; ++e) {
      const element_test element(mesh, e);
      tree.for_each_meeting(element.box.wider(0.0), sides, [&](std::size_t i) {
        if (sides[i].element == e || !reaches(element, sides[i], mesh.dimension)) return;
#pragma omp critical(mesh_contact)
        if (e < first) {
          first = e;
          in_side = i;
        }
      });
    }
  }
  if (first < mesh.size())
    naming.refuse(text(sides[in_side]) + " lies inside element " + naming.element(first) +
                  ": the mesh overlaps itself");
}

std::int64_t cavities_of(const simplex_mesh& mesh) {
  disjoint_sets parts(mesh.elements.size());
  for (std::size_t e = 0; e < mesh.elements.size(); ++e)
    for (std::size_t f = 0; f < static_cast<std::size_t>(mesh.faces()); ++f)
      if (const face_link& link = mesh.links[e][f]; !link.is_boundary())
        parts.join(e, static_cast<std::size_t>(link.element));
  const std::vector<free_side> sides = free_sides_of(mesh);
  disjoint_sets surfaces(sides.size());
  std::map<std::array<std::int32_t, 2>, std::size_t> first;  // side at an edge; in two dimensions at a vertex
  for (std::size_t i = 0; i < sides.size(); ++i)
    for (std::size_t left_out = 0; left_out < static_cast<std::size_t>(mesh.dimension); ++left_out) {
      std::array<std::int32_t, 3> corners = sides[i].corners;
      corners[left_out] = -1;
      std::ranges::sort(corners);
      surfaces.join(i, first.try_emplace({corners[1], corners[2]}, i).first->second);
    }
  return std::max<std::int64_t>(0, surfaces.number() - parts.number());
}

}  // namespace plaquette
