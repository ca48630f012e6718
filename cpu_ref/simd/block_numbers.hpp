// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Numbers of W sites as they lie in memory: readers and writers of complex numbers, in fixed point too; sums of them.
/// Compiled once an instruction set (PLAQUETTE_INSTRUCTION_SET names it).
#pragma once

#include "cpu_ref/simd/kernels.hpp"
#include "cpu_ref/simd/simd.hpp"

#define PLAQUETTE_UNROLL _Pragma("GCC unroll 12")
#define PLAQUETTE_ALWAYS_INLINE_LAMBDA __attribute__((always_inline))

namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET {

template <class T, int W>
using register_of = simd<real_of<T>, W>;

/// Reads the complex numbers of W sites. `unscaled(k)` are integers in fixed point, and numbers are those times
/// `scale`.
template <class T, int W>
struct site_reader {
  using V = register_of<T, W>;
  const T* at;

  PLAQUETTE_INLINE site_reader(const T* data, int /*components*/) : at(data) {}
  PLAQUETTE_INLINE complex_simd<V> from(const T* component) const { return load_component<V, W>(component, 0); }
  PLAQUETTE_INLINE complex_simd<V> operator()(int k) const { return load_component<V, W>(at, k); }
};
template <int W>
struct site_reader<half, W> {
  using V = simd<float, W>;
  const std::uint32_t* at;
  V scale;

  PLAQUETTE_INLINE site_reader(const std::uint32_t* data, int components)
      : at(data),
        scale(data == nullptr
                  ? V{}
                  : V::load(reinterpret_cast<const float*>(data + components * W)) * V::broadcast(fixed_point_unit)) {}
  PLAQUETTE_INLINE complex_simd<V> from(const std::uint32_t* component) const {
    const auto integers = packed_simd<W>::load(component);
    return {integers.re * scale, integers.im * scale};
  }
  PLAQUETTE_INLINE complex_simd<V> operator()(int k) const { return from(at + k * W); }
};

/// Writes the complex numbers of W sites, component by component, then `finish`. Fixed point keeps them until then,
/// when the largest is known; `capacity` is how many it can keep.
template <class T, int W, int capacity>
struct site_writer {
  using V = register_of<T, W>;
  T* at;
  bool past_caches;

  PLAQUETTE_INLINE site_writer(T* data, bool stream) : at(data), past_caches(stream) {}
  PLAQUETTE_INLINE void put(int k, const complex_simd<V>& z) { put(k, z, at + 2 * k * W); }
  /// \param to  where component k begins
  PLAQUETTE_INLINE void put(int /*k*/, const complex_simd<V>& z, T* to) {
    if (past_caches) {
      z.re.stream(to);
      z.im.stream(to + W);
    } else {
      store_component<W>(to, 0, z);
    }
  }
  PLAQUETTE_INLINE void finish(int /*components*/) {}
  template <class PlaceOf>
  PLAQUETTE_INLINE void finish(int /*components*/, const PlaceOf& /*place_of*/) {}
};
template <int W, int capacity>
struct site_writer<half, W, capacity> {
  using V = simd<float, W>;
  std::uint32_t* at;
  bool past_caches;
  complex_simd<V> held[capacity];

  PLAQUETTE_INLINE site_writer(std::uint32_t* data, bool stream) : at(data), past_caches(stream) {}

  PLAQUETTE_INLINE void put(int k, const complex_simd<V>& z) { held[k] = z; }
  PLAQUETTE_INLINE void put(int k, const complex_simd<V>& z, std::uint32_t* /*to*/) { held[k] = z; }
  PLAQUETTE_INLINE void finish(int components) {
    finish(components, [&](int k) PLAQUETTE_ALWAYS_INLINE_LAMBDA { return at + k * W; });
  }
  /// \param place_of  where component k begins
  template <class PlaceOf>
  PLAQUETTE_INLINE void finish(int components, const PlaceOf& place_of) {
    typename packed_simd<W>::lanes bits = {};
    PLAQUETTE_UNROLL
    for (int k = 0; k < components; ++k)
      bits = packed_simd<W>::larger(packed_simd<W>::larger(bits, held[k].re), held[k].im);
    const V largest{(typename V::vector)bits};
    // Below `smallest_scale` the scale stays there, so that its inverse and its products are ordinary numbers.
    // (Compared so that NaN stays.) A site of zeros keeps the scale 0, as memory set to zero has it.
    const V least = V::broadcast(smallest_scale);
    const V floored{least.v > largest.v ? least.v : largest.v};
    const V scale{largest.v == V{}.v ? largest.v : floored.v};
    const V to_integers = V::broadcast(fixed_point_one) / floored;
    const auto write = [&](std::uint32_t* word, const auto& vector) PLAQUETTE_ALWAYS_INLINE_LAMBDA {
      const V as_real{(typename V::vector)vector};
      float* const to = reinterpret_cast<float*>(word);
      if (past_caches)
        as_real.stream(to);
      else
        as_real.store(to);
    };
    PLAQUETTE_UNROLL
    for (int k = 0; k < components; ++k) write(place_of(k), packed_simd<W>::packed(held[k], to_integers));
    write(at + components * W, scale.v);
  }
};

/// Sums of one column: doubles in W lanes.
template <class V>
struct column_sums {
  typename V::wide s[most_sums] = {};

  PLAQUETTE_INLINE void add_dot(const complex_simd<V>& a, const complex_simd<V>& b) {
    const auto ar = a.re.widened(), ai = a.im.widened(), br = b.re.widened(), bi = b.im.widened();
    s[0] += ar * br + ai * bi;
    s[1] += ar * bi - ai * br;
  }
  PLAQUETTE_INLINE void add_norm2(int which, const complex_simd<V>& a) {
    const auto re = a.re.widened(), im = a.im.widened();
    s[which] += re * re + im * im;
  }
};

}  // namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET
