// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 4 brings: registers of W numbers, one for each of W sites. The lattice is cut into W equal boxes. A block
/// is the W sites at the same place in all boxes. Its neighbour in any direction is one block again. Only where a step
/// leaves the boxes do the lanes change places: lane l then takes what lane l' of the neighbour has.
#pragma once

#include "ladder/dirac-cpu/half_spinor.hpp"
#include "ladder/dirac-cpu/problem.hpp"

namespace ladder::dirac {

/// 64 bytes of T: a register of AVX-512, or two of AVX2. The compilers' vector types add and multiply like numbers.
template <class T>
struct register_of {
  typedef T type __attribute__((vector_size(64)));
};

class block_order {
 public:
  block_order(const problem& p, int width) : width(width), blocks(p.sites / width) {
    const std::array<int, 4> boxes = {width == 16 ? 2 : 1, 2, 2, 2};
    std::array<int, 4> box{};
    for (int mu = 0; mu < 4; ++mu) box[mu] = p.extent[mu] / boxes[mu];  // even, so that a block has one parity
    std::vector<int> block_of(p.sites), lane_of(p.sites);
    for (int parity : {0, 1})
      for (int x = 0; x < p.sites; ++x) {
        const auto c = p.coordinates(x);
        if (p.parity(x) != parity || c[0] >= box[0] || c[1] >= box[1] || c[2] >= box[2] || c[3] >= box[3]) continue;
        for (int lane = 0; lane < width; ++lane) {
          std::array<int, 4> place = c;
          for (int mu = 0, rest = lane; mu < 4; rest /= boxes[mu], ++mu) place[mu] += rest % boxes[mu] * box[mu];
          block_of[p.site(place)] = int(sites.size()) / width;
          lane_of[p.site(place)] = lane;
          sites.push_back(p.site(place));
        }
      }
    for (int block = 0; block < blocks; ++block)
      for (int k = 0; k < 8; ++k) {
        const auto next = [&](int lane) {
          return p.neighbour(sites[block * width + lane], k / 2, k % 2 == 0 ? +1 : -1);
        };
        neighbours.push_back(block_of[next(0)]);
        turned.push_back(lane_of[next(0)] != 0);
        for (int lane = 0; lane < width && turned.back(); ++lane) partner[k][lane] = lane_of[next(lane)];
      }
  }

  int width, blocks;
  std::vector<int> sites;       ///< [block][lane], even blocks first
  std::vector<int> neighbours;  ///< [block][hop]
  std::vector<char> turned;     ///< [block][hop] whether lanes change places
  int partner[8][16] = {};      ///< [hop][lane] with which one then
};

/// Lets the lanes of all numbers of h change places.
template <class R>
void turn(half_spinor<R>& h, const int* partner) {
  constexpr int width = sizeof(R) / sizeof(h[0][0].re[0]);
  const auto turned = [&](const R& v) {
#if defined(__GNUC__) && !defined(__clang__)
    decltype(v < v) from;  // integers of the numbers' size
    for (int lane = 0; lane < width; ++lane) from[lane] = partner[lane];
    return __builtin_shuffle(v, from);  // one instruction
#else
    R to = v;
    for (int lane = 0; lane < width; ++lane) to[lane] = v[partner[lane]];
    return to;
#endif
  };
  for (auto& spin : h)
    for (complex<R>& v : spin) v = complex<R>{turned(v.re), turned(v.im)};
}

/// Adds a hop. A link forwards belongs to the block itself, one backwards to the neighbour, and so do its lanes.
template <int mu, int sign, class R>
void add_hop(spinor<R>& sum, const link<R>& u, const spinor<R>& psi, bool turned, const int* partner) {
  half_spinor<R> h, g;
  project<mu, sign>(h, psi);
  if (sign > 0 && turned) turn(h, partner);
  transport<sign>(g, u, h);
  if (sign < 0 && turned) turn(g, partner);
  add_reconstructed<mu, sign>(sum, g);
}

/// A rung whose numbers lie in lanes of T. It packs and unpacks; what is timed stands in the rungs.
template <class T>
class lane_rung : public dirac_rung {
 public:
  using R = typename register_of<T>::type;
  static constexpr int width = sizeof(R) / sizeof(T);

  lane_rung(size s, std::uint64_t seed) : dirac_rung(s, seed), order(p, width) {}

  std::vector<double> result() const override {
    std::vector<double> numbers(2 * out.size());
    for (int column = 0; column < p.columns; ++column)
      for (int i = 0; i < p.sites; ++i)
        for (int k = 0; k < 24; ++k)
          numbers[(std::size_t(column) * p.sites + order.sites[i]) * 24 + k] = output(column, i / width, i % width, k);
    return numbers;
  }

 protected:
  /// Returns real number k of the 24 of a site of the result.
  virtual double output(int column, int block, int lane, int k) const = 0;

  /// Returns [block][mu][row][column] complex numbers of W lanes.
  std::vector<complex<R>> packed_links() const { return packed(p.links.data(), 36); }
  /// Returns [block][spin][colour] of a column.
  std::vector<complex<R>> packed_in(int column) const { return packed(&p.in[std::size_t(column) * p.sites * 12], 12); }

  block_order order;

 private:
  std::vector<complex<R>> packed(const number* from, int numbers) const {
    std::vector<complex<R>> to(std::size_t(order.blocks) * numbers);
    for (int i = 0; i < p.sites; ++i)
      for (int k = 0; k < numbers; ++k) {
        const number v = from[std::size_t(order.sites[i]) * numbers + k];
        complex<R>& place = to[std::size_t(i / width) * numbers + k];
        place.re[i % width] = T(v.real()), place.im[i % width] = T(v.imag());
      }
    return to;
  }
};

}  // namespace ladder::dirac
