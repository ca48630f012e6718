// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How the Dirac kernels touch memory: words of 16, 8 and 4 bytes, with hints for the caches, and numbers of 16 bits
/// read without conversions. On the host the same functions are plain copies.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/algebra/complex.hpp"
#include "gpu/fields/storage.hpp"

#define PLAQUETTE_KERNEL_INLINE PLAQUETTE_HOST_DEVICE inline __attribute__((always_inline))

namespace plaquette::gpu {

/// A run of 16, 8 or 4 bytes, as words of 32 bits.
template <int count>
struct alignas(4 * count) words {
  std::uint32_t w[count];
};

/// Facts about the numbers that are loaded.
enum class load_hint {
  none,  ///< the pointer may be to shared memory
  /// Nothing writes them while the kernel may already run: they may be loaded before the kernel that comes first has
  /// ended. (The compiler moves such loads across the wait for it; so nothing that a kernel writes is loaded so.)
  constant,
  /// The same, and they are read but once: not kept in the first-level cache.
  constant_once,
  /// Written by the kernel that comes first: stays behind the wait for it.
  ordered,
  /// Written while the kernel runs, by another device: not from the first-level cache. For 16 bytes.
  fresh
};

template <load_hint hint, int count>
PLAQUETTE_KERNEL_INLINE words<count> load_words(const std::byte* from) {
  words<count> r;
#ifdef __CUDA_ARCH__
  if constexpr (hint == load_hint::none) {
    r = *reinterpret_cast<const words<count>*>(from);
  } else if constexpr (count == 4) {
    if constexpr (hint == load_hint::constant)
      asm("ld.global.nc.v4.u32 {%0,%1,%2,%3}, [%4];"
          : "=r"(r.w[0]), "=r"(r.w[1]), "=r"(r.w[2]), "=r"(r.w[3])
          : "l"(from));
    else if constexpr (hint == load_hint::constant_once)
      asm("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
          : "=r"(r.w[0]), "=r"(r.w[1]), "=r"(r.w[2]), "=r"(r.w[3])
          : "l"(from));
    else if constexpr (hint == load_hint::fresh)
      asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(r.w[0]), "=r"(r.w[1]), "=r"(r.w[2]), "=r"(r.w[3])
                   : "l"(from)
                   : "memory");
    else
      asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(r.w[0]), "=r"(r.w[1]), "=r"(r.w[2]), "=r"(r.w[3])
                   : "l"(from)
                   : "memory");
  } else if constexpr (count == 2) {
    if constexpr (hint == load_hint::constant)
      asm("ld.global.nc.v2.u32 {%0,%1}, [%2];" : "=r"(r.w[0]), "=r"(r.w[1]) : "l"(from));
    else if constexpr (hint == load_hint::constant_once)
      asm("ld.global.nc.L1::no_allocate.v2.u32 {%0,%1}, [%2];" : "=r"(r.w[0]), "=r"(r.w[1]) : "l"(from));
    else
      asm volatile("ld.global.v2.u32 {%0,%1}, [%2];" : "=r"(r.w[0]), "=r"(r.w[1]) : "l"(from) : "memory");
  } else {
    if constexpr (hint == load_hint::constant)
      asm("ld.global.nc.u32 %0, [%1];" : "=r"(r.w[0]) : "l"(from));
    else if constexpr (hint == load_hint::constant_once)
      asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(r.w[0]) : "l"(from));
    else
      asm volatile("ld.global.u32 %0, [%1];" : "=r"(r.w[0]) : "l"(from) : "memory");
  }
#else
  std::memcpy(&r, from, sizeof r);
#endif
  return r;
}

