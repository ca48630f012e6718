// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The inner loops of the CPU library as tables of function pointers: one table a number type, instruction set and
/// number of lanes. `kernels_body.hpp` is compiled once an instruction set and fills them; which one runs is chosen at
/// run time.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "common/algebra/reconstruct.hpp"
#include "common/algebra/vector_operations.hpp"
#include "common/lattice/dirac_operator.hpp"
#include "cpu_ref/simd/storage.hpp"

namespace plaquette::cpu {

using plaquette::epilogue, plaquette::hop_directions;

enum class instruction_set { generic, avx2, avx512 };

std::string_view name_of(instruction_set isa);

/// A field of spinors as a kernel sees it: column c of block b begins at
/// data + (b * column_stride + c) * site_words * W.
template <class Word>
struct field_pointer {
  Word* data = nullptr;
  std::int64_t column_stride = 0;
};

/// Links of one parity or of the slots of a halo: [mu][block][words][W], or [slot][words][W].
template <class T>
struct link_pointer {
  const word_of<T>* data = nullptr;
  /// Which factor of the table goes with each link, in the same order; null: none.
  const std::uint8_t* factors = nullptr;
};

/// How a kernel gets at the elements of a link.
enum class link_form {
  whole,     ///< loads them (in fixed point: unpacks them)
  two_rows,  ///< loads two rows, rebuilds the third
  expanded,  ///< from a copy of the block's links that is made before the columns are gone through
  count
};

/// How links are prefetched.
struct link_prefetch {
  std::int32_t blocks_ahead = 0;  ///< 0: never
  bool into_first = false;        ///< into the first-level cache, not only into the second
  bool nearer = false;            ///< and a block's own, before its first hop, from there into the first-level cache
};

/// Most real sums a column that an operation makes.
inline constexpr int most_sums = 3;

/// Everything one application of the hopping term to one parity needs.
template <class T>
struct hopping_arguments {
  using word = word_of<T>;
  using real = real_of<T>;
  using lane = std::conditional_t<sizeof(real) == 4, std::int32_t, std::int64_t>;

  field_pointer<word> out;
  field_pointer<const word> in;
  field_pointer<const word> x;  ///< for the epilogues with x
  int columns = 0;
  bool exchanged = false;       ///< both halves of every spinor of a field: D^+
  link_pointer<T> links_here;   ///< U_mu(x) of the output parity
  link_pointer<T> links_there;  ///< the same for the input parity
  link_pointer<T> slot_links;   ///< of backward slots
  reconstruct stored = reconstruct::none;
  bool expand = false;  ///< make a copy of each block's links with all elements (link_form::expanded does always)
  /// Of a rebuilt third row (twelve), of the whole matrix (eight): [factor][re, im][W].
  const real* link_factors = nullptr;
  std::int64_t blocks = 0;
  const std::int32_t* neighbours = nullptr;    ///< [block][8]
  const std::uint8_t* permutations = nullptr;  ///< [block][8]
  const lane* permutation_table = nullptr;     ///< [element][W]
  const word* clover = nullptr;                ///< [block][2][chiral_block_words][W], of half the matrix
  const real* slots = nullptr;                 ///< projected half-spinors: [slot][column][slot_reals][W]
  real hop_scale[4] = {1, 1, 1, 1};            ///< in fixed point: of the scales of hops in direction mu; twice in time
  real scale = 1;                              ///< of D psi
  real a = 1;                                  ///< of x
  epilogue finish = epilogue::store;
  /// Of the Hermitian operator, instead of the epilogue: gamma_5 (a x + scale D psi) + d x + b u + c w. u and w may be
  /// null.
  bool hermitian = false;
  field_pointer<const word> u;
  real d = 0, b = 0, c = 0;
  field_pointer<const word> w;  ///< for the sums too
  double* lane_sums = nullptr;  ///< if not null, re and im of <out, w> and |out|^2 are added: [column][most_sums][W]
  /// Store past the caches: where the output is much larger than the second-level cache.
  bool stream = false;
  /// Prefetches the neighbours that block b needs and none has touched recently: newly_needed[i] for i from
  /// newly_needed_from[b] to newly_needed_from[b + 1]. For input that does not fit in the second-level cache.
  bool prefetch = false;
  const std::int32_t* newly_needed = nullptr;
  const std::int32_t* newly_needed_from = nullptr;
  link_prefetch prefetch_links;  ///< where they come from memory
  /// Fetch the neighbours of the next column: where the input comes from memory.
  bool prefetch_columns = false;
};

/// Complex numbers a site that an operation in fixed point can hold: it stores a site when it knows the largest.
inline constexpr int most_fixed_point_components = 64;

/// The arguments of a vector operation.
template <class T>
struct operation_arguments {
  using word = word_of<T>;
  using real = real_of<T>;

