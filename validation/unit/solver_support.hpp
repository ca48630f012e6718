// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Dense systems for the tests of the solvers: random matrices of known spectrum, fields of the mock backend and back,
/// and the bounds that rounding allows.
#pragma once

#include <Eigen/Dense>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "common/algorithms/solver_choice.hpp"
#include "validation/support/mock_backend.hpp"

namespace plaquette::solver_tests {

using matrix = Eigen::MatrixXcd;
using vector = Eigen::VectorXcd;
using generator = std::mt19937_64;

/// Independent Gaussian entries of unit variance.
inline matrix random_matrix(Eigen::Index rows, Eigen::Index columns, generator& g) {
  std::normal_distribution<double> normal(0.0, std::sqrt(0.5));
  matrix m(rows, columns);
  for (Eigen::Index j = 0; j < columns; ++j)
    for (Eigen::Index i = 0; i < rows; ++i) m(i, j) = {normal(g), normal(g)};
  return m;
}

inline matrix random_unitary(Eigen::Index n, generator& g) {
  return Eigen::HouseholderQR<matrix>(random_matrix(n, n, g)).householderQ();
}

/// U diag(values) U^+: Hermitian for real values, positive for positive ones.
inline matrix with_spectrum(const vector& values, generator& g) {
  const matrix u = random_unitary(values.size(), g);
  return u * values.asDiagonal() * u.adjoint();
}

/// 1, ..., k, 1, ..., k, ...: n eigenvalues, k of them distinct.
inline vector distinct_values(Eigen::Index n, int k) {
  vector v(n);
  for (Eigen::Index i = 0; i < n; ++i) v(i) = 1.0 + static_cast<double>(i % k);
  return v;
}

/// A matrix without symmetry, its eigenvalues in a disc of radius 1.5 about 3: all the solvers converge, in a few tens
/// of iterations.
inline matrix well_behaved(Eigen::Index n, generator& g) {
  return 3.0 * matrix::Identity(n, n) + 1.5 / std::sqrt(static_cast<double>(n)) * random_matrix(n, n, g);
}

inline mock::dense_operator to_operator(const matrix& m) {
  std::vector<mock::number> entries;
  for (Eigen::Index i = 0; i < m.rows(); ++i)
    for (Eigen::Index j = 0; j < m.cols(); ++j) entries.push_back({m(i, j).real(), m(i, j).imag()});
  return {static_cast<int>(m.rows()), static_cast<int>(m.cols()), std::move(entries)};
}

template <class T = double>
mock::basic_field<T> to_field(mock::machine& device, const matrix& columns, site_subset sites = site_subset::full) {
  mock::basic_field<T> f(device, static_cast<int>(columns.rows()), static_cast<int>(columns.cols()), sites);
  std::vector<mock::number> numbers;
  for (Eigen::Index j = 0; j < columns.cols(); ++j)
    for (Eigen::Index i = 0; i < columns.rows(); ++i) numbers.push_back({columns(i, j).real(), columns(i, j).imag()});
  f.set(std::move(numbers));
  return f;
}

template <class T>
matrix to_matrix(const mock::basic_field<T>& f) {
  const auto numbers = f.get();
  matrix m(f.length(), f.columns());
  for (Eigen::Index j = 0; j < m.cols(); ++j)
    for (Eigen::Index i = 0; i < m.rows(); ++i) {
      const auto& z = numbers[static_cast<std::size_t>(j * m.rows() + i)];
      m(i, j) = {z.re, z.im};
    }
  return m;
}

/// A solver with its parameters, as the tests run it.
struct method {
  std::string name;
  int applications_per_iteration;  ///< of the operator or its adjoint
  int applications_before;         ///< the first iteration
  std::function<solve_report(const mock::dense_operator&, mock::field&, const mock::field&, const stopping_rule&)> run;
};

inline method by_kind(solver_kind kind, int per_iteration, int before, solver_parameters parameters = {}) {
  return {name(kind), per_iteration, before, [=](const auto& a, auto& x, const auto& b, const auto& rule) {
            return solve(kind, a, x, b, rule, parameters);
          }};
}

/// The solvers for any operator.
inline std::vector<method> general_methods() {
  return {by_kind(solver_kind::cgne, 2, 2), by_kind(solver_kind::cgnr, 2, 2), by_kind(solver_kind::bicgstab, 2, 2),
          by_kind(solver_kind::gcr, 1, 1, {.restart_length = 7}), by_kind(solver_kind::mr, 1, 1, {.relaxation = 0.9})};
}

/// Those for Hermitian positive ones.
inline std::vector<method> all_methods() {
  auto methods = general_methods();
  methods.push_back({"cg", 1, 1, [](const auto& a, auto& x, const auto& b, const auto& rule) {
                       return conjugate_gradients(a, x, b, rule);
                     }});
  return methods;
}

inline double norm_of_inverse(const matrix& a) { return 1.0 / Eigen::JacobiSVD<matrix>(a).singularValues().minCoeff(); }

/// How far the true residual may be from the iterated one, relative to |b|.
///
/// Each step adds alpha A p to the iterated residual as computed: relative to exact numbers it errs by
/// u c (|A| |alpha p|), where the product of an n x n complex matrix by rows contributes c = 2 sqrt(2) (n + 2) and the
/// updates of x and r, and the rounding of x itself, no more than 10; |A| is the norm of the matrix of absolute values.
/// |alpha p| <= |x_k| + |x_k+1| <= 2 X with X = |A^-1| |b| (1 + largest relative residual of the history). Over K
/// steps, and the evaluation of the true residual as one more: 2 (K + 1) u (c + 10) |abs A| X / |b|. GCR adds its
/// orthogonalisation, of at most `directions` subtractions of the same kind in each step.
inline double residual_gap(const matrix& a, const std::vector<double>& history, int directions = 1) {
  const double u = 0.5 * std::numeric_limits<double>::epsilon(), n = static_cast<double>(a.rows());
  const double norm = a.cwiseAbs().norm();
  const double largest = *std::max_element(history.begin(), history.end());
  const double steps = static_cast<double>(history.size());
  return 2.0 * steps * u * (2.0 * std::sqrt(2.0) * (n + 2.0) + 10.0) * norm * norm_of_inverse(a) * (1.0 + largest) *
         directions;
}

inline double relative_residual(const matrix& a, const vector& x, const vector& b) {
  return (b - a * x).norm() / b.norm();
}

}  // namespace plaquette::solver_tests
