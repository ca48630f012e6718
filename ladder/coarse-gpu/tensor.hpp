// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 8 brings: a tensor core multiplies a tile of 16 rows by eight columns, in one instruction of a warp:
///   C (16 x 8) += A (16 x K) B (K x 8).
/// The eight columns are the real and imaginary parts of four results, so no product is wasted. A row of A has (re, im)
/// of each number; (re, -im) of the vector below each other make the real part of a result, (im, re) its imaginary
/// part.
///
/// The 32 lanes of the warp hold A, B and C in registers. Lane 4 g + t has, in words of 32 bits,
///   of A  {(g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4)}, a row and a word of it;
///   of B  {(t, g), (t + 4, g)}, a word and the column;
///   of C  {(g, 2 t), (g, 2 t + 1), (g + 8, 2 t), (g + 8, 2 t + 1)}: rows g and g + 8 of the complex column t.
/// A Format says what a word is. So matrices lie in memory as lanes hold them: a load of 16 bytes is a lane's part.
#pragma once

#include <bit>
#include <cstdint>

#include "ladder/coarse-gpu/nine.hpp"

namespace ladder::coarse_gpu {

template <int W>
struct alignas(4 * W) words {
  std::uint32_t w[W];
};

/// c += A B. a(lane) and b(lane) return the words that a lane holds; all lanes of a warp call this. As a loop of the
/// host it does what the instruction does: it takes the words of other lanes.
template <class Format, class A, class B>
LADDER_BOTH void multiply_tiles(float (&c)[4], int lane, const A& a, const B& b) {
#ifdef __CUDA_ARCH__
  Format::multiply(c, a(lane), b(lane));
#else
  for (int t = 0; t < 4; ++t) {
    const words<4> rows = a(lane / 4 * 4 + t);
    for (int i = 0; i < 4; ++i) {
      const words<2> column = b((lane % 4 * 2 + i % 2) * 4 + t);
      for (int half = 0; half < 2; ++half) c[i] += Format::product(rows.w[i / 2 + 2 * half], column.w[half]);
    }
  }
#endif
}

/// A block has a site, a warp one of its matrices. Format::width is the complex numbers of a row of a tile.
template <class Format>
struct tensor_body : arrays {
  const words<4>* tiles;  ///< [site][matrix][tile][lane]

  static constexpr int lanes = 32, of_row = n / Format::width, threads = matrices * lanes, steps = 2;
  struct memory {
    number products[matrices][columns][n];
  };

  LADDER_BOTH void operator()(int step, int site, int thread, memory& shared) const {
    if (step == 0) {
      const int k = thread / lanes, lane = thread % lanes;
      float c[4]{};
      for (int tile = 0; tile < of_row; ++tile)
        multiply_tiles<Format>(
            c, lane, [&](int l) { return tiles[((site * matrices + k) * of_row + tile) * lanes + l]; },
            [&](int l) {
              const auto* v = reinterpret_cast<const group<1>*>(vector(l / 8, site, k)) + tile * Format::width;
              return Format::words_of_vector(
                  [&](int j) {
                    const number z = v[j].z[0];
                    return l / 4 % 2 == 0 ? number{z.re, -z.im} : number{z.im, z.re};
                  },
                  l % 4);
            });
      shared.products[k][lane % 4][lane / 4] = {c[0], c[1]};
      shared.products[k][lane % 4][lane / 4 + 8] = {c[2], c[3]};
    } else if (thread < columns * n) {
      add_nine(*this, site, thread / n, thread % n, shared.products);
    }
  }
};

inline namespace LADDER_PLACE {

template <class Format>
class tensor_rung : public coarse_rung<order::by_rows> {
 public:
  tensor_rung(size s, std::uint64_t seed) : coarse_rung(s, seed), tiles_(tiled(matrices_of_sites)) {}
  void run() override { for_each_block(sites, tensor_body<Format>{pointers(), tiles_.data()}); }
  double bytes() const override { return coarse_rung::bytes() - a_.bytes() + tiles_.bytes(); }

 private:
  static std::vector<words<4>> tiled(const std::vector<number>& from) {
    std::vector<words<4>> to;
    for (std::size_t matrix = 0; matrix < from.size(); matrix += of_matrix)
      for (int tile = 0; tile < n; tile += Format::width)
        for (int lane = 0; lane < 32; ++lane) {
          const number* row = &from[matrix] + lane / 4 * n + tile;
          to.push_back(Format::words_of_rows(row, row + 8 * n, lane % 4));
        }
    return to;
  }

  device_array<words<4>> tiles_;
};

}  // namespace LADDER_PLACE

}  // namespace ladder::coarse_gpu