  field_pointer<word> x, y, z;
  field_pointer<const word> u, v, w;
  int columns = 0;
  int components = 12;      ///< complex numbers a site
  const real* a = nullptr;  ///< [column][re, im]
  const real* b = nullptr;
  const real* c = nullptr;
  double* sums = nullptr;  ///< [column][most_sums], overwritten; of the blocks of this call only
};

/// The site-diagonal blocks alone: out = A in.
template <class T>
struct clover_arguments {
  field_pointer<word_of<T>> out;
  field_pointer<const word_of<T>> in;
  int columns = 0;
  const word_of<T>* clover = nullptr;  ///< of half the matrix
};

/// Products of a basis V, many columns, with a matrix. Words of a column of a block; it lies behind the one before.
template <class T>
struct basis_arguments {
  const T* v = nullptr;
  const T* w = nullptr;                     ///< of V^+ W
  T* target = nullptr;                      ///< of target + V C
  std::int64_t v_stride = 0, w_stride = 0;  ///< words from a block to the next; w: of target too
  int components = 0;                       ///< complex numbers a site
  int rows = 0, columns = 0;                ///< columns of V, of W or target
  double* sums = nullptr;                   ///< [column][row][re, im]: V^+ W is added
  const T* matrix = nullptr;                ///< [column][row][re, im]: C
  bool add = false;                         ///< else target is overwritten
};

/// Rows of V^+ W that a kernel makes side by side.
inline constexpr int basis_tile_rows = 4;

template <class T>
struct kernel_table {
  using real = real_of<T>;
  int width = 0;
  /// hop[form][far](arguments, list of blocks, count); without a list the blocks are first .. first + count - 1.
  /// Kernels with `far` are for blocks that read slots of the halo, and for prefetches.
  void (*hop[static_cast<int>(link_form::count)][2])(const hopping_arguments<T>&, const std::int32_t* list,
                                                     std::int64_t first, std::int64_t count) = {};
  void (*operate[vector_operations])(const operation_arguments<T>&, std::int64_t first, std::int64_t count) = {};
  void (*clover)(const clover_arguments<T>&, std::int64_t first, std::int64_t count) = nullptr;
  /// sums += V^+ W of some rows (a multiple of basis_tile_rows, or up to the last) over some blocks; not of half. And
  /// target (+)= V C on some blocks.
  void (*products)(const basis_arguments<T>&, int first_row, int rows, std::int64_t first,
                   std::int64_t count) = nullptr;
  void (*combine)(const basis_arguments<T>&, std::int64_t first, std::int64_t count) = nullptr;
  /// Independent fused multiply-adds in registers, to measure the peak rate of one core: makes 2 W fma_chains flops an
  /// iteration. The result is there so that the work cannot be left out.
  real (*multiply_add)(std::int64_t iterations) = nullptr;
  /// Copies numbers (a multiple of W, aligned), by ordinary stores or past the caches.
  void (*copy)(real* to, const real* from, std::int64_t count, bool stream) = nullptr;
};

/// Independent chains of `multiply_add`: enough to hide the latency of two units.
inline constexpr int fma_chains = 12;

/// All tables of one instruction set, widest first; width 0 if there is none. (Plain arrays: the files that fill them
/// are compiled for instructions that the processor may lack, and must emit no inline function of a library.)
struct kernel_set {
  kernel_table<float> single_precision[2];
  kernel_table<double> double_precision[2];
  kernel_table<half> half_precision[2];
};

/// Returns the tables of an instruction set; empty if the compiler did not build it or this processor does not run it.
const kernel_set& kernels_of(instruction_set isa);
/// Returns the best one that this processor runs and that was built.
instruction_set best_instruction_set();
/// Returns how links are prefetched on this processor: only if they come from memory each time. (NOTES.md, "Links from
/// memory")
/// \param links, vectors  the shares of the last cache that all links take, and input and output together
/// \param columns         of input and output each
link_prefetch prefetch_of_links(double links, double vectors, int columns);

template <class T>
const auto& tables_of(const kernel_set& set) {
  if constexpr (is_half<T>)
    return set.half_precision;
  else if constexpr (std::is_same_v<T, float>)
    return set.single_precision;
  else
    return set.double_precision;
}

}  // namespace plaquette::cpu
