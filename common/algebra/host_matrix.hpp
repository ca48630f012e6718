// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A small dense matrix of complex numbers on the host, column by column: what a basis of fields is multiplied with.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "common/algebra/complex.hpp"

namespace plaquette {

/// Element (i, j) is number j * rows() + i.
class host_matrix {
 public:
  host_matrix() = default;
  /// Zeros.
  host_matrix(int rows, int columns)
      : rows_(rows), columns_(columns), numbers_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns)) {}

  /// The numbers, column by column.
  host_matrix(int rows, int columns, std::vector<complex<double>> numbers)
      : rows_(rows), columns_(columns), numbers_(std::move(numbers)) {}

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  complex<double>& operator()(int i, int j) { return numbers_[index(i, j)]; }
  const complex<double>& operator()(int i, int j) const { return numbers_[index(i, j)]; }
  complex<double>* data() { return numbers_.data(); }
  const complex<double>* data() const { return numbers_.data(); }
  std::span<const complex<double>> numbers() const { return numbers_; }

 private:
  std::size_t index(int i, int j) const {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(rows_) + static_cast<std::size_t>(i);
  }
  int rows_ = 0, columns_ = 0;
  std::vector<complex<double>> numbers_;
};

}  // namespace plaquette
