// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How numbers of each precision lie in memory. The unit is a chunk of 16 bytes: 1 complex number in double and in
/// pairs of floats, 2 in float, 4 in half. A column of a block of 32 sites is [chunk][32 sites], and in half the 32
/// scales (float) after them; the rest of the last chunk is padding. A spinor field is [part][block][column] of such
/// columns (gpu/fields/field.hpp).
///
/// A number of half is an integer q, |q| <= 32767, times the site's scale; it is stored as q + 32768 in 16 bits, so
/// that two bytes set into the float 2^23 read it without a conversion. The scale is the largest magnitude of the site
/// divided by 32767 (on the CPU: not divided). NaN and infinity have no image among the integers; they stay visible in
/// the scale.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/algebra/complex.hpp"
#include "common/algebra/fixed_point.hpp"
#include "gpu/device/chunk.hpp"
#include "gpu/device/unroll.hpp"
#include "gpu/lattice/site_order.hpp"

namespace plaquette::gpu {

template <class T>
inline constexpr bool is_half = std::is_same_v<std::remove_const_t<T>, half>;

/// The type of computations.
template <class T>
using real_of = std::conditional_t<is_half<T>, float, std::remove_const_t<T>>;

inline constexpr int chunk_stride = chunk_bytes * lanes;  ///< from a site's chunk to its next, bytes

/// Complex numbers a chunk.
template <class T>
inline constexpr int numbers_of_chunk = is_half<T> ? 4 : 8 / static_cast<int>(sizeof(real_of<T>));

/// Returns the chunks of a site with this number of complex numbers.
template <class T>
PLAQUETTE_HOST_DEVICE constexpr int chunks_of(int components) {
  return (components + numbers_of_chunk<T> - 1) / numbers_of_chunk<T>;
}
/// Returns the bytes of a column of a block.
template <class T>
PLAQUETTE_HOST_DEVICE constexpr std::int32_t column_bytes(int components) {
  return chunks_of<T>(components) * chunk_stride + (is_half<T> ? lanes * 4 : 0);
}

// --- 16-bit numbers --------------------------------------------------------------------------------------------------

/// The number that `biased_number` adds to the integer.
inline constexpr float number_bias = 8388608.0F + 32768.0F;

/// Returns number_bias + q of the lower (which = 0) or upper (1) half of a word: exact.
template <int which>
PLAQUETTE_HOST_DEVICE inline float biased_number(std::uint32_t word) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(__byte_perm(word, 0x4B000000U, which == 0 ? 0x7610 : 0x7632));
#else
  return std::bit_cast<float>(0x4B000000U | (which == 0 ? word & 0xffffU : word >> 16));
#endif
}
/// Returns the inverse: two numbers as `biased` (below) made them, in one word.
PLAQUETTE_HOST_DEVICE inline std::uint32_t packed_numbers(float lower, float upper) {
#ifdef __CUDA_ARCH__
  return __byte_perm(__float_as_uint(lower), __float_as_uint(upper), 0x5410);
#else
  return (std::bit_cast<std::uint32_t>(lower) & 0xffffU) | (std::bit_cast<std::uint32_t>(upper) << 16);
#endif
}
/// Returns number_bias + round(x * inverse): the float's last bit is 1, so the sum rounds to the nearest integer.
PLAQUETTE_HOST_DEVICE inline float biased(float x, float inverse) {
#ifdef __CUDA_ARCH__
  return __fmaf_rn(x, inverse, number_bias);
#else
  return std::fma(x, inverse, number_bias);
#endif
}

/// Returns integer * scale, rounded: the number that is meant. Fused into a sum it would be another, and u - u not
/// zero.
PLAQUETTE_HOST_DEVICE inline float scaled_number(float integer, float scale) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(integer, scale);
#else
  return integer * scale;
#endif
}

/// Returns the larger magnitude; NaN counts as the largest.
PLAQUETTE_HOST_DEVICE inline float larger_magnitude_of(float largest, float x) {
#ifdef __CUDA_ARCH__
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(largest), "f"(fabsf(x)));
  return result;
#else
  return std::abs(x) > largest || std::isnan(x) ? std::abs(x) : largest;
#endif
}

/// The smallest largest magnitude of a site that is not zero, as on the CPU.
inline constexpr float smallest_magnitude = 0x1p-94F;

/// The unit of a site's integers, and the factor that turns its numbers into them.
struct site_scale {
  float scale, inverse;
};
PLAQUETTE_HOST_DEVICE inline site_scale scale_of(float largest) {
  if (largest > 0.0F && largest < smallest_magnitude) largest = smallest_magnitude;  // NaN stays
  return {largest * (1.0F / fixed_point_one), largest > 0.0F ? fixed_point_one / largest : 0.0F};
}

// --- A chunk as numbers ----------------------------------------------------------------------------------------------

