// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Products V^+ W of an aggregate's vectors with others, for all aggregates at once. For .cu files only.
#pragma once

#include "gpu/coarse/coarse_matrices.hpp"
#include "gpu/device/launch.hpp"

namespace plaquette::gpu {

/// Which places of an aggregate count.
struct place_choice {
  const std::uint8_t* crossing = nullptr;  ///< [place], a bit a direction; null: all count
  int direction = 0;
  bool crosses = false;

  PLAQUETTE_HOST_DEVICE bool operator()(std::int64_t place) const {
    return crossing == nullptr || (((crossing[place] >> direction) & 1) != 0) == crosses;
  }
};

/// A tile of 4 x 4 numbers of V_a^+ W, where a is a chirality: the sum over the places that count, and their rows.
/// Right has blocks(), left_chirality(block) and row(block, coarse site, place), where the rows of W at a place begin;
/// sink(block, coarse site, i, j, sum) takes a number. An index is a tile of a block of a coarse site.
template <class Sum, class Right, class Sink>
struct aggregate_product {
  static constexpr int edge = 4;

  const complex<float>* v;
  aggregate_pointers blocks;
  std::int32_t rows, vectors;
  std::int64_t first_site;
  place_choice counts;
  Right right;
  Sink sink;

  PLAQUETTE_HOST_DEVICE std::int32_t tiles() const { return (vectors + edge - 1) / edge; }

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t by_row = index / tiles(), by_block = by_row / tiles(), local = by_block / right.blocks();
    const auto j = static_cast<std::int32_t>(index - by_row * tiles()) * edge;
    const auto i = static_cast<std::int32_t>(by_row - by_block * tiles()) * edge;
    const int block = static_cast<int>(by_block - local * right.blocks());
    const std::int64_t s = first_site + local;
    complex<Sum> sum[edge][edge]{};
    for (int parity = 0; parity < 2; ++parity) {
      const complex<float>* left = v + blocks.block_begin(s, parity, right.left_chirality(block), rows) * vectors;
      const std::int64_t first = s * blocks.volume + blocks.first(s, parity);
      for (std::int32_t k = 0; k < blocks.count(s, parity); ++k, left += std::int64_t{rows} * vectors)
        if (counts(first + k)) add_rows(sum, left, right.row(block, s, first + k), i, j);
    }
    for (int a = 0; a < edge && i + a < vectors; ++a)
      for (int b = 0; b < edge && j + b < vectors; ++b) sink(block, s, i + a, j + b, sum[a][b]);
  }

 private:
  PLAQUETTE_HOST_DEVICE void add_rows(complex<Sum> (&sum)[edge][edge], const complex<float>* left,
                                      const complex<float>* right_rows, std::int32_t i, std::int32_t j) const {
    for (std::int32_t r = 0; r < rows; ++r, left += vectors, right_rows += vectors) {
      complex<Sum> x[edge], y[edge];
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < edge; ++k) {
        x[k] = i + k < vectors ? complex_cast<Sum>(left[i + k]) : complex<Sum>{};
        y[k] = j + k < vectors ? complex_cast<Sum>(right_rows[j + k]) : complex<Sum>{};
      }
      PLAQUETTE_GPU_UNROLL
      for (int a = 0; a < edge; ++a) {
        PLAQUETTE_GPU_UNROLL
        for (int b = 0; b < edge; ++b) {
          sum[a][b].re += x[a].re * y[b].re + x[a].im * y[b].im;
          sum[a][b].im += x[a].re * y[b].im - x[a].im * y[b].re;
        }
      }
    }
  }
};

/// Queues the products of `sites` coarse sites.
template <class Sum, class Right, class Sink>
void queue_products(const queue& q, std::int64_t sites, const aggregate_product<Sum, Right, Sink>& body) {
  for_each_index(q, sites * body.right.blocks() * body.tiles() * body.tiles(), body, 128);
}

}  // namespace plaquette::gpu
