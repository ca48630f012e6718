// SPDX-License-Identifier: BSD-3-Clause
#include "common/algebra/dense.hpp"

#include <Eigen/Dense>
#include <cmath>
#include <complex>

namespace plaquette {

namespace {

using matrix = Eigen::MatrixXcd;
using const_map = Eigen::Map<const matrix>;
static_assert(sizeof(complex<double>) == sizeof(std::complex<double>));

const_map as_eigen(const host_matrix& a) {
  return {reinterpret_cast<const std::complex<double>*>(a.data()), a.rows(), a.columns()};
}
Eigen::Map<matrix> as_eigen(host_matrix& a) {
  return {reinterpret_cast<std::complex<double>*>(a.data()), a.rows(), a.columns()};
}
template <class Expression>
host_matrix from_eigen(const Expression& e) {
  host_matrix a(static_cast<int>(e.rows()), static_cast<int>(e.cols()));
  as_eigen(a) = e;
  return a;
}

}  // namespace

host_matrix identity_matrix(int size) { return from_eigen(matrix::Identity(size, size)); }
host_matrix product(const host_matrix& a, const host_matrix& b) { return from_eigen(as_eigen(a) * as_eigen(b)); }
host_matrix adjoint_product(const host_matrix& a, const host_matrix& b) {
  return from_eigen(as_eigen(a).adjoint() * as_eigen(b));
}
host_matrix adjoint(const host_matrix& a) { return from_eigen(as_eigen(a).adjoint()); }
host_matrix sum(const host_matrix& a, const host_matrix& b) { return from_eigen(as_eigen(a) + as_eigen(b)); }
host_matrix hermitian_part(const host_matrix& a) { return from_eigen(0.5 * (as_eigen(a) + as_eigen(a).adjoint())); }
host_matrix block_of(const host_matrix& a, int row, int column, int rows, int columns) {
  return from_eigen(as_eigen(a).block(row, column, rows, columns));
}
void set_block(host_matrix& a, int row, int column, const host_matrix& part) {
  as_eigen(a).block(row, column, part.rows(), part.columns()) = as_eigen(part);
}
host_matrix columns_of(const host_matrix& a, const std::vector<int>& which) {
  host_matrix some(a.rows(), static_cast<int>(which.size()));
  for (std::size_t i = 0; i < which.size(); ++i) as_eigen(some).col(static_cast<int>(i)) = as_eigen(a).col(which[i]);
  return some;
}
void scale_columns(host_matrix& a, const std::vector<double>& factors) {
  for (int j = 0; j < a.columns(); ++j) as_eigen(a).col(j) *= factors[static_cast<std::size_t>(j)];
}
void scale_rows(host_matrix& a, const std::vector<double>& factors) {
  for (int i = 0; i < a.rows(); ++i) as_eigen(a).row(i) *= factors[static_cast<std::size_t>(i)];
}
std::vector<double> column_norms(const host_matrix& a) {
  std::vector<double> norms;
  for (int j = 0; j < a.columns(); ++j) norms.push_back(as_eigen(a).col(j).norm());
  return norms;
}

hermitian_eigenpairs eigenpairs_of_hermitian(const host_matrix& a) {
  if (a.rows() == 0) return {};
  const Eigen::SelfAdjointEigenSolver<matrix> solver(as_eigen(a));
  return {{solver.eigenvalues().begin(), solver.eigenvalues().end()}, from_eigen(solver.eigenvectors())};
}

std::optional<host_matrix> cholesky_factor(const host_matrix& a) {
  const Eigen::LLT<matrix> factor(as_eigen(a));
  if (factor.info() != Eigen::Success) return std::nullopt;
  host_matrix r = from_eigen(matrix(factor.matrixU()));
  for (int i = 0; i < r.rows(); ++i)
    if (!(r(i, i).re > 0.0) || !std::isfinite(r(i, i).re)) return std::nullopt;
  return r;
}

host_matrix inverse_of_upper(const host_matrix& r) {
  return from_eigen(as_eigen(r).triangularView<Eigen::Upper>().solve(matrix::Identity(r.rows(), r.columns())).eval());
}

tridiagonal_factors tridiagonal_of(const host_matrix& a) {
  const Eigen::Tridiagonalization<matrix> factors(as_eigen(a));
  return {from_eigen(matrix(factors.matrixQ())), from_eigen(matrix(factors.matrixT()))};
}

}  // namespace plaquette
