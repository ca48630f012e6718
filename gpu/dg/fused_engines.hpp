// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Products of small matrices by one warp: C += A B, A (rows x depth) from the reference element, B (depth x columns)
/// with a column an element. An engine says which numbers each lane holds. The host build runs the 32 lanes of a warp
/// one after the other, with the same distribution.
#pragma once

#include <bit>
#include <cstdint>

#include "common/algebra/complex.hpp"
#include "gpu/device/unroll.hpp"

namespace plaquette::gpu::dg {

#ifdef __CUDACC__
#define PLAQUETTE_DG_DEVICE __device__ __forceinline__
#define PLAQUETTE_DG_UNROLL _Pragma("unroll")
inline constexpr int lanes_here = 1;  ///< of a warp that one thread runs
PLAQUETTE_DG_DEVICE int first_lane() { return static_cast<int>(threadIdx.x % 32); }
#else
#define PLAQUETTE_DG_DEVICE inline
#define PLAQUETTE_DG_UNROLL
inline constexpr int lanes_here = 32;
inline int first_lane() { return 0; }
#endif

/// A value of each lane that is run here.
template <class X>
struct per_lane {
  X value[lanes_here];
  PLAQUETTE_DG_DEVICE X& operator[](int lane) { return value[lanes_here == 1 ? 0 : lane]; }
  PLAQUETTE_DG_DEVICE const X& operator[](int lane) const { return value[lanes_here == 1 ? 0 : lane]; }
};

/// Calls f(lane) for the lanes that are run here.
template <class F>
PLAQUETTE_DG_DEVICE void for_lanes(const F& f) {
  PLAQUETTE_DG_UNROLL
  for (int i = 0; i < lanes_here; ++i) f(first_lane() + i);
}

constexpr int rounded_up(int a, int b) { return (a + b - 1) / b * b; }

/// `bytes` of memory, moved at once.
template <int bytes>
struct alignas(bytes) memory_word {
  std::uint32_t w[bytes / 4];
};

/// Reads `count` numbers, in words as wide as their size allows.
template <int count, bool is_shared, class T>
PLAQUETTE_DG_DEVICE void read_numbers(T* to, const T* from) {
  constexpr int bytes = count * static_cast<int>(sizeof(T));
  constexpr int width = bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : 4;
  using word = memory_word<width>;
  constexpr int per_word = width / static_cast<int>(sizeof(T));
  PLAQUETTE_DG_UNROLL
  for (int i = 0; i < count / per_word; ++i) {
    word v;
#ifdef __CUDACC__
    if constexpr (!is_shared && width == 16) {
      const uint4 u = __ldg(reinterpret_cast<const uint4*>(from) + i);
      v.w[0] = u.x, v.w[1] = u.y, v.w[2] = u.z, v.w[3] = u.w;
    } else
#endif
      v = reinterpret_cast<const word*>(from)[i];
    __builtin_memcpy(to + i * per_word, &v, width);
  }
}
template <int count, class T>
PLAQUETTE_DG_DEVICE void write_numbers(T* to, const T* from) {
  constexpr int bytes = count * static_cast<int>(sizeof(T));
  constexpr int width = bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : 4;
  using word = memory_word<width>;
  constexpr int per_word = width / static_cast<int>(sizeof(T));
  PLAQUETTE_DG_UNROLL
  for (int i = 0; i < count / per_word; ++i) {
    word v;
    __builtin_memcpy(&v, from + i * per_word, width);
    reinterpret_cast<word*>(to)[i] = v;
  }
}

template <class T, int count>
struct numbers {
  T x[count];
};

/// Fused multiply-adds on blocks of registers. Lane l holds rows l % row_lanes + i row_lanes, i < row_block, and
/// columns l / row_lanes + j (32 / row_lanes), j < column_block.
template <class T, int row_lanes, int row_block, int column_block>
struct fma_engine {
  using real = T;
  static constexpr int rows = row_lanes * row_block, column_lanes = 32 / row_lanes;
  static constexpr int columns = column_lanes * column_block, depth = 1;
  static constexpr int sums = row_block * column_block;  ///< a lane
  static constexpr int left_lanes = row_lanes, left_numbers = row_block, right_numbers = column_block;
  static constexpr bool left_side_by_side = true;

