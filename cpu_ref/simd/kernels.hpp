// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The inner loops of the CPU library as tables of function pointers: one table a number type, instruction set and
/// number of lanes. `kernels_body.hpp` is compiled once an instruction set and fills them; which one runs is chosen at
/// run time.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "common/lattice/extents.hpp"

namespace plaquette::cpu {

/// Directions of a hop: 2 mu forwards (to x + mu), 2 mu + 1 backwards.
inline constexpr int hop_directions = 2 * dimensions;

enum class instruction_set { generic, avx2, avx512 };

std::string_view name_of(instruction_set isa);

/// What is done with D psi while it is still in registers. h = scale * D in.
enum class epilogue {
  store,         ///< out = h
  add,           ///< out = a x + h
  clover,        ///< out = A h                        (A: the given site-diagonal blocks)
  add_clover,    ///< out = a x + A h
  clover_x_add,  ///< out = A x + h
};

/// A field of spinors as a kernel sees it: component k of column c in block b begins at
/// data + ((b * column_stride + c) * reals + k) * W.
template <class T>
struct field_pointer {
  T* data = nullptr;
  std::int64_t column_stride = 0;
};

/// Most real sums a column that an operation makes.
inline constexpr int most_sums = 3;

/// Everything one application of the hopping term to one parity needs.
template <class T>
struct hopping_arguments {
  using lane = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

  field_pointer<T> out;
  field_pointer<const T> in;
  field_pointer<const T> x;  ///< for the epilogues with x
  int columns = 0;
  const T* links_here = nullptr;   ///< U_mu(x) of the output parity: [mu][block][9][re, im][W]
  const T* links_there = nullptr;  ///< the same of the input parity
  std::int64_t blocks = 0;
  const std::int32_t* neighbours = nullptr;    ///< [block][8]
  const std::uint8_t* permutations = nullptr;  ///< [block][8]
  const lane* permutation_table = nullptr;     ///< [element][W]
  const T* clover = nullptr;                   ///< [block][2][36][W]
  const T* slots = nullptr;                    ///< projected half-spinors: [slot][column][6][re, im][W]
  const T* slot_links = nullptr;               ///< links of backward slots: [slot][9][re, im][W]
  T scale = 1;                                 ///< of D psi
  T a = 1;                                     ///< of x
  epilogue finish = epilogue::store;
  field_pointer<const T> w;     ///< for the sums
  double* lane_sums = nullptr;  ///< where not null, re and im of <out, w> and |out|^2 are added: [column][most_sums][W]
  /// Store past the caches: where the output is much larger than the second-level cache.
  bool stream = false;
  bool prefetch =
      false;  ///< fetch the neighbour in +t ahead of time: where the input does not fit in the second-level cache
};

/// Elementwise operations on columns: up to two fields written or updated (x, y), up to three read (u, v, w), up to two
/// complex coefficients a column (a, b), up to three real sums a column.
enum class field_operation {
  scale,               ///< x = a x
  axpy,                ///< x += a u
  xpay,                ///< x = u + a x
  dot,                 ///< sums: re, im of <u, v>
  norm2,               ///< sum: <u, u>
  axpy_norm2,          ///< x += a u; |x|^2
  axpy_pair,           ///< x += a u + b v
  subtract_norm2,      ///< x = u - v; |x|^2
  cg_update,           ///< x += a u; y -= a v; |y|^2
  bicgstab_direction,  ///< x = u + a (x - b v)
  bicgstab_update,     ///< x += a u + b y; y -= b v; re, im of <w, y>; |y|^2
  dot_norm2,           ///< re, im of <u, v>; |u|^2
  axpy_dot_norm2,      ///< x += a u; re, im of <w, x>; |x|^2
  count
};

template <class T>
struct operation_arguments {
  field_pointer<T> x, y;
  field_pointer<const T> u, v, w;
  int columns = 0;
  int components = 12;   ///< complex numbers a site
  const T* a = nullptr;  ///< [column][re, im]
  const T* b = nullptr;
  double* sums = nullptr;  ///< [column][most_sums], overwritten; of the blocks of this call only
};

/// The site-diagonal blocks alone: out = A in.
template <class T>
struct clover_arguments {
  field_pointer<T> out;
  field_pointer<const T> in;
  int columns = 0;
  const T* clover = nullptr;
};

template <class T>
struct kernel_table {
  int width = 0;
  /// hop[daggered][halo](arguments, list of blocks, count); without a list the blocks are first .. first + count - 1.
  void (*hop[2][2])(const hopping_arguments<T>&, const std::int32_t* list, std::int64_t first, std::int64_t count) = {};
  void (*operate[static_cast<int>(field_operation::count)])(const operation_arguments<T>&, std::int64_t first,
                                                            std::int64_t count) = {};
  void (*clover)(const clover_arguments<T>&, std::int64_t first, std::int64_t count) = nullptr;
  /// Independent fused multiply-adds in registers, to measure the peak rate of one core: makes 2 W fma_chains flops an
  /// iteration. The result is there so that the work cannot be left out.
  T (*multiply_add)(std::int64_t iterations) = nullptr;
  /// Copies numbers (a multiple of W, aligned), by ordinary stores.
  void (*copy)(T* to, const T* from, std::int64_t count) = nullptr;
};

/// Independent chains of `multiply_add`: enough to hide the latency of two units.
inline constexpr int fma_chains = 12;

/// All tables of one instruction set, widest first; width 0 where there is none. (Plain arrays: the files that fill
/// them are compiled for instructions that the processor may lack, and must emit no inline function of a library.)
struct kernel_set {
  kernel_table<float> single_precision[2];
  kernel_table<double> double_precision[2];
};

/// The tables of an instruction set; empty where the compiler did not build it or this processor does not run it.
const kernel_set& kernels_of(instruction_set isa);
/// The best one that this processor runs and that was built.
instruction_set best_instruction_set();

template <class T>
const auto& tables_of(const kernel_set& set) {
  if constexpr (sizeof(T) == 4)
    return set.single_precision;
  else
    return set.double_precision;
}

}  // namespace plaquette::cpu