/// T is double, float_pair or float; half: integers times `scale`.
template <class T>
PLAQUETTE_HOST_DEVICE inline void unpack(const chunk& c, float scale, complex<real_of<T>> (&z)[numbers_of_chunk<T>]) {
  if constexpr (is_half<T>) {
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < 4; ++k)
      z[k] = {scaled_number(biased_number<0>(c.word[k]) - number_bias, scale),
              scaled_number(biased_number<1>(c.word[k]) - number_bias, scale)};
  } else {
    struct numbers {
      complex<real_of<T>> z[numbers_of_chunk<T>];
    };
    const auto unpacked = std::bit_cast<numbers>(c);
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < numbers_of_chunk<T>; ++k) z[k] = unpacked.z[k];
  }
}
/// half: `inverse` of scale_of.
template <class T>
PLAQUETTE_HOST_DEVICE inline chunk pack(const complex<real_of<T>> (&z)[numbers_of_chunk<T>], float inverse) {
  if constexpr (is_half<T>) {
    chunk c;
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < 4; ++k) c.word[k] = packed_numbers(biased(z[k].re, inverse), biased(z[k].im, inverse));
    return c;
  } else {
    struct numbers {
      complex<real_of<T>> z[numbers_of_chunk<T>];
    } packed;
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < numbers_of_chunk<T>; ++k) packed.z[k] = z[k];
    return std::bit_cast<chunk>(packed);
  }
}

// --- Sites of a field ------------------------------------------------------------------------------------------------

/// A field's sites of one parity as kernels take them; T is const if they are read only.
template <class T>
struct spinor_pointer {
  using byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  byte* begin = nullptr;           ///< block 0, first column
  std::int64_t block_stride = 0;   ///< bytes from block to block
  std::int32_t column_stride = 0;  ///< bytes from column to column

  /// Returns chunk 0 of site i; chunk k is k * chunk_stride further.
  PLAQUETTE_HOST_DEVICE byte* site(std::int32_t i, int column) const {
    return begin + static_cast<std::int64_t>(block_of(i)) * block_stride +
           static_cast<std::int64_t>(column) * column_stride + lane_of(i) * chunk_bytes;
  }
  /// Returns the scale of site i of a half field with this number of chunks a site.
  PLAQUETTE_HOST_DEVICE auto* scale(std::int32_t i, int column, int chunks) const {
    using number = std::conditional_t<std::is_const_v<T>, const float, float>;
    return reinterpret_cast<number*>(begin + static_cast<std::int64_t>(block_of(i)) * block_stride +
                                     static_cast<std::int64_t>(column) * column_stride + chunks * chunk_stride) +
           lane_of(i);
  }
  template <class U = T>
    requires(!std::is_const_v<U>)
  PLAQUETTE_HOST_DEVICE operator spinor_pointer<const U>() const {
    return {begin, block_stride, column_stride};
  }
};

/// Loads the first `count` complex numbers of a site with `components` of them, beginning at chunk `first` (a number
/// that numbers_of_chunk divides). Half: scaled.
template <class T, int components>
PLAQUETTE_HOST_DEVICE inline void load_site(const spinor_pointer<const T>& from, std::int32_t i, int column,
                                            complex<real_of<T>> (&numbers)[components]) {
  constexpr int chunks = chunks_of<T>(components), of_chunk = numbers_of_chunk<T>;
  const std::byte* const at = from.site(i, column);
  float scale = 1.0F;
  if constexpr (is_half<T>) scale = *from.scale(i, column, chunks);
  PLAQUETTE_GPU_UNROLL
  for (int c = 0; c < chunks; ++c) {
    complex<real_of<T>> z[of_chunk];
    unpack<T>(load_chunk(at + c * chunk_stride), scale, z);
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < of_chunk; ++k)
      if (c * of_chunk + k < components) numbers[c * of_chunk + k] = z[k];
  }
}

/// Does the inverse, rounded; padding of the last chunk becomes zero.
template <class T, int components>
PLAQUETTE_HOST_DEVICE inline void store_site(const spinor_pointer<T>& to, std::int32_t i, int column,
                                             const complex<real_of<T>> (&numbers)[components]) {
  constexpr int chunks = chunks_of<T>(components), of_chunk = numbers_of_chunk<T>;
  std::byte* const at = to.site(i, column);
  float inverse = 1.0F;
  if constexpr (is_half<T>) {
    float largest = 0.0F;
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < components; ++k)
      largest = larger_magnitude_of(larger_magnitude_of(largest, numbers[k].re), numbers[k].im);
    const site_scale s = scale_of(largest);
    *to.scale(i, column, chunks) = s.scale;
    inverse = s.inverse;
  }
  PLAQUETTE_GPU_UNROLL
  for (int c = 0; c < chunks; ++c) {
    complex<real_of<T>> z[of_chunk];
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < of_chunk; ++k)
      z[k] = c * of_chunk + k < components ? numbers[c * of_chunk + k] : complex<real_of<T>>{};
    store_chunk(at + c * chunk_stride, pack<T>(z, inverse));
  }
}

}  // namespace plaquette::gpu
