// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The vectors of one aggregate and chirality as columns, and products of matrices with them in double precision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu_ref/coarse/coarse_kernels.hpp"
#include "cpu_ref/memory/aligned_buffer.hpp"

namespace plaquette::cpu {

/// The rows of a null space that belong to one aggregate and chirality: first the rows of even sites, then of odd
/// sites.
struct rows_of_aggregate {
  int even_rows;
  std::int64_t even_begin, odd_begin;

  /// \tparam Aggregates  aggregates of a lattice
  /// \param rows  of a site and chirality
  template <class Aggregates>
  rows_of_aggregate(const Aggregates& blocks, std::int64_t aggregate, int chirality, int rows)
      : even_rows(blocks.sites_of(aggregate, 0) * rows),
        even_begin(blocks.block_begin(aggregate, 0, chirality, rows)),
        odd_begin(blocks.block_begin(aggregate, 1, chirality, rows)) {}

  std::int64_t operator()(int j) const { return j < even_rows ? even_begin + j : odd_begin + j - even_rows; }
};

class local_columns {
 public:
  local_columns(int rows, int columns, instruction_set isa)
      : rows_(rows),
        columns_(columns),
        kernels_(coarse_kernels_of<double>(isa)),
        numbers_(size(columns, rows)),
        split_(size(2 * padded_row(columns), rows)) {}

  int columns() const { return columns_; }
  complex<double>* column(int k) { return numbers_.data() + size(k, rows_); }
  complex<double>* data() { return numbers_.data(); }

  /// Computes gram[c][k] = <v_k, v_c>.
  void inner_products(complex<double>* gram) {
    split();
    row_products<double> p;
    p.products = 1;
    p.matrix[0] = split_.data();
    p.x[0] = numbers_.data();
    p.x_stride[0] = rows_;
    p.rows = rows_;
    p.length = p.columns = columns_;
    p.conjugate = true;
    p.out = gram;
    p.out_stride = columns_;
    kernels_.by_rows(p);
  }

  /// Computes out[c][row] = sum_k factors[c][k] v_k, v as it was at the last call of inner_products; out may be data().
  void combine(const complex<double>* factors, int count, complex<double>* out) const {
    column_products<double> p;
    p.matrix = split_.data();
    p.x = factors;
    p.x_stride = p.length = columns_;
    p.rows = rows_;
    p.columns = count;
    p.out = out;
    p.out_stride = rows_;
    kernels_.by_columns(p);
  }

 private:
  static std::size_t size(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

  /// Rows of the columns, as kernels take a matrix.
  void split() {
    const int padded = padded_row(columns_);
    for (int j = 0; j < rows_; ++j) {
      double *re = split_.data() + size(2 * padded, j), *im = re + padded;
      for (int k = 0; k < padded; ++k) {
        const auto z = k < columns_ ? numbers_[size(k, rows_) + static_cast<std::size_t>(j)] : complex<double>{};
        re[k] = z.re;
        im[k] = z.im;
      }
    }
  }

  int rows_, columns_;
  const coarse_kernels<double>& kernels_;
  std::vector<complex<double>> numbers_;  ///< [column][row]
  aligned_buffer<double> split_;
};

}  // namespace plaquette::cpu
