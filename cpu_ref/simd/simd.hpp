// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A register of W numbers with ordinary operators, over the compiler's vector extension. Included only by the files
/// that are compiled once an instruction set, inside a namespace named after it.
#pragma once

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <cstdint>
#include <type_traits>

#define PLAQUETTE_INLINE inline __attribute__((always_inline))

namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET {

template <class T, int W>
struct simd {
  typedef T vector __attribute__((vector_size(W * sizeof(T)), may_alias));
  using lane = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typedef lane lanes __attribute__((vector_size(W * sizeof(T)), may_alias));
  typedef double wide __attribute__((vector_size(W * sizeof(double))));

  vector v;

  static PLAQUETTE_INLINE simd load(const T* p) { return {*reinterpret_cast<const vector*>(p)}; }
  /// Returns x - 0, not x + 0: compilers drop the former, so that this is one load.
  static PLAQUETTE_INLINE simd broadcast(T x) { return {x - vector{}}; }
  PLAQUETTE_INLINE void store(T* p) const { *reinterpret_cast<vector*>(p) = v; }
  /// Stores past the caches, if the instruction set can: for data that is not read again soon.
  PLAQUETTE_INLINE void stream(T* p) const {
#ifdef __AVX512F__
    if constexpr (sizeof(vector) == 64) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(p), reinterpret_cast<__m512i>(v));
      return;
    }
#endif
#ifdef __AVX2__
    if constexpr (sizeof(vector) == 32) {
      _mm256_stream_si256(reinterpret_cast<__m256i*>(p), reinterpret_cast<__m256i>(v));
      return;
    }
#endif
    store(p);
  }

  friend PLAQUETTE_INLINE simd operator+(simd a, simd b) { return {a.v + b.v}; }
  friend PLAQUETTE_INLINE simd operator-(simd a, simd b) { return {a.v - b.v}; }
  friend PLAQUETTE_INLINE simd operator*(simd a, simd b) { return {a.v * b.v}; }
  PLAQUETTE_INLINE simd operator-() const { return {-v}; }

  friend PLAQUETTE_INLINE simd operator/(simd a, simd b) { return {a.v / b.v}; }

  /// Returns the lanes permuted: lane k of the result is lane from[k] of this.
  PLAQUETTE_INLINE simd permuted(const lane* from) const {
    return {__builtin_shuffle(v, *reinterpret_cast<const lanes*>(from))};
  }
  /// For sums, which are double in every precision.
  PLAQUETTE_INLINE wide widened() const { return __builtin_convertvector(v, wide); }
};

/// A register of real and one of imaginary parts.
template <class V>
struct complex_simd {
  V re, im;
};

template <class V>
PLAQUETTE_INLINE complex_simd<V> operator+(const complex_simd<V>& a, const complex_simd<V>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class V>
PLAQUETTE_INLINE complex_simd<V> operator-(const complex_simd<V>& a, const complex_simd<V>& b) {
  return {a.re - b.re, a.im - b.im};
}
template <class V>
PLAQUETTE_INLINE complex_simd<V> operator*(const complex_simd<V>& a, const complex_simd<V>& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class V>
PLAQUETTE_INLINE complex_simd<V> operator-(const complex_simd<V>& a) {
  return {-a.re, -a.im};
}
template <class V>
PLAQUETTE_INLINE complex_simd<V> fused_product(const complex_simd<V>& a, const complex_simd<V>& b) {
  return a * b;
}
/// Returns sum + a b
template <class V>
PLAQUETTE_INLINE complex_simd<V> add_product(const complex_simd<V>& sum, const complex_simd<V>& a,
                                             const complex_simd<V>& b) {
  return {sum.re + a.re * b.re - a.im * b.im, sum.im + a.re * b.im + a.im * b.re};
}
/// Returns sum + conj(a) b
template <class V>
PLAQUETTE_INLINE complex_simd<V> add_conjugate_product(const complex_simd<V>& sum, const complex_simd<V>& a,
                                                       const complex_simd<V>& b) {
  return {sum.re + a.re * b.re + a.im * b.im, sum.im + a.re * b.im - a.im * b.re};
}
template <class V>
PLAQUETTE_INLINE complex_simd<V> permuted(const complex_simd<V>& a, const typename V::lane* from) {
  return {a.re.permuted(from), a.im.permuted(from)};
}

/// W words of two 16-bit integers each, as the kernels of fixed point see them.
template <int W>
struct packed_simd {
  typedef std::uint32_t vector __attribute__((vector_size(W * 4), may_alias));
  typedef std::int32_t lanes __attribute__((vector_size(W * 4), may_alias));
  using real = simd<float, W>;

  static PLAQUETTE_INLINE complex_simd<real> load(const std::uint32_t* p) {
    const vector word = *reinterpret_cast<const vector*>(p);
    return {as_number(word << 16), as_number(word)};
  }
  /// Returns z times `to_integers`, which is at most 32767, rounded to the nearest number of a word.
  static PLAQUETTE_INLINE vector packed(const complex_simd<real>& z, const real& to_integers) {
    // Adding 1.5 2^23 leaves the rounded integer in the lowest bits of the sum.
    const vector low = (vector)(z.re * to_integers + real::broadcast(12582912.0F)).v & 0xffffU;
    const vector whole = (vector) __builtin_convertvector((z.im * to_integers * real::broadcast(65536.0F)).v, lanes);
    return ((whole - low + 0x8000U) & 0xffff0000U) | low;
  }
  /// Returns the larger of m and the magnitude of x. Compared as integers, which for floats that are not negative is
  /// the same, and puts infinity and NaN above all: a NaN is never lost.
  static PLAQUETTE_INLINE lanes larger(lanes m, const real& x) {
    const lanes magnitude = (lanes)x.v & 0x7fffffff;
    return m > magnitude ? m : magnitude;
  }

 private:
  static PLAQUETTE_INLINE real as_number(vector integers) {
    return {__builtin_convertvector((lanes)integers, typename real::vector)};
  }
};

/// Loads complex component k of a block: W real parts, then W imaginary ones.
template <class V, int W, class T>
PLAQUETTE_INLINE complex_simd<V> load_component(const T* block, int k) {
  return {V::load(block + 2 * k * W), V::load(block + (2 * k + 1) * W)};
}
template <int W, class T, class V>
PLAQUETTE_INLINE void store_component(T* block, int k, const complex_simd<V>& a) {
  a.re.store(block + 2 * k * W);
  a.im.store(block + (2 * k + 1) * W);
}

}  // namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET
