// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Products of small complex matrices by cuBLAS, which is looked for at run time.
#pragma once

#include <cstdint>
#include <string>

#include "common/algebra/complex.hpp"
#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

/// C_k = alpha op(A_k) B_k + beta C_k for k < batches: matrices of device memory, column by column; op(A) is rows x
/// inner, C rows x columns. Distances are numbers: from column to column, and from one matrix to the next.
template <class Real>
struct matrix_products {
  bool adjoint = false;  ///< op(A) = A^+, else A
  int rows = 0, columns = 0, inner = 0;
  Real alpha = 1, beta = 0;
  const complex<Real>*a = nullptr, *b = nullptr;
  complex<Real>* c = nullptr;
  int a_column = 0, b_column = 0, c_column = 0;
  long long a_next = 0, b_next = 0, c_next = 0;
  int batches = 1;
};

/// Whether cuBLAS is there for this queue's device; false in the host build. The first call takes a while.
bool has_cublas(const queue& q);
/// Returns why not, or its version.
std::string cublas_description();
/// Queues a product. Real is double or float. Throws std::runtime_error.
template <class Real>
void multiply_matrices(const queue& q, const matrix_products<Real>& work);

/// Computes C = A B of real matrices of device memory, column by column without gaps: A is rows x inner, C rows x
/// columns. Queued. Throws std::runtime_error.
void multiply_real(const queue& q, std::int64_t rows, std::int64_t columns, std::int64_t inner, const double* a,
                   const double* b, double* c);
void multiply_real(const queue& q, std::int64_t rows, std::int64_t columns, std::int64_t inner, const float* a,
                   const float* b, float* c);

}  // namespace plaquette::gpu