  using left = numbers<T, row_block>;
  using right = numbers<T, column_block>;
  using sum = numbers<T, sums>;

  PLAQUETTE_HOST_DEVICE static constexpr int row(int lane, int i) {
    return i / column_block * row_lanes + lane % row_lanes;
  }
  PLAQUETTE_HOST_DEVICE static constexpr int column(int lane, int i) {
    return i % column_block * column_lanes + lane / row_lanes;
  }
  /// Returns the number j of a lane's sums, taken column by column.
  PLAQUETTE_HOST_DEVICE static constexpr int by_column(int j) { return j % row_block * column_block + j / row_block; }
  PLAQUETTE_HOST_DEVICE static constexpr int left_row(int lane, int i) { return i * row_lanes + lane; }
  PLAQUETTE_HOST_DEVICE static constexpr int left_depth(int, int) { return 0; }
  PLAQUETTE_HOST_DEVICE static constexpr int right_depth(int, int) { return 0; }
  PLAQUETTE_HOST_DEVICE static constexpr int right_column(int lane, int i) {
    return i * column_lanes + lane / row_lanes;
  }

  PLAQUETTE_DG_DEVICE static void set(left& a, int i, T value) { a.x[i] = value; }
  PLAQUETTE_DG_DEVICE static void set(right& b, int i, T value, bool /*right operand*/) { b.x[i] = value; }
  PLAQUETTE_DG_DEVICE static left negated(const left& a) {
    left b;
    PLAQUETTE_DG_UNROLL
    for (int i = 0; i < row_block; ++i) b.x[i] = -a.x[i];
    return b;
  }
  PLAQUETTE_DG_DEVICE static void multiply_add(per_lane<sum>& c, const per_lane<left>& a, const per_lane<right>& b) {
    for_lanes([&](int l) {
      PLAQUETTE_DG_UNROLL
      for (int i = 0; i < row_block; ++i) {
        PLAQUETTE_DG_UNROLL
        for (int j = 0; j < column_block; ++j) c[l].x[i * column_block + j] += a[l].x[i] * b[l].x[j];
      }
    });
  }
};

/// Returns an operand of TF32 as tensor cores read it: they drop its last 13 bits.
inline double operand_of_mma(double x) { return x; }
inline double operand_of_mma(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffffe000U); }
/// And of a sum: in float it is cut off, not rounded (M. Fasi et al., PeerJ Comput. Sci. 7 (2021) e330), so that errors
/// of the steps add up.
inline void round_as_mma(double sum, double& result) { result = sum; }
inline void round_as_mma(double sum, float& result) {
  result = static_cast<float>(sum);
  if (std::abs(static_cast<double>(result)) > std::abs(sum)) result = std::nextafter(result, 0.0F);
}

/// Emulates the mma instruction, lane by lane: C (rows x 8) += A (rows x depth) B (depth x 8).
template <class Engine, class C, class A, class B>
inline void emulate_mma(C&& c, const A& a, const B& b) {
  double left[Engine::rows][Engine::depth] = {}, right[Engine::depth][8] = {};
  constexpr int left_count = Engine::rows * Engine::depth / 32, right_count = Engine::depth / 4;
  for (int l = 0; l < 32; ++l) {
    for (int i = 0; i < left_count; ++i)
      left[Engine::left_row(l, i)][Engine::left_depth(l, i)] = operand_of_mma(a(l, i));
    for (int i = 0; i < right_count; ++i)
      right[Engine::right_depth(l, i)][Engine::right_column(l, i)] = operand_of_mma(b(l, i));
  }
  for (int l = 0; l < 32; ++l)
    for (int i = 0; i < Engine::rows / 4; ++i) {
      double sum = c(l, i);
      for (int k = 0; k < Engine::depth; ++k) sum += left[Engine::row(l, i)][k] * right[k][Engine::column(l, i)];
      round_as_mma(sum, c(l, i));
    }
}

