// SPDX-License-Identifier: BSD-3-Clause
#include "validation/unit/solver_support.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plaquette::solver_tests {

matrix random_matrix(Eigen::Index rows, Eigen::Index columns, generator& g) {
  std::normal_distribution<double> normal(0.0, std::sqrt(0.5));
  matrix m(rows, columns);
  for (Eigen::Index j = 0; j < columns; ++j)
    for (Eigen::Index i = 0; i < rows; ++i) m(i, j) = {normal(g), normal(g)};
  return m;
}

matrix random_unitary(Eigen::Index n, generator& g) { return orthonormal_columns(random_matrix(n, n, g)); }

matrix rotated(const matrix& u, const vector& values) { return u * values.asDiagonal() * u.adjoint(); }

matrix with_spectrum(const vector& values, generator& g) { return rotated(random_unitary(values.size(), g), values); }

vector distinct_values(Eigen::Index n, int k) {
  vector v(n);
  for (Eigen::Index i = 0; i < n; ++i) v(i) = 1.0 + static_cast<double>(i % k);
  return v;
}

matrix well_behaved(Eigen::Index n, generator& g) {
  return 3.0 * matrix::Identity(n, n) + 1.5 / std::sqrt(static_cast<double>(n)) * random_matrix(n, n, g);
}

mock::dense_operator to_operator(const matrix& m) {
  std::vector<mock::number> entries;
  for (Eigen::Index i = 0; i < m.rows(); ++i)
    for (Eigen::Index j = 0; j < m.cols(); ++j) entries.push_back({m(i, j).real(), m(i, j).imag()});
  return {static_cast<int>(m.rows()), static_cast<int>(m.cols()), std::move(entries)};
}

void expect_solutions_scale(const matrix& b, const std::function<matrix(const matrix& b)>& solution_of) {
  const matrix expected = solution_of(b);
  for (const double factor : {0x1p-900, 0x1p-540, 0x1p-100, 0x1p140, 0x1p500}) {
    matrix source = b;
    source.col(1) *= factor;
    matrix found = solution_of(source);
    for (Eigen::Index n = 1; n < found.cols(); n += b.cols()) found.col(n) *= 1.0 / factor;
    EXPECT_EQ(found, expected) << factor;
  }
}

method by_kind(solver_kind kind, int per_iteration, int before, solver_parameters parameters) {
  return {name(kind), per_iteration, before, [=](const auto& a, auto& x, const auto& b, const auto& rule) {
            return solve(kind, a, x, b, rule, parameters);
          }};
}

std::vector<method> general_methods() {
  return {by_kind(solver_kind::cgne, 2, 1), by_kind(solver_kind::cgnr, 2, 1), by_kind(solver_kind::bicgstab, 2, 2),
          by_kind(solver_kind::gcr, 1, 1, {.restart_length = 7}), by_kind(solver_kind::mr, 1, 1, {.relaxation = 0.9})};
}

std::vector<method> all_methods() {
  auto methods = general_methods();
  methods.push_back({"cg", 1, 1, [](const auto& a, auto& x, const auto& b, const auto& rule) {
                       return conjugate_gradients(a, x, b, rule);
                     }});
  return methods;
}

singular_pairs singular_pairs_of(const matrix& a) {
  const Eigen::JacobiSVD<matrix> svd(a, Eigen::ComputeThinU);
  return {svd.matrixU(), svd.singularValues()};
}

matrix orthonormal_columns(const matrix& a) {
  return Eigen::HouseholderQR<matrix>(a).householderQ() * matrix::Identity(a.rows(), a.cols());
}

vector least_squares(const matrix& a, const vector& b) { return Eigen::HouseholderQR<matrix>(a).solve(b); }

double norm_of_inverse(const matrix& a) { return 1.0 / singular_pairs_of(a).values.minCoeff(); }

matrix inverse_of(const matrix& a) { return a.inverse(); }

matrix solution_of(const matrix& a, const matrix& b) { return a.partialPivLu().solve(b); }

double residual_gap(const matrix& a, const std::vector<double>& history, int directions) {
  const double u = 0.5 * std::numeric_limits<double>::epsilon(), n = static_cast<double>(a.rows());
  const double norm = a.cwiseAbs().norm();
  const double largest = *std::max_element(history.begin(), history.end());
  const double steps = static_cast<double>(history.size());
  return 2.0 * steps * u * (2.0 * std::sqrt(2.0) * (n + 2.0) + 10.0) * norm * norm_of_inverse(a) * (1.0 + largest) *
         directions;
}

double relative_residual(const matrix& a, const vector& x, const vector& b) { return (b - a * x).norm() / b.norm(); }

}  // namespace plaquette::solver_tests

namespace plaquette {

PLAQUETTE_SOLVER_OF_TESTS(cgne);
PLAQUETTE_SOLVER_OF_TESTS(cgnr);
PLAQUETTE_SOLVER_OF_TESTS(bicgstab);
PLAQUETTE_SOLVER_OF_TESTS(conjugate_gradients);
PLAQUETTE_SOLVER_OF_TESTS(gcr, int);
PLAQUETTE_SOLVER_OF_TESTS(minimal_residual, double);

}  // namespace plaquette
