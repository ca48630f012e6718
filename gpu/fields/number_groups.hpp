// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A site in groups of four complex numbers, which are whole chunks in every precision: the step of kernels that take
/// fields of any shape.
#pragma once

#include "gpu/device/unroll.hpp"
#include "gpu/fields/storage.hpp"

namespace plaquette::gpu {

inline constexpr int group_size = 4;

PLAQUETTE_HOST_DEVICE constexpr int groups_of(int components) { return (components + group_size - 1) / group_size; }

/// Four numbers as they lie in memory.
template <class T>
struct number_group {
  static constexpr int chunks = group_size / numbers_of_chunk<T>;
  chunk data[chunks];
};

/// \param site    chunk 0 of the site
/// \param chunks  of the site; numbers behind the last chunk are zero
template <class T>
PLAQUETTE_HOST_DEVICE inline number_group<T> load_group(const std::byte* site, int group, int chunks) {
  number_group<T> loaded;
  PLAQUETTE_GPU_UNROLL
  for (int c = 0; c < number_group<T>::chunks; ++c) {
    const int at = group * number_group<T>::chunks + c;
    loaded.data[c] = at < chunks ? load_chunk(site + at * chunk_stride) : chunk{};
  }
  return loaded;
}
template <class T>
PLAQUETTE_HOST_DEVICE inline void store_group(std::byte* site, int group, int chunks, const number_group<T>& stored) {
  PLAQUETTE_GPU_UNROLL
  for (int c = 0; c < number_group<T>::chunks; ++c) {
    const int at = group * number_group<T>::chunks + c;
    if (at < chunks) store_chunk(site + at * chunk_stride, stored.data[c]);
  }
}

template <class T>
PLAQUETTE_HOST_DEVICE inline void unpack_group(const number_group<T>& g, float scale,
                                               complex<real_of<T>> (&z)[group_size]) {
  PLAQUETTE_GPU_UNROLL
  for (int c = 0; c < number_group<T>::chunks; ++c) {
    complex<real_of<T>> few[numbers_of_chunk<T>];
    unpack<T>(g.data[c], scale, few);
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < numbers_of_chunk<T>; ++k) z[c * numbers_of_chunk<T> + k] = few[k];
  }
}
/// half: `inverse` of scale_of.
template <class T>
PLAQUETTE_HOST_DEVICE inline number_group<T> pack_group(const complex<real_of<T>> (&z)[group_size], float inverse) {
  number_group<T> packed;
  PLAQUETTE_GPU_UNROLL
  for (int c = 0; c < number_group<T>::chunks; ++c) {
    complex<real_of<T>> few[numbers_of_chunk<T>];
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < numbers_of_chunk<T>; ++k) few[k] = z[c * numbers_of_chunk<T> + k];
    packed.data[c] = pack<T>(few, inverse);
  }
  return packed;
}

/// Returns the largest magnitude among numbers and an earlier result; NaN counts as the largest.
template <class Real>
PLAQUETTE_HOST_DEVICE inline float largest_of(float before, const complex<Real> (&z)[group_size]) {
  PLAQUETTE_GPU_UNROLL
  for (int k = 0; k < group_size; ++k)
    before = larger_magnitude_of(larger_magnitude_of(before, static_cast<float>(z[k].re)), static_cast<float>(z[k].im));
  return before;
}

/// A site of a field of any shape, and the scale of a half field's.
template <class T>
struct site_reader {
  const std::byte* site;
  float scale;
  int chunks;

  PLAQUETTE_HOST_DEVICE site_reader(const spinor_pointer<const T>& from, std::int32_t i, int column, int components)
      : site(from.site(i, column)), scale(1.0F), chunks(chunks_of<T>(components)) {
    if constexpr (is_half<T>) scale = *from.scale(i, column, chunks);
  }
  PLAQUETTE_HOST_DEVICE void read(int group, complex<real_of<T>> (&z)[group_size]) const {
    unpack_group<T>(load_group<T>(site, group, chunks), scale, z);
  }
};

/// The step of kernels that move bytes: columns are whole pieces of 128 bytes, so that their numbers have 31 bits.
struct byte_piece {
  static constexpr int chunks = 8;
  static constexpr int bytes = chunks * chunk_bytes;

  std::int32_t number;  ///< of the piece
  std::int32_t offset;  ///< bytes to this thread's chunk in it

  PLAQUETTE_HOST_DEVICE explicit byte_piece(std::int64_t index)
      : number(static_cast<std::int32_t>(index / chunks)),
        offset(static_cast<std::int32_t>(index % chunks) * chunk_bytes) {}
};

/// Which site of a field thread `i` of a launch over all blocks of all parts takes, and whether there is one: the last
/// block of a part is padded.
struct padded_sites {
  std::int32_t blocks;      ///< of one part
  std::int32_t last_lanes;  ///< sites of a part's last block

  explicit padded_sites(const site_order& order)
      : blocks(order.blocks()), last_lanes(order.sites - lanes * (order.blocks() - 1)) {}
  PLAQUETTE_HOST_DEVICE bool has(std::int32_t i) const {
    if (lane_of(i) < last_lanes) return true;
    const std::int32_t block = block_of(i);
    return block != blocks - 1 && block != 2 * blocks - 1;
  }
};

}  // namespace plaquette::gpu
