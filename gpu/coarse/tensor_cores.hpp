// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Complex products on tensor cores that take numbers of 16 bits and add in single precision. For .cu files only.
///
/// A word holds the two parts of a complex number, the real one in its lower half. A pair of words holds 22 bits: the
/// number rounded to 11 bits, and the remainder, rounded to 11 more. Numbers are scaled so that both are in the range
/// of 16 bits: the largest to about 2^14. Numbers 2^-18 times smaller lose last places, less than 2^-38 of the largest,
/// since their remainder is below the smallest number of 16 bits.
#pragma once

#include <cstdint>

#include "gpu/device/launch.hpp"

namespace plaquette::gpu {

#ifdef __CUDACC__

/// Returns the two numbers of 16 bits of a word as floats: exact.
__device__ __forceinline__ float2 unpacked(std::uint32_t word) {
  float2 z;
  asm("{.reg .b16 l, h;\n mov.b32 {l, h}, %2;\n cvt.f32.f16 %0, l;\n cvt.f32.f16 %1, h;}"
      : "=f"(z.x), "=f"(z.y)
      : "r"(word));
  return z;
}
/// Returns the inverse, rounded to nearest.
__device__ __forceinline__ std::uint32_t packed(float2 z) {
  std::uint32_t word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(z.y), "f"(z.x));
  return word;
}
/// Returns a word and the remainder.
__device__ __forceinline__ uint2 packed_twice(float2 z) {
  const std::uint32_t high = packed(z);
  const float2 rounded = unpacked(high);
  return make_uint2(high, packed(make_float2(z.x - rounded.x, z.y - rounded.y)));
}
/// Returns real and imaginary part change places.
__device__ __forceinline__ std::uint32_t swapped(std::uint32_t word) { return __byte_perm(word, 0, 0x1032); }
/// Returns the imaginary part (the upper half) changes its sign.
__device__ __forceinline__ std::uint32_t conjugated(std::uint32_t word) { return word ^ 0x80000000U; }

/// Computes c += a b: 16 x 16 times 16 x 8. Lane 4 g + t has of a the rows g and g + 8 and the columns 2 t, 2 t + 1
/// (a[0], a[1]) and 2 t + 8, 2 t + 9 (a[2], a[3]); of b the same rows of column g (b0, b1); of c the rows g (c[0],
/// c[1]) and g + 8 of columns 2 t and 2 t + 1.
__device__ __forceinline__ void multiply_tiles(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                               std::uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Loads 16, 8 or 4 bytes that nothing reads again soon.
__device__ __forceinline__ uint4 load_once(const uint4* at) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(at));
  return v;
}
__device__ __forceinline__ uint2 load_once(const uint2* at) {
  uint2 v;
  asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(at));
  return v;
}
__device__ __forceinline__ std::uint32_t load_once(const std::uint32_t* at) {
  std::uint32_t v;
  asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(v) : "l"(at));
  return v;
}

/// Returns the larger of two magnitudes by their bits; NaN counts as the largest.
__device__ __forceinline__ std::uint32_t larger_bits(std::uint32_t largest, float x) {
  return max(largest, __float_as_uint(x) & 0x7fffffffU);
}
__device__ __forceinline__ std::uint32_t larger_bits(std::uint32_t largest, float2 z) {
  return larger_bits(larger_bits(largest, z.x), z.y);
}

/// Powers of two that scale numbers for 16 bits: by the exponent of the largest, as the bits of a float hold it. (Below
/// 2^-112 all count as that.)
__device__ __forceinline__ int exponent_of(std::uint32_t bits_of_largest) {
  return max(static_cast<int>(bits_of_largest >> 23), 15);
}
/// Takes numbers below 2^(exponent - 126) to numbers below 2^14.
__device__ __forceinline__ float scale_to_halves(int exponent) {
  return __uint_as_float(static_cast<std::uint32_t>(267 - exponent) << 23);
}
__device__ __forceinline__ float scale_back(int exponent) {
  return __uint_as_float(static_cast<std::uint32_t>(exponent - 13) << 23);
}

#endif

}  // namespace plaquette::gpu
