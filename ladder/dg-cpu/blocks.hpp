// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 2 brings: a number is a register of eight, one for each of eight elements: a block. All elements have the
/// same matrices, so a coefficient of Dr serves eight. Neighbours are anywhere: their numbers are gathered one by one.
#pragma once

#include "ladder/dg-cpu/problem.hpp"
#include "ladder/dirac-cpu/lanes.hpp"

namespace ladder::dg {

using R = dirac::register_of<double>::type;
inline constexpr int width = 8;

/// A vector of space, a lane an element.
struct lanes3 {
  R v[3];
  R& operator[](int i) { return v[i]; }
  const R& operator[](int i) const { return v[i]; }
};
inline R dot(const lanes3& a, const lanes3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline lanes3 cross(const lanes3& a, const lanes3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// Geometry of a block, a lane an element.
struct block_geometry {
  lanes3 metric[3], normal[faces];
  R scale[faces];
  R inside[faces];  ///< 1, or 0 where the face is a wall
};

/// A rung whose state is [block][field][node] registers.
class block_rung : public rung {
 public:
  block_rung(size s, std::uint64_t seed) : p(s, seed), blocks(p.elements / width), geometry(std::size_t(blocks)) {
    for (int e = 0; e < p.elements; ++e) {
      const auto& from = p.domain.geometry[std::size_t(e)];
      block_geometry& to = geometry[std::size_t(e / width)];
      const int lane = e % width;
      for (int i = 0; i < 3; ++i) {
        for (int a = 0; a < 3; ++a) to.metric[a][i][lane] = from.metric[std::size_t(a)][std::size_t(i)];
        for (int face = 0; face < faces; ++face)
          to.normal[face][i][lane] = from.normal[std::size_t(face)][std::size_t(i)];
      }
      for (int face = 0; face < faces; ++face) {
        to.scale[face][lane] = from.face_scale[std::size_t(face)];
        to.inside[face][lane] = p.vmap_p[std::size_t((e * faces + face) * nfp)] < 0 ? 0 : 1;
      }
    }
    q = packed();
  }
  std::vector<double> result() const override {
    std::vector<double> numbers(p.state.size());
    for (int e = 0; e < p.elements; ++e)
      for (int f = 0; f < fields; ++f)
        for (int n = 0; n < np; ++n) numbers[p.at(f, e, n)] = q[place(e, f, n)][e % width];
    return numbers;
  }

 protected:
  static std::size_t place(int element, int field, int node) {
    return std::size_t((element / width * fields + field) * np + node);
  }
  std::vector<R> packed() const {
    std::vector<R> to(p.state.size() / width);
    for (int e = 0; e < p.elements; ++e)
      for (int f = 0; f < fields; ++f)
        for (int n = 0; n < np; ++n) to[place(e, f, n)][e % width] = p.state[p.at(f, e, n)];
    return to;
  }

  /// Returns q+ - q- of H (first = 0) or E (first = 3) at a node of a face. Behind a wall it is `wall` times q-.
  lanes3 jump(const R* state, int block, int face, int m, int first, double wall) const {
    const R* own = state + (block * fields + first) * np + p.domain.reference.node_of_face(face, m);
    lanes3 behind{};
    for (int lane = 0; lane < width; ++lane) {
      const int there = p.vmap_p[std::size_t(((block * width + lane) * faces + face) * nfp + m)];
      if (there < 0) continue;
      const int element = there / np;
      for (int i = 0; i < 3; ++i) behind[i][lane] = state[place(element, first + i, there % np)][element % width];
    }
    const R& inside = geometry[std::size_t(block)].inside[face];
    lanes3 d;
    for (int i = 0; i < 3; ++i) d[i] = inside * (behind[i] - own[i * np]) + (1 - inside) * wall * own[i * np];
    return d;
  }
  /// Computes Fscale times the upwind fluxes of H and E.
  void fluxes(lanes3& h, lanes3& e, const R* state, int block, int face, int m) const {
    const block_geometry& g = geometry[std::size_t(block)];
    const lanes3 dh = jump(state, block, face, m, 0, 0), de = jump(state, block, face, m, 3, -2);
    const lanes3 n_de = cross(g.normal[face], de), n_dh = cross(g.normal[face], dh);
    const R along_h = dot(g.normal[face], dh), along_e = dot(g.normal[face], de);
    for (int i = 0; i < 3; ++i) {
      h[i] = 0.5 * g.scale[face] * (dh[i] - g.normal[face][i] * along_h - n_de[i]);
      e[i] = 0.5 * g.scale[face] * (de[i] - g.normal[face][i] * along_e + n_dh[i]);
    }
  }

  problem p;
  int blocks;
  std::vector<block_geometry> geometry;
  std::vector<R> q;
};

}  // namespace ladder::dg