/// \param past  the numbers will be gone from the caches before anybody reads them
template <int count>
PLAQUETTE_KERNEL_INLINE void store_words(std::byte* to, const words<count>& r, bool past) {
#ifdef __CUDA_ARCH__
  if constexpr (count == 4) {
    if (past)
      asm volatile("st.global.cs.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(to), "r"(r.w[0]), "r"(r.w[1]), "r"(r.w[2]),
                   "r"(r.w[3])
                   : "memory");
    else
      asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(to), "r"(r.w[0]), "r"(r.w[1]), "r"(r.w[2]), "r"(r.w[3])
                   : "memory");
  } else {
    static_assert(count == 1);
    if (past)
      asm volatile("st.global.cs.u32 [%0], %1;" ::"l"(to), "r"(r.w[0]) : "memory");
    else
      asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(r.w[0]) : "memory");
  }
#else
  static_cast<void>(past);
  std::memcpy(to, &r, sizeof r);
#endif
}

/// Returns begin + steps * bytes: on the device one operation, which the compiler would take apart.
template <class Byte>
PLAQUETTE_KERNEL_INLINE Byte* advanced(Byte* begin, std::uint32_t steps, std::uint32_t bytes) {
#ifdef __CUDA_ARCH__
  Byte* r;
  asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(r) : "r"(steps), "r"(bytes), "l"(begin));
  return r;
#else
  return begin + static_cast<std::uint64_t>(steps) * bytes;
#endif
}

PLAQUETTE_KERNEL_INLINE float as_float(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}
PLAQUETTE_KERNEL_INLINE std::uint32_t as_bits(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  return std::bit_cast<std::uint32_t>(x);
#endif
}
PLAQUETTE_KERNEL_INLINE double as_double(std::uint32_t low, std::uint32_t high) {
#ifdef __CUDA_ARCH__
  return __hiloint2double(static_cast<int>(high), static_cast<int>(low));
#else
  return std::bit_cast<double>(static_cast<std::uint64_t>(high) << 32 | low);
#endif
}
PLAQUETTE_KERNEL_INLINE words<2> bits_of(double x) {
#ifdef __CUDA_ARCH__
  return {{static_cast<std::uint32_t>(__double2loint(x)), static_cast<std::uint32_t>(__double2hiint(x))}};
#else
  const auto bits = std::bit_cast<std::uint64_t>(x);
  return {{static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)}};
#endif
}

/// Of a chunk's words: number_bias + q of the lower (0) or upper (1) number (gpu/fields/storage.hpp).
PLAQUETTE_KERNEL_INLINE float biased_number_of(std::uint32_t word, int which) {
  return which == 0 ? biased_number<0>(word) : biased_number<1>(word);
}

/// Returns q / 32767 of a biased number, to half an ulp, 1 exactly where q = 32767: (1 + 2^-15) / 2^15 differs from 1 /
/// 32767 by one part in 2^30, and times the bias, 257 * 2^15, it is a float.
PLAQUETTE_KERNEL_INLINE float unit_number(float biased) {
  constexpr float unit = 0x1p-15F + 0x1p-30F, offset = 257.0F + 257.0F * 0x1p-15F;
#ifdef __CUDA_ARCH__
  return __fmaf_rn(biased, unit, -offset);
#else
  return __builtin_fmaf(biased, unit, -offset);
#endif
}

/// Returns a / b to two units in the last place: for scales, which are no better.
PLAQUETTE_KERNEL_INLINE float quick_ratio(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fdividef(a, b);
#else
  return a / b;
#endif
}
/// Returns 1 / a, in single precision to a unit in the last place.
PLAQUETTE_KERNEL_INLINE float quick_inverse(float a) {
#ifdef __CUDA_ARCH__
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
#else
  return 1.0F / a;
#endif
}
PLAQUETTE_KERNEL_INLINE double quick_inverse(double a) { return 1.0 / a; }

/// Returns a b + c, rounded once on the device: written out where it matters, so that every kernel gives the same bits.
/// (The host, where most machines lack the instruction by default, rounds twice.)
template <class Real>
PLAQUETTE_KERNEL_INLINE Real multiply_add(Real a, Real b, Real c) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(Real) == 4)
    return __fmaf_rn(a, b, c);
  else
    return __fma_rn(a, b, c);
#else
  return a * b + c;
#endif
}

}  // namespace plaquette::gpu
