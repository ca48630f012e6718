// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Operators against a dense matrix that is built independently of them, column by column, with its eigenvalues and its
/// inverse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "validation/support/dense_dirac.hpp"
#include "validation/support/operator_under_test.hpp"
#include "validation/support/test_fields.hpp"
#include "validation/support/test_solver.hpp"

namespace plaquette::validation {
namespace {

struct dense_case {
  std::string name;
  extents lattice;
  fermion_action action;
};

std::vector<dense_case> dense_cases() {
  const fermion_action anisotropic{-0.05, 0.9, 1.6, 2.3, 1.2};
  fermion_action periodic = fermion_action::isotropic(0.2, 1.0), twisted = fermion_action::isotropic(-0.3, 1.769),
                 twisted_anisotropic{0.3, 1.1, -0.7, 3.5, 0.8};
  periodic.boundary_phase[3] = {1.0, 0.0};
  twisted.boundary_phase = {unit_phase(0.3), unit_phase(-1.1), unit_phase(2.5), unit_phase(0.7)};
  twisted_anisotropic.boundary_phase = twisted.boundary_phase;
  return {{"wilson_2222", {2, 2, 2, 2}, fermion_action::isotropic(0.1, 0.0)},
          {"clover_2222", {2, 2, 2, 2}, fermion_action::isotropic(0.1, 1.3)},
          {"periodic_4222", {4, 2, 2, 2}, periodic},
          {"twisted_4222", {4, 2, 2, 2}, twisted},
          {"twisted_2422", {2, 4, 2, 2}, twisted},
          {"twisted_2242", {2, 2, 4, 2}, twisted},
          {"twisted_2224", {2, 2, 2, 4}, twisted},
          {"anisotropic_2224", {2, 2, 2, 4}, anisotropic},
          {"twisted_anisotropic_2222", {2, 2, 2, 2}, twisted_anisotropic}};
}

class dense_operator : public testing::TestWithParam<std::tuple<operator_under_test, dense_case>> {
 protected:
  const operator_under_test& op() const { return std::get<0>(GetParam()); }
  const dense_case& which() const { return std::get<1>(GetParam()); }
  /// `rounding` bounds |out - M in| / |in| where |M| is about 8; random links of a few sites are no larger.
  double tolerance() const { return op().rounding; }
};

TEST_P(dense_operator, has_the_columns_of_the_dense_matrix) {
  for (std::uint64_t seed : {1, 2}) {
    const gauge_configuration links = random_links(which().lattice, seed);
    const dirac_operator m = op().make(links, which().action);
    const dense_matrix expected = dense_dirac(links, which().action);
    const lattice_geometry geometry(which().lattice);
    spinor_configuration out(geometry);
    for (bool dagger : {false, true})
      for (Eigen::Index j = 0; j < expected.cols(); ++j) {
        const dense_vector unit = dense_vector::Unit(expected.cols(), j);
        m(out, from_dense(unit, geometry), dagger);
        const dense_vector column = dagger ? dense_vector(expected.row(j).adjoint()) : dense_vector(expected.col(j));
        const double distance = (to_dense(out) - column).norm();
        ASSERT_TRUE(distance <= tolerance()) << "column " << j << ", dagger " << dagger << ": " << distance;
      }
  }
}

TEST_P(dense_operator, acts_on_random_spinors_as_the_dense_matrix_does) {
  double worst = 0.0;
  for (std::uint64_t seed : {3, 4, 5}) {
    const gauge_configuration links = random_links(which().lattice, seed);
    const dirac_operator m = op().make(links, which().action);
    const dense_matrix expected = dense_dirac(links, which().action);
    const spinor_configuration in = random_spinor(which().lattice, seed);
    spinor_configuration out(in.geometry());
    m(out, in, false);
    const double forward = (to_dense(out) - expected * to_dense(in)).norm() / norm(in);
    m(out, in, true);
    const double adjoint = (to_dense(out) - expected.adjoint() * to_dense(in)).norm() / norm(in);
    worst = std::max({worst, forward, adjoint});
    EXPECT_TRUE(forward <= tolerance()) << forward;
    EXPECT_TRUE(adjoint <= tolerance()) << adjoint;
  }
  RecordProperty("worst", std::to_string(worst / op().rounding));
}

TEST_P(dense_operator, is_undone_by_the_inverse_of_the_dense_matrix) {
  const gauge_configuration links = random_links(which().lattice, 7);
  const dirac_operator m = op().make(links, which().action);
  const dense_matrix dense = dense_dirac(links, which().action);
  const spinor_configuration b = random_spinor(which().lattice, 8);
  const dense_vector x = dense.partialPivLu().solve(to_dense(b));
  spinor_configuration mx(b.geometry());
  m(mx, from_dense(x, b.geometry()), false);
  // LU with partial pivoting: a backward error of a few roundoffs of |M|, n of them at worst; |M| < 12.
  const double n = static_cast<double>(dense.rows());
  const double allowed = (tolerance() + n * std::numeric_limits<double>::epsilon() * 12.0) * x.norm();
  EXPECT_TRUE((to_dense(mx) - to_dense(b)).norm() <= allowed);
}

std::string case_name(const testing::TestParamInfo<dense_operator::ParamType>& info) {
  return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name;
}
INSTANTIATE_TEST_SUITE_P(all, dense_operator,
                         testing::Combine(testing::ValuesIn(operators_under_test()), testing::ValuesIn(dense_cases())),
                         case_name);

/// Diagonalisation takes up to a second, so that not all cases go through it.
std::vector<dense_case> eigenvector_cases() {
  std::vector<dense_case> chosen;
  for (const dense_case& c : dense_cases())
    if (c.name == "clover_2222" || c.name == "twisted_4222" || c.name == "twisted_anisotropic_2222")
      chosen.push_back(c);
  return chosen;
}

class dense_eigenvectors : public dense_operator {};

TEST_P(dense_eigenvectors, are_mapped_to_their_multiples) {
  const gauge_configuration links = random_links(which().lattice, 6);
  const dirac_operator m = op().make(links, which().action);
  const dense_matrix dense = dense_dirac(links, which().action);
  const Eigen::ComplexEigenSolver<dense_matrix> eigen(dense);
  ASSERT_EQ(eigen.info(), Eigen::Success);
  spinor_configuration out(lattice_geometry(which().lattice));
  // A backward stable eigensolver leaves residuals of about n roundoffs of |M|_F, at most sqrt(n) |M|; |M| < 12 here.
  const double n = static_cast<double>(dense.rows());
  const double eigensolver = n * std::numeric_limits<double>::epsilon() * 12.0;
  for (Eigen::Index k = 0; k < dense.cols(); ++k) {
    const dense_vector v = eigen.eigenvectors().col(k);
    m(out, from_dense(v, out.geometry()), false);
    const double distance = (to_dense(out) - eigen.eigenvalues()(k) * v).norm();
    ASSERT_TRUE(distance <= tolerance() + eigensolver) << distance;
  }
}

INSTANTIATE_TEST_SUITE_P(all, dense_eigenvectors,
                         testing::Combine(testing::ValuesIn(operators_under_test()),
                                          testing::ValuesIn(eigenvector_cases())),
                         case_name);

TEST(test_solver, finds_the_column_of_the_dense_inverse) {
  const extents lattice{4, 2, 2, 2};
  const gauge_configuration links = random_links(lattice, 9);
  const fermion_action action = fermion_action::isotropic(0.5, 1.0);
  const dense_matrix inverse = dense_dirac(links, action).inverse();
  const spinor_configuration b = random_spinor(lattice, 10);
  const test_solution solution = solve(textbook_operator().make(links, action), b, 1e-14);
  EXPECT_TRUE(solution.residual <= 1e-12) << solution.residual;
  const dense_vector expected = inverse * to_dense(b);
  // |x - x'| <= |M^-1| |b - M x|
  EXPECT_TRUE((to_dense(solution.x) - expected).norm() <= 1e-12 * inverse.norm() * norm(b));
}

}  // namespace
}  // namespace plaquette::validation
