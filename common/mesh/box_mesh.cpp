// SPDX-License-Identifier: BSD-3-Clause
#include "common/mesh/box_mesh.hpp"

#include <string>

#include "common/error.hpp"

namespace plaquette {

namespace {

/// Numbers of the grid's points, and where they are.
class grid_points {
 public:
  explicit grid_points(const box_shape& shape)
      : shape_(shape), points_{shape.cells[0] + 1, shape.cells[1] + 1, shape.dimension == 3 ? shape.cells[2] + 1 : 1} {}
  std::int32_t number(const std::array<int, 3>& at) const { return (at[2] * points_[1] + at[1]) * points_[0] + at[0]; }
  const std::array<int, 3>& points() const { return points_; }

  template <class Body>
  void for_each(Body&& body) const {
    for (int k = 0; k < points_[2]; ++k)
      for (int j = 0; j < points_[1]; ++j)
        for (int i = 0; i < points_[0]; ++i) body(std::array<int, 3>{i, j, k});
  }

  /// Points of a periodic side lie like those of the opposite one; points of other sides stay in them.
  std::array<double, 3> position(const std::array<int, 3>& at) const {
    std::array<double, 3> x{};
    std::array<int, 3> same = at;
    for (std::size_t i = 0; i < 3; ++i)
      if (shape_.periodic[i] && same[i] == shape_.cells[i]) same[i] = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(shape_.dimension); ++i) {
      const double width = (shape_.high[i] - shape_.low[i]) / shape_.cells[i];
      const bool on_side = at[i] == 0 || at[i] == shape_.cells[i];
      x[i] = at[i] == shape_.cells[i] ? shape_.high[i] : shape_.low[i] + width * at[i];
      if (!on_side && shape_.shaking > 0.0) x[i] += width * shape_.shaking * random(same, i);
    }
    return x;
  }

 private:
  /// In [-1, 1), by the point alone.
  double random(const std::array<int, 3>& at, std::size_t direction) const {
    std::uint64_t h = shape_.seed + 0x9e3779b97f4a7c15ULL;
    for (const std::uint64_t word : {static_cast<std::uint64_t>(number(at)), static_cast<std::uint64_t>(direction)}) {
      h = (h ^ word) * 0xbf58476d1ce4e5b9ULL;  // the finaliser of splitmix64
      h = (h ^ (h >> 27)) * 0x94d049bb133111ebULL;
      h ^= h >> 31;
    }
    return 2.0 * (static_cast<double>(h >> 11) * 0x1p-53) - 1.0;
  }

  box_shape shape_;
  std::array<int, 3> points_{};
};

void require_sense(const box_shape& shape) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.dimension); ++i) {
    if (shape.cells[i] < 1) throw input_error("box mesh: expected at least one cell in each direction");
    if (!(shape.low[i] < shape.high[i])) throw input_error("box mesh: expected low < high in each direction");
  }
  if (!(shape.shaking >= 0.0 && shape.shaking < 0.25)) throw input_error("box mesh: expected shaking of 0 to 0.25");
  double points = 1.0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.dimension); ++i) points *= shape.cells[i] + 1.0;
  if (points > 3e8) throw input_error("box mesh: more cells than this program numbers");
}

/// Faces on the sides that are not periodic: all their corners have the same first or last index.
std::vector<tagged_face> sides_of(const simplex_mesh& mesh, const box_shape& shape, const std::array<int, 3>& points,
                                  paced_stop& pace) {
  const auto index_of = [&points](std::int32_t vertex, std::size_t direction) {
    const std::array<int, 3> index{vertex % points[0], vertex / points[0] % points[1], vertex / points[0] / points[1]};
    return index[direction];
  };
  std::vector<tagged_face> sides;
  for (const auto& corners : mesh.elements) {
    pace();
    for (int f = 0; f <= shape.dimension; ++f)
      for (std::size_t i = 0; i < static_cast<std::size_t>(shape.dimension); ++i)
        for (int end = 0; end < 2 && !shape.periodic[i]; ++end) {
          tagged_face face{{-1, -1, -1}, static_cast<int>(2 * i) + end + 1};
          bool on_side = true;
          for (std::size_t c = 0; c < static_cast<std::size_t>(shape.dimension); ++c) {
            face.corners[c] = corners[static_cast<std::size_t>(corners_of_face(shape.dimension, f)[c])];
            on_side = on_side && index_of(face.corners[c], i) == end * shape.cells[i];
          }
          if (on_side) sides.push_back(face);
        }
  }
  return sides;
}

}  // namespace

simplex_mesh box_mesh(const box_shape& shape, const stop_check& stop) {
  paced_stop pace(stop);
  require_sense(shape);
  const grid_points grid(shape);
  const auto dimension = static_cast<std::size_t>(shape.dimension);
  simplex_mesh mesh;
  mesh.dimension = shape.dimension;
  grid.for_each([&](const std::array<int, 3>& at) {
    pace();
    mesh.vertices.push_back(grid.position(at));
  });

  // Kuhn's cut: a walk from the lowest corner of a cell to the highest, one direction after the other, for each order
  // of the directions.
  const auto add_cell = [&](std::array<int, 3> low) {
    for (const auto& order : face_permutations) {
      if (dimension == 2 && order[2] != 2) continue;
      std::array<std::int32_t, 4> corners{-1, -1, -1, -1};
      std::array<int, 3> at = low;
      corners[0] = grid.number(at);
      for (std::size_t i = 0; i < dimension; ++i) {
        ++at[static_cast<std::size_t>(order[i])];
        corners[i + 1] = grid.number(at);
      }
      mesh.elements.push_back(corners);
    }
  };
  grid.for_each([&](const std::array<int, 3>& at) {
    pace();
    bool begins_cell = true;
    for (std::size_t i = 0; i < dimension; ++i) begins_cell = begins_cell && at[i] < shape.cells[i];
    if (begins_cell) add_cell(at);
  });

  for (std::size_t i = 0; i < dimension; ++i)
    if (shape.periodic[i]) {
      vertex_pairs pairs;
      grid.for_each([&](std::array<int, 3> at) {
        if (at[i] != shape.cells[i]) return;
        const std::int32_t here = grid.number(at);
        at[i] = 0;
        pairs[here] = grid.number(at);
      });
      mesh.periodic.push_back(std::move(pairs));
    }

  const auto sides = sides_of(mesh, shape, grid.points(), pace);
  connect(mesh, sides, {"box mesh"}, stop);
  return mesh;
}

}  // namespace plaquette