/// Tensor cores in double: m16n8k8 (tall) or m8n8k4, column_tiles tiles of 8 columns side by side.
template <int column_tiles, bool tall>
struct dmma_engine {
  using real = double;
  static constexpr int rows = tall ? 16 : 8, columns = 8 * column_tiles, depth = tall ? 8 : 4;
  static constexpr int of_tile = rows / 4;
  static constexpr int sums = of_tile * column_tiles;
  static constexpr int left_lanes = 32, left_numbers = tall ? 4 : 1, of_right = tall ? 2 : 1;
  static constexpr int right_numbers = of_right * column_tiles;
  static constexpr bool left_side_by_side = false;

  using left = numbers<double, left_numbers>;
  using right = numbers<double, right_numbers>;
  using sum = numbers<double, sums>;

  PLAQUETTE_HOST_DEVICE static constexpr int row(int lane, int i) {
    return (i >> 1 & (of_tile / 2 - 1)) * 8 + (lane >> 2);
  }
  PLAQUETTE_HOST_DEVICE static constexpr int column(int lane, int i) {
    return i / of_tile * 8 + (lane & 3) * 2 + (i & 1);
  }
  PLAQUETTE_HOST_DEVICE static constexpr int by_column(int j) {
    return rows == 8 ? j : (j & ~3) | (j & 1) << 1 | (j >> 1 & 1);
  }
  PLAQUETTE_HOST_DEVICE static constexpr int left_row(int lane, int i) { return (i & 1) * 8 + (lane >> 2); }
  PLAQUETTE_HOST_DEVICE static constexpr int left_depth(int lane, int i) { return (i >> 1) * 4 + (lane & 3); }
  PLAQUETTE_HOST_DEVICE static constexpr int right_depth(int lane, int i) { return i % of_right * 4 + (lane & 3); }
  PLAQUETTE_HOST_DEVICE static constexpr int right_column(int lane, int i) { return i / of_right * 8 + (lane >> 2); }

  PLAQUETTE_DG_DEVICE static void set(left& a, int i, double value) { a.x[i] = value; }
  PLAQUETTE_DG_DEVICE static void set(right& b, int i, double value, bool) { b.x[i] = value; }
  PLAQUETTE_DG_DEVICE static left negated(const left& a) {
    left b;
    PLAQUETTE_DG_UNROLL
    for (int i = 0; i < left_numbers; ++i) b.x[i] = -a.x[i];
    return b;
  }
  PLAQUETTE_DG_DEVICE static void multiply_add(per_lane<sum>& c, const per_lane<left>& a, const per_lane<right>& b) {
    PLAQUETTE_DG_UNROLL
    for (int t = 0; t < column_tiles; ++t) {
#ifdef __CUDACC__
      double* const s = c.value[0].x + t * of_tile;
      const double* const x = a.value[0].x;
      const double* const y = b.value[0].x + t * of_right;
      if constexpr (tall)
        asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+d"(s[0]), "+d"(s[1]), "+d"(s[2]), "+d"(s[3])
            : "d"(x[0]), "d"(x[1]), "d"(x[2]), "d"(x[3]), "d"(y[0]), "d"(y[1]));
      else
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
            : "+d"(s[0]), "+d"(s[1])
            : "d"(x[0]), "d"(y[0]));
#else
      emulate_mma<dmma_engine>([&](int l, int i) -> double& { return c[l].x[t * of_tile + i]; },
                               [&](int l, int i) { return a[l].x[i]; },
                               [&](int l, int i) { return b[l].x[t * of_right + i]; });
#endif
    }
  }
};

/// A float as the sum of two numbers of TF32 (11 significant bits). The first is rounded to nearest. If it were cut
/// off, the rest would be twice as large and always of the same sign, and low times low no longer small.
struct split_float {
  float high, low;
};
PLAQUETTE_DG_DEVICE split_float split(float x) {
#ifdef __CUDACC__
  const float high = __uint_as_float((__float_as_uint(x) + 0x1000U) & 0xffffe000U);
#else
  const auto high = std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000U) & 0xffffe000U);
