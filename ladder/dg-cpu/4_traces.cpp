// SPDX-License-Identifier: BSD-3-Clause
// ladder/dg-cpu/4_traces.cpp: like 3_one_product, but an element hands on what its neighbours need: the wave that
// leaves it, w = E - n n.E - n x H, three numbers a node of a face, contiguous. With w' from behind, the fluxes are
//   E: (w' - (E - n n.E + n x H)) / 2,   H: -n x that of E;   behind a wall w' = -w.
// Nothing reads a neighbour's fields now, so a block is updated at once: a stage goes through memory one time.
#include <cstring>

#include "ladder/dg-cpu/one_product.hpp"

namespace ladder::dg {
namespace {

class traces : public block_rung {
 public:
  traces(size s, std::uint64_t seed)
      : block_rung(s, seed),
        product_(p.domain.reference),
        k_(q.size()),
        old_(std::size_t(p.elements) * of_element),
        new_(old_) {
    for (int e = 0; e < p.elements; ++e)
      for (int face = 0; face < faces; ++face) {
        const auto& link = p.domain.part.links[std::size_t(e)][std::size_t(face)];
        behind_.push_back(link.is_boundary() ? e * faces + face : link.element * faces + link.face);
        orientation_.push_back(link.is_boundary() ? 0 : link.orientation);
      }
  }

  void run() override {
    q = packed();
    std::fill(k_.begin(), k_.end(), R{});
    for (int block = 0; block < blocks; ++block) write_traces(block);
    for (int stage = 0; stage < steps * plaquette::lserk4::stages; ++stage) {
      std::swap(old_, new_);
      const double a = plaquette::lserk4::a[stage % plaquette::lserk4::stages];
      const double b = plaquette::lserk4::b[stage % plaquette::lserk4::stages];
      for (int block = 0; block < blocks; ++block) {
        stack x;
        R *const own = &q[std::size_t(block * fields * np)], *const k = &k_[std::size_t(block * fields * np)];
        one_product::fill(x, geometry[std::size_t(block)], own);
        for (int face = 0; face < faces; ++face) read_traces(x, block, face);
        product_.multiply(x, [=, this](int field, int node, const R& rate) {
          const int i = field * np + node;
          k[i] = a * k[i] + p.dt * rate;
          own[i] += b * k[i];
        });
        write_traces(block);
      }
    }
  }

 private:
  static constexpr std::size_t of_face = 3 * nfp, of_element = faces * of_face;

  /// Returns E - n n.E + sign n x H at a node of a face.
  lanes3 wave(int block, int face, int m, double sign) const {
    const lanes3& n = geometry[std::size_t(block)].normal[face];
    const R* at = &q[std::size_t(block * fields * np + p.domain.reference.node_of_face(face, m))];
    const lanes3 e{at[3 * np], at[4 * np], at[5 * np]}, n_h = cross(n, {at[0], at[np], at[2 * np]});
    const R along = dot(n, e);
    return {e[0] - along * n[0] + sign * n_h[0], e[1] - along * n[1] + sign * n_h[1],
            e[2] - along * n[2] + sign * n_h[2]};
  }
  void write_traces(int block) {
    for (int face = 0; face < faces; ++face)
      for (int m = 0; m < nfp; ++m) {
        const lanes3 w = wave(block, face, m, -1);
        for (int lane = 0; lane < width; ++lane) {
          double* to =
              &new_[std::size_t(block * width + lane) * of_element + std::size_t(face) * of_face + std::size_t(3 * m)];
          for (int i = 0; i < 3; ++i) to[i] = w[i][lane];
        }
      }
  }
  /// Fills the lower part of the stack with Fscale times the fluxes.
  void read_traces(stack& x, int block, int face) const {
    const block_geometry& g = geometry[std::size_t(block)];
    for (int m = 0; m < nfp; ++m) {
      double words[3][width];
      for (int lane = 0; lane < width; ++lane) {
        const std::size_t at = std::size_t((block * width + lane) * faces + face);
        const int there = p.domain.reference.matching_node(orientation_[at], m);
        const double* from = &old_[std::size_t(behind_[at]) * of_face + std::size_t(3 * there)];
        for (int i = 0; i < 3; ++i) words[i][lane] = from[i];
      }
      lanes3 behind, flux;
      std::memcpy(&behind, words, sizeof behind);
      const lanes3 own = wave(block, face, m, 1);
      for (int i = 0; i < 3; ++i) flux[i] = 0.5 * g.scale[face] * ((2 * g.inside[face] - 1) * behind[i] - own[i]);
      const lanes3 n_flux = cross(g.normal[face], flux);
      for (int i = 0; i < 3; ++i)
        x[3 * np + face * nfp + m][i] = -n_flux[i], x[3 * np + face * nfp + m][3 + i] = flux[i];
    }
  }

  one_product product_;
  std::vector<R> k_;                       // the register of LSERK4
  std::vector<double> old_, new_;          // [element][face][m][component]: of this stage, and of the next
  std::vector<int> behind_, orientation_;  // [element][face]
};

const add<traces> rung_4("dg-cpu", 4, "traces", 6e-15, "like 3, but an element hands on the wave that leaves it");

}  // namespace
}  // namespace ladder::dg
