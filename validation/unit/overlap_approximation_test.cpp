// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The functions that stand for the sign function: minimax polynomials against values that were verified elsewhere, and
/// Zolotarev's function against its asymptotic form and its own equioscillation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/approximation/minimax.hpp"
#include "common/approximation/zolotarev.hpp"
#include "common/error.hpp"

namespace plaquette {
namespace {

TEST(MinimaxPolynomial, has_the_errors_that_are_known) {
  EXPECT_NEAR(minimax_of_degree(13, 0.06 * 0.06).delta, 0.1049, 0.00005);
  EXPECT_NEAR(minimax_of_degree(94, 0.01).delta, 1.041e-9, 0.0005e-9);
  EXPECT_NEAR(minimax_of_degree(100, 0.01).delta, 3.03e-10, 0.005e-10);
}

TEST(MinimaxPolynomial, errs_by_its_delta_and_no_more_and_does_so_again_and_again) {
  for (const auto& [degree, root] : {std::pair{5, 0.3}, {20, 0.1}, {60, 0.07}}) {
    const minimax_polynomial p = minimax_of_degree(degree, root * root);
    double worst = 0.0, before = 0.0;
    int turns = 0;
    for (int i = 0; i <= 20000; ++i) {
      const double z = std::cos(M_PI * (1.0 - i / 20000.0)), x = 0.5 * (z * (1.0 - p.eps) + 1.0 + p.eps);
      const double error = 1.0 - std::sqrt(x) * p(x);
      worst = std::max(worst, std::abs(error));
      if (std::abs(error) > 0.9 * p.delta && error * before <= 0.0) {
        ++turns;
        before = error;
      }
    }
    EXPECT_LE(worst, p.delta * (1.0 + 1e-5) + 1e-14);
    EXPECT_GE(worst, p.delta * (1.0 - 1e-3));
    EXPECT_EQ(turns, degree + 2);
  }
}

TEST(MinimaxPolynomial, of_an_error_has_the_smallest_degree_to_two_in_a_hundred) {
  for (const double delta : {1e-2, 1e-5, 1e-9}) {
    const minimax_polynomial p = minimax_of_error(delta, 0.01);
    EXPECT_LE(p.delta, delta);
    const int smaller = p.degree() - std::max(2, p.degree() / 25);
    EXPECT_GT(minimax_of_degree(smaller, 0.01).delta, delta);
  }
}

TEST(MinimaxPolynomial, refuses_what_is_none) {
  EXPECT_THROW(minimax_of_degree(10, 0.0), input_error);
  EXPECT_THROW(minimax_of_degree(10, 1.5), input_error);
  EXPECT_THROW(minimax_of_degree(0, 0.1), input_error);
}

TEST(Zolotarev, has_the_errors_that_are_known) {
  const struct {
    int poles;
    double e, delta;
  } known[] = {{12, 1e-2, 1.04036e-8},
               {16, 1e-2, 1.43073e-11},
               {18, 1e-3, 1.99420e-9},
               {20, 1e-3, 1.84578e-10},
               {6, 1e-1, 4.22258e-7}};
  for (const auto& k : known) EXPECT_NEAR(zolotarev_of_poles(k.poles, k.e, 1.0).delta / k.delta, 1.0, 2e-5);
  // Cancellation: delta is of the size of 1e6 roundings of long double.
  EXPECT_NEAR(zolotarev_of_poles(18, 1e-2, 1.0).delta / 5.30571e-13, 1.0, 1e-4);
}

TEST(Zolotarev, is_the_function_of_another_program) {
  // Chroma, on [0.02, 2.7] with 12 poles: the sum of c / (x^2 + s), to the digits that it prints.
  const zolotarev_function f = zolotarev_of_poles(12, 0.02, 2.7);
  const std::vector<double> shifts{2.812497e-05, 0.0003028145, 0.001183007, 0.003729084, 0.01101138, 0.03183655,
                                   0.09159283,   0.2648169,    0.7819614,   2.464906,    9.629658,   103.6801},
      weights{0.006906356, 0.00884896, 0.01328127, 0.02145363, 0.03568286, 0.06005973,
              0.1018711,   0.1749894,  0.310665,   0.6062421,  1.578009,   13.26022};
  EXPECT_NEAR(f.delta, 2.671116e-08, 1e-13);
  for (std::size_t l = 0; l < 12; ++l) {
    EXPECT_NEAR(f.shifts[l] / shifts[l], 1.0, 1e-6);
    EXPECT_NEAR(f.weights[l] / weights[l], 1.0, 1e-6);
  }
}

TEST(Zolotarev, stays_within_its_error) {
  const zolotarev_function f = zolotarev_of_error(1e-6, 0.05, 6.0);
  EXPECT_LE(f.delta, 1e-6);
  double worst = 0.0;
  for (int i = 0; i <= 20000; ++i) {
    const double x = 0.05 * std::pow(6.0 / 0.05, i / 20000.0);
    worst = std::max({worst, std::abs(1.0 - f(x)), std::abs(1.0 + f(-x))});
  }
  EXPECT_LE(worst, f.delta * (1.0 + 1e-6));
  EXPECT_GE(worst, f.delta * 0.999);
  EXPECT_THROW(zolotarev_of_poles(5, 1.0, 0.5), input_error);
  EXPECT_THROW(zolotarev_of_poles(0, 0.1, 1.0), input_error);
}

}  // namespace
}  // namespace plaquette
