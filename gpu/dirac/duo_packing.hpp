// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links and blocks of A in as many bits as smoother polynomials (duo_polynomial.hpp) keep of their sums. For batches
/// of few columns they are most of the bytes that are read: 208 bytes a site for 344 in half precision.
#pragma once

#include <cmath>

#include "gpu/dirac/hopping_site.hpp"

namespace plaquette::gpu {

/// Bytes of the four links of 32 sites: a link is a chunk of the numbers of two rows, three a word.
inline constexpr int packed_links_bytes = dimensions * chunk_stride;
/// Number 0, 1, 2 of a word has 11, 11 and 10 bits: n stands for (n - middle) unit, where unit is such that 1 is among
/// them.
template <int which>
struct number_of_link {
  static constexpr std::uint32_t middle = which == 2 ? 512 : 1024, mask = 2 * middle - 1;
  static constexpr float unit = (1.0F + 1.0F / middle) / middle;

  static PLAQUETTE_HOST_DEVICE std::uint32_t packed(float x) {
    const float n = x / unit + (static_cast<float>(middle) + 0.5F);  // positive: cutting off rounds to the nearest
    return static_cast<std::uint32_t>(n < 1.0F ? 1.0F : n > mask ? static_cast<float>(mask) : n) << (11 * which);
  }
  /// One fused operation: 2^23 + middle units are a float.
  static PLAQUETTE_KERNEL_INLINE float of(std::uint32_t word) {
    const float x = as_float(0x4B000000U | (word >> (11 * which) & mask));
    constexpr float offset = unit * (8388608.0F + middle);
#ifdef __CUDA_ARCH__
    return __fmaf_rn(x, unit, -offset);
#else
    return std::fma(x, unit, -offset);
#endif
  }
};
struct packed_link {
  words<4> word;

  template <load_hint hint>
  PLAQUETTE_KERNEL_INLINE void load(const std::byte* links, std::int32_t i, int mu) {
    word = load_words<hint, 4>(advanced(links, static_cast<std::uint32_t>(i) / lanes, packed_links_bytes) +
                               mu * chunk_stride + lane_of(i) * chunk_bytes);
  }
  /// \param links  of one direction: [block of 32 face sites][32]
  template <load_hint hint>
  PLAQUETTE_KERNEL_INLINE void load_ghost(const std::byte* links, std::int32_t f) {
    word = load_words<hint, 4>(advanced(links, static_cast<std::uint32_t>(f), chunk_bytes));
  }
  PLAQUETTE_KERNEL_INLINE float number(int k) const {
    const std::uint32_t w = word.w[k / 3];
    return k % 3 == 0 ? number_of_link<0>::of(w) : k % 3 == 1 ? number_of_link<1>::of(w) : number_of_link<2>::of(w);
  }
};

/// Both blocks of A of 32 sites: a byte a number, the scales of both, padding. The diagonal lacks a number, its centre,
/// that all sites have.
inline constexpr int numbers_of_block = chiral_rows * chiral_rows, packed_block_chunks = 5;
inline constexpr int packed_blocks_bytes = packed_block_chunks * chunk_stride;
struct packed_blocks {
  std::uint32_t word[4 * packed_block_chunks];

  template <load_hint hint>
  PLAQUETTE_KERNEL_INLINE void load(const std::byte* blocks, std::int32_t i) {
    const std::byte* const at =
        advanced(blocks, static_cast<std::uint32_t>(i) / lanes, packed_blocks_bytes) + lane_of(i) * chunk_bytes;
#pragma unroll
    for (int c = 0; c < packed_block_chunks; ++c) {
      const auto v = load_words<hint, 4>(at + c * chunk_stride);
#pragma unroll
      for (int j = 0; j < 4; ++j) word[4 * c + j] = v.w[j];
    }
  }
  PLAQUETTE_KERNEL_INLINE float scale(int chirality) const {
    return as_float(word[2 * numbers_of_block / 4 + chirality]);
  }
  /// In units of the scale.
  PLAQUETTE_KERNEL_INLINE float number(int chirality, int k) const {
    const int byte = chirality * numbers_of_block + k;
#ifdef __CUDA_ARCH__
    const std::uint32_t bits = __byte_perm(word[byte / 4], 0x4B000000U, 0x7440U + static_cast<unsigned>(byte % 4));
#else
    const std::uint32_t bits = 0x4B000000U | (word[byte / 4] >> (8 * (byte % 4)) & 0xffU);
#endif
    return as_float(bits) - (8388608.0F + 128.0F);
  }
};

PLAQUETTE_HOST_DEVICE inline chunk packed_chunk(const loaded_link<half, reconstruct::twelve>& link) {
  chunk made;
  PLAQUETTE_GPU_UNROLL
  for (int w = 0; w < 4; ++w)
    made.word[w] = number_of_link<0>::packed(link.number(3 * w)) | number_of_link<1>::packed(link.number(3 * w + 1)) |
                   number_of_link<2>::packed(link.number(3 * w + 2));
  return made;
}

/// Packs links and blocks of a site from numbers of half precision.
struct pack_for_duos {
  const std::byte *links, *blocks;  ///< of one parity
  std::byte *packed_links, *packed_blocks;
  float centre;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto i = static_cast<std::int32_t>(index);
    std::byte* const to = packed_links + std::int64_t{i / lanes} * packed_links_bytes + lane_of(i) * chunk_bytes;
    for (int mu = 0; mu < dimensions; ++mu) {
      loaded_link<half, reconstruct::twelve> link;
      link.load<load_hint::ordered>(link_of<half, reconstruct::twelve>(links, i, mu), lane_of(i));
      store_chunk(to + mu * chunk_stride, packed_chunk(link));
    }
    pack_blocks(i);
  }

 private:
  PLAQUETTE_HOST_DEVICE void pack_blocks(std::int32_t i) const {
    chunk made[packed_block_chunks] = {};
    PLAQUETTE_GPU_UNROLL
    for (int chirality = 0; chirality < 2; ++chirality) {
      loaded_clover<half> a;
      a.load<load_hint::ordered>(clover_of<half>(blocks, i) + chirality * chiral_block_bytes<half>, lane_of(i));
      const auto number = [&](int k) { return a.scale * a.number(k) - (k < chiral_rows ? centre : 0.0F); };
      float largest = 0.0F;
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < numbers_of_block; ++k) largest = larger_magnitude_of(largest, number(k));
      const float inverse = largest > 0.0F ? 127.0F / largest : 0.0F;
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < numbers_of_block; ++k) {
        const int byte = chirality * numbers_of_block + k;
        const auto q = static_cast<std::uint32_t>(inverse * number(k) + 128.5F);  // NaN is in the scale
        made[byte / 16].word[byte % 16 / 4] |= (q & 0xffU) << (8 * (byte % 4));
      }
      made[packed_block_chunks - 1].word[2 + chirality] = as_bits(largest / 127.0F);
    }
    std::byte* const to = packed_blocks + std::int64_t{i / lanes} * packed_blocks_bytes + lane_of(i) * chunk_bytes;
    PLAQUETTE_GPU_UNROLL
    for (int c = 0; c < packed_block_chunks; ++c) store_chunk(to + c * chunk_stride, made[c]);
  }
};
static_assert(2 * numbers_of_block / 4 == 4 * (packed_block_chunks - 1) + 2);

}  // namespace plaquette::gpu
