// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Two floating-point numbers of 16 bits in a word, of two columns of a batch: one instruction computes with both.
#pragma once

#include <cstdint>

#include "gpu/fields/half_bits.hpp"
#include "gpu/fields/memory_access.hpp"

namespace plaquette::gpu {

/// Ten bits behind the point; magnitudes from 2^-14 to 65504 in full.
struct duo {
  std::uint32_t bits;
};

/// Returns a number for each column.
PLAQUETTE_KERNEL_INLINE duo duo_of(float first, float second) {
#ifdef __CUDA_ARCH__
  duo r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r.bits) : "f"(second), "f"(first));
  return r;
#else
  return {half_bits(first) | static_cast<std::uint32_t>(half_bits(second)) << 16};
#endif
}
template <int column>
PLAQUETTE_KERNEL_INLINE float number_of(duo a) {
#ifdef __CUDA_ARCH__
  float r;
  if constexpr (column == 0)
    asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, l;}" : "=f"(r) : "r"(a.bits));
  else
    asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, h;}" : "=f"(r) : "r"(a.bits));
  return r;
#else
  return float_of_half(column == 0 ? a.bits & 0xffffU : a.bits >> 16);
#endif
}
/// Returns the first (0) or second (1) number for both columns.
template <int which>
PLAQUETTE_KERNEL_INLINE duo both_of(duo a) {
#ifdef __CUDA_ARCH__
  duo r;
  if constexpr (which == 0)
    asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {l, l};}" : "=r"(r.bits) : "r"(a.bits));
  else
    asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {h, h};}" : "=r"(r.bits) : "r"(a.bits));
  return r;
#else
  const std::uint32_t one = which == 0 ? a.bits & 0xffffU : a.bits >> 16;
  return {one | one << 16};
#endif
}

/// Does the same by an instruction of its own: products with the result may go through either of two pipes.
/// \param selector  0x1010 (0) or 0x3232 (1), not known when the kernel is compiled
PLAQUETTE_KERNEL_INLINE duo both_by(duo a, std::uint32_t selector) {
#ifdef __CUDA_ARCH__
  return {__byte_perm(a.bits, 0, selector)};
#else
  return selector == 0x1010U ? both_of<0>(a) : both_of<1>(a);
#endif
}

/// Returns a b + c, rounded once.
PLAQUETTE_KERNEL_INLINE duo multiply_add(duo a, duo b, duo c) {
#ifdef __CUDA_ARCH__
  duo r;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r.bits) : "r"(a.bits), "r"(b.bits), "r"(c.bits));
  return r;
#else
  return duo_of(number_of<0>(a) * number_of<0>(b) + number_of<0>(c),
                number_of<1>(a) * number_of<1>(b) + number_of<1>(c));
#endif
}
PLAQUETTE_KERNEL_INLINE duo operator*(duo a, duo b) {
#ifdef __CUDA_ARCH__
  duo r;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(r.bits) : "r"(a.bits), "r"(b.bits));
  return r;
#else
  return duo_of(number_of<0>(a) * number_of<0>(b), number_of<1>(a) * number_of<1>(b));
#endif
}
PLAQUETTE_KERNEL_INLINE duo operator+(duo a, duo b) {
#ifdef __CUDA_ARCH__
  duo r;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(r.bits) : "r"(a.bits), "r"(b.bits));
  return r;
#else
  return duo_of(number_of<0>(a) + number_of<0>(b), number_of<1>(a) + number_of<1>(b));
#endif
}
PLAQUETTE_KERNEL_INLINE duo operator-(duo a) {
#ifdef __CUDA_ARCH__
  duo r;
  asm("neg.f16x2 %0, %1;" : "=r"(r.bits) : "r"(a.bits));
  return r;
#else
  return {a.bits ^ 0x80008000U};
#endif
}
PLAQUETTE_KERNEL_INLINE duo operator-(duo a, duo b) {
#ifdef __CUDA_ARCH__
  duo r;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(r.bits) : "r"(a.bits), "r"(b.bits));
  return r;
#else
  return a + -b;
#endif
}
PLAQUETTE_KERNEL_INLINE duo& operator+=(duo& a, duo b) { return a = a + b; }

}  // namespace plaquette::gpu