#endif
  return {high, x - high};
}

/// Tensor cores in float, m16n8k8 of TF32: each product as three, high high + high low + low high, which leaves errors
/// of the size of float's own.
template <int column_tiles>
struct tf32_engine {
  using real = float;
  static constexpr int rows = 16, columns = 8 * column_tiles, depth = 8;
  static constexpr int sums = 4 * column_tiles;
  static constexpr int left_lanes = 32, left_numbers = 4, right_numbers = 2 * column_tiles;
  static constexpr bool left_side_by_side = false;

  template <int count>
  struct split_numbers {
    float high[count], low[count];
  };
  using left = split_numbers<left_numbers>;
  /// Of another type than `left`, also where the counts agree.
  struct right : split_numbers<right_numbers> {};
  using sum = numbers<float, sums>;

  PLAQUETTE_HOST_DEVICE static constexpr int row(int lane, int i) { return (i >> 1 & 1) * 8 + (lane >> 2); }
  PLAQUETTE_HOST_DEVICE static constexpr int column(int lane, int i) { return i / 4 * 8 + (lane & 3) * 2 + (i & 1); }
  PLAQUETTE_HOST_DEVICE static constexpr int by_column(int j) {
    return rows == 8 ? j : (j & ~3) | (j & 1) << 1 | (j >> 1 & 1);
  }
  PLAQUETTE_HOST_DEVICE static constexpr int left_row(int lane, int i) { return (i & 1) * 8 + (lane >> 2); }
  PLAQUETTE_HOST_DEVICE static constexpr int left_depth(int lane, int i) { return (i >> 1) * 4 + (lane & 3); }
  PLAQUETTE_HOST_DEVICE static constexpr int right_depth(int lane, int i) { return i % 2 * 4 + (lane & 3); }
  PLAQUETTE_HOST_DEVICE static constexpr int right_column(int lane, int i) { return i / 2 * 8 + (lane >> 2); }

  template <int count>
  PLAQUETTE_DG_DEVICE static void set_split(split_numbers<count>& a, int i, float value) {
    const split_float s = split(value);
    a.high[i] = s.high;
    a.low[i] = s.low;
  }
  PLAQUETTE_DG_DEVICE static void set(left& a, int i, float value) { set_split(a, i, value); }
  PLAQUETTE_DG_DEVICE static void set(right& b, int i, float value, bool) { set_split<right_numbers>(b, i, value); }
  PLAQUETTE_DG_DEVICE static left negated(const left& a) {
    left b;
    PLAQUETTE_DG_UNROLL
    for (int i = 0; i < left_numbers; ++i) b.high[i] = -a.high[i], b.low[i] = -a.low[i];
    return b;
  }
  PLAQUETTE_DG_DEVICE static void multiply_add(per_lane<sum>& c, const per_lane<left>& a, const per_lane<right>& b) {
    PLAQUETTE_DG_UNROLL
    for (int t = 0; t < column_tiles; ++t) {
#ifdef __CUDACC__
      float* const s = c.value[0].x + t * 4;
      mma(s, a.value[0].low, b.value[0].high + 2 * t);
      mma(s, a.value[0].high, b.value[0].low + 2 * t);
      mma(s, a.value[0].high, b.value[0].high + 2 * t);
#else
      const auto product = [&](bool left_low, bool right_low) {
        emulate_mma<tf32_engine>([&](int l, int i) -> float& { return c[l].x[t * 4 + i]; },
                                 [&](int l, int i) { return left_low ? a[l].low[i] : a[l].high[i]; },
                                 [&](int l, int i) { return right_low ? b[l].low[2 * t + i] : b[l].high[2 * t + i]; });
      };
      product(true, false);
      product(false, true);
      product(false, false);
#endif
    }
  }

 private:
#ifdef __CUDACC__
  PLAQUETTE_DG_DEVICE static void mma(float* c, const float* a, const float* b) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
          "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
  }
#endif
};

}  // namespace plaquette::gpu::dg
