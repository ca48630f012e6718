// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Small dense problems on the host: products, Hermitian eigenpairs, Cholesky, QR and tridiagonal factors. (Eigen, kept
/// out of the headers.)
#pragma once

#include <optional>
#include <vector>

#include "common/algebra/host_matrix.hpp"

namespace plaquette {

host_matrix identity_matrix(int size);
/// Returns A B
host_matrix product(const host_matrix& a, const host_matrix& b);
/// Returns A^+ B
host_matrix adjoint_product(const host_matrix& a, const host_matrix& b);
host_matrix adjoint(const host_matrix& a);
host_matrix sum(const host_matrix& a, const host_matrix& b);
/// Returns (A + A^+) / 2, of a square matrix.
host_matrix hermitian_part(const host_matrix& a);
/// Returns rows and columns from (row, column).
host_matrix block_of(const host_matrix& a, int row, int column, int rows, int columns);
/// Writes `part` into A at (row, column).
void set_block(host_matrix& a, int row, int column, const host_matrix& part);
/// Returns the columns of A with these numbers, in that order.
host_matrix columns_of(const host_matrix& a, const std::vector<int>& which);
/// Multiplies column i of A times factors[i].
void scale_columns(host_matrix& a, const std::vector<double>& factors);
/// Multiplies row i of A times factors[i].
void scale_rows(host_matrix& a, const std::vector<double>& factors);
/// Returns sqrt(sum_i |a_ij|^2), one number a column.
std::vector<double> column_norms(const host_matrix& a);

struct hermitian_eigenpairs {
  std::vector<double> values;  ///< ascending
  host_matrix vectors;         ///< orthonormal columns
};
/// Returns the eigenpairs of a Hermitian matrix, of which the lower triangle is read.
hermitian_eigenpairs eigenpairs_of_hermitian(const host_matrix& a);

/// Returns R, upper triangular, with A = R^+ R; none where A is not positive to working precision.
std::optional<host_matrix> cholesky_factor(const host_matrix& a);
/// Returns R^-1 of an upper triangular matrix.
host_matrix inverse_of_upper(const host_matrix& r);

/// A = Q T Q^+ of a Hermitian matrix, of which the lower triangle is read: T real and tridiagonal, the first row and
/// column of Q those of the identity.
struct tridiagonal_factors {
  host_matrix q, t;
};
tridiagonal_factors tridiagonal_of(const host_matrix& a);

}  // namespace plaquette
