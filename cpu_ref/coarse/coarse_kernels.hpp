// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Products of small dense complex matrices with batches of vectors: the inner loops of coarse operators and of the
/// steps between lattices. One table a number type and instruction set, as in simd/kernels.hpp.
#pragma once

#include <cstdint>

#include "common/algebra/complex.hpp"
#include "cpu_ref/simd/kernels.hpp"

namespace plaquette::cpu {

/// Rows of a matrix are padded to a multiple of this, and real and imaginary parts of a row lie apart: [padded] real
/// parts, then [padded] imaginary ones.
inline constexpr int row_padding = 8;
constexpr int padded_row(int length) { return (length + row_padding - 1) / row_padding * row_padding; }

/// Most products that one call adds up: a diagonal and eight links.
inline constexpr int most_products = 9;

/// out[c][k] = start + factor sum_m sum_j A_m[j][k] x_m[c][j] for c < columns, k < length; A or its complex conjugate.
template <class T>
struct row_products {
  int products = 0;                      ///< m: how many matrices
  const T* matrix[most_products];        ///< A_m, rows of 2 * padded_row(length) numbers
  const complex<T>* x[most_products];    ///< x_m: `rows` numbers a column
  std::int64_t x_stride[most_products];  ///< numbers from a column of x_m to the next
  int rows = 0;                          ///< j
  int length = 0;                        ///< k
  int columns = 0;                       ///< c
  bool conjugate = false;                ///< conj(A) in place of A
  complex<T>* out = nullptr;
  std::int64_t out_stride = 0;
  const complex<T>* start = nullptr;  ///< null: 0; may be `out`
  std::int64_t start_stride = 0;
  T factor = 1;
};

/// out[c][j] = start + sum_k A[j][k] x[c][k], for c < columns, j < rows; A or its complex conjugate.
template <class T>
struct column_products {
  const T* matrix = nullptr;
  const complex<T>* x = nullptr;
  std::int64_t x_stride = 0;
  int rows = 0, length = 0, columns = 0;
  bool conjugate = false;
  bool add = false;  ///< out += in place of out =
  complex<T>* out = nullptr;
  std::int64_t out_stride = 0;
};

template <class T>
struct coarse_kernels {
  void (*by_rows)(const row_products<T>&) = nullptr;
  void (*by_columns)(const column_products<T>&) = nullptr;
};

/// Returns the kernels of an instruction set that runs here.
template <class T>
const coarse_kernels<T>& coarse_kernels_of(instruction_set isa);

}  // namespace plaquette::cpu
