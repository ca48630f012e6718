// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Dense systems for the tests of the solvers: random matrices of known spectrum, fields of the mock backend and back,
/// and the bounds that rounding allows. Code that takes long to compile is compiled once, in solver_support.cpp.
#pragma once

#include <Eigen/Dense>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "common/krylov/solver_choice.hpp"
#include "validation/support/mock_backend.hpp"

namespace plaquette::solver_tests {

using matrix = Eigen::MatrixXcd;
using vector = Eigen::VectorXcd;
using generator = std::mt19937_64;

/// Returns independent Gaussian entries of unit variance.
matrix random_matrix(Eigen::Index rows, Eigen::Index columns, generator& g);

matrix random_unitary(Eigen::Index n, generator& g);

/// Returns U diag(values) U^+.
matrix rotated(const matrix& u, const vector& values);
/// Returns the same for a random unitary U: Hermitian for real values, positive for positive ones.
matrix with_spectrum(const vector& values, generator& g);

/// Returns 1, ..., k, 1, ..., k, ...: n eigenvalues, k of them distinct.
vector distinct_values(Eigen::Index n, int k);

/// Returns a matrix without symmetry, its eigenvalues in a disc of radius 1.5 about 3: all the solvers converge, in a
/// few tens of iterations.
matrix well_behaved(Eigen::Index n, generator& g);

mock::dense_operator to_operator(const matrix& m);

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

/// Expects the same bits, times the factor, where the second column of b is longer or shorter by a power of two; and
/// the same bits in the other columns. One or more solutions, side by side, have a column each for each one of b.
void expect_solutions_scale(const matrix& b, const std::function<matrix(const matrix& b)>& solution_of);

/// A solver with its parameters, as the tests run it.
struct method {
  std::string name;
  int applications_per_iteration;  ///< of the operator or its adjoint
  int applications_before;         ///< the first iteration
  std::function<solve_report(const mock::dense_operator&, mock::field&, const mock::field&, const stopping_rule&)> run;
};

method by_kind(solver_kind kind, int per_iteration, int before, solver_parameters parameters = {});

/// Returns the solvers for any operator.
std::vector<method> general_methods();

/// Returns the methods for Hermitian positive ones.
std::vector<method> all_methods();

struct singular_pairs {
  matrix left;             ///< orthonormal columns, as many as the smaller extent
  Eigen::VectorXd values;  ///< descending
};
singular_pairs singular_pairs_of(const matrix& a);

/// Returns an orthonormal basis of the columns' span, of a matrix of full rank, by Householder reflections.
matrix orthonormal_columns(const matrix& a);

/// Returns the x that makes |b - A x| smallest.
vector least_squares(const matrix& a, const vector& b);

double norm_of_inverse(const matrix& a);
matrix inverse_of(const matrix& a);
/// Returns A^-1 b.
matrix solution_of(const matrix& a, const matrix& b);

/// Returns how far the true residual may be from the iterated one, relative to |b|.
///
/// Each step adds alpha A p to the iterated residual as computed. Relative to exact numbers it errs by u c (|A| |alpha
/// p|). The product of an n x n complex matrix by rows contributes c = 2 sqrt(2) (n + 2). The updates of x and r, and
/// the rounding of x itself, contribute no more than 10. Here |A| is the norm of the matrix of absolute values. |alpha
/// p| <= |x_k| + |x_k+1| <= 2 X with X = |A^-1| |b| (1 + largest relative residual of the history). Over K steps, and
/// the evaluation of the true residual as one more: 2 (K + 1) u (c + 10) |abs A| X / |b|. GCR adds its
/// orthogonalisation, of at most `directions` subtractions of the same kind in each step.
double residual_gap(const matrix& a, const std::vector<double>& history, int directions = 1);

double relative_residual(const matrix& a, const vector& x, const vector& b);

}  // namespace plaquette::solver_tests

namespace plaquette {

/// The solvers of dense operators are instantiated in solver_support.cpp.
#define PLAQUETTE_SOLVER_OF_TESTS(solver, ...)                                                \
  template solve_report solver(const mock::dense_operator&, mock::field&, const mock::field&, \
                               const stopping_rule& __VA_OPT__(, ) __VA_ARGS__)
extern PLAQUETTE_SOLVER_OF_TESTS(cgne);
extern PLAQUETTE_SOLVER_OF_TESTS(cgnr);
extern PLAQUETTE_SOLVER_OF_TESTS(bicgstab);
extern PLAQUETTE_SOLVER_OF_TESTS(conjugate_gradients);
extern PLAQUETTE_SOLVER_OF_TESTS(gcr, int);
extern PLAQUETTE_SOLVER_OF_TESTS(minimal_residual, double);

}  // namespace plaquette
