// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Solvers inside solvers: relaxations of a fixed number of steps do what their formulas say and neither read nor
/// allocate; flexible GCR takes any of them, in any precision.
#include <gtest/gtest.h>

#include <cmath>

#include "common/krylov/bridge.hpp"
#include "common/krylov/flexible_gcr.hpp"
#include "common/krylov/relaxation.hpp"
#include "common/multigrid/schwarz.hpp"
#include "validation/unit/solver_support.hpp"

namespace plaquette::solver_tests {
namespace {

constexpr double u = 0x1p-53;
/// One application of an n x n matrix rounds by less than this, relative to |A| |x|.
double application_rounding(const matrix& a) { return 4.0 * (static_cast<double>(a.rows()) + 4.0) * u * a.norm(); }

/// k minimal residual steps from x.
vector mr_by_formula(const matrix& a, vector x, const vector& b, int k, double omega) {
  for (int i = 0; i < k; ++i) {
    const vector r = b - a * x, ar = a * r;
    x += omega * ar.dot(r) / ar.squaredNorm() * r;
  }
  return x;
}

/// The x of the Krylov space of r = b - A x0 that makes |b - A x| smallest, by least squares on an orthonormal basis.
vector least_residual(const matrix& a, const vector& x0, const vector& b, int k) {
  matrix basis(a.rows(), k);
  vector v = b - a * x0;
  for (int i = 0; i < k; ++i) {
    for (int pass = 0; pass < 2; ++pass)
      if (i > 0) v -= basis.leftCols(i) * (basis.leftCols(i).adjoint() * v);
    basis.col(i) = v.normalized();
    v = a * basis.col(i);
  }
  const matrix images = a * basis;
  return x0 + basis * least_squares(images, b - a * x0);
}

/// Runs `make(operator, shape)` on fresh fields: x poisoned for solve, given for improve.
template <class Make>
matrix solved(const matrix& a, const matrix& b, const Make& make, const matrix* guess = nullptr, int wider = 0) {
  mock::machine device(5);
  const auto op = to_operator(a);
  const mock::field source = to_field(device, b);
  const auto inner = make(op, like(source, source.columns() + wider));
  mock::field x = guess != nullptr ? to_field(device, *guess) : like(source);
  guess != nullptr ? inner.improve(x, source) : inner.solve(x, source);
  return to_matrix(x);
}

TEST(Relaxations, OfMinimalResidualsFollowTheFormula) {
  for (const std::uint64_t seed : {1, 2, 3})
    for (const int columns : {1, 3})
      for (const int k : {1, 2, 5})
        for (const double omega : {1.0, 0.85}) {
          generator g(seed);
          const matrix a = well_behaved(17, g), b = random_matrix(17, columns, g), x0 = random_matrix(17, columns, g);
          const auto make = [&](const auto& op, const auto& shape) { return mr_relaxation(op, shape, k, omega); };
          const matrix x = solved(a, b, make, nullptr, static_cast<int>(seed) - 1), y = solved(a, b, make, &x0);
          for (int n = 0; n < columns; ++n) {
            const double bound = 50.0 * k * application_rounding(a) * norm_of_inverse(a);
            const vector from_zero = mr_by_formula(a, vector::Zero(17), b.col(n), k, omega);
            EXPECT_TRUE((x.col(n) - from_zero).norm() <= bound * from_zero.norm()) << seed << ' ' << k;
            const vector from_x0 = mr_by_formula(a, x0.col(n), b.col(n), k, omega);
            EXPECT_TRUE((y.col(n) - from_x0).norm() <= bound * (from_x0.norm() + x0.col(n).norm())) << seed;
          }
        }
}

TEST(Relaxations, OfGcrMinimiseTheResidualOverTheKrylovSpace) {
  for (const std::uint64_t seed : {1, 2, 3})
    for (const int columns : {1, 4})
      for (const int k : {1, 2, 3, 8}) {
        generator g(seed);
        const matrix a = well_behaved(17, g), b = random_matrix(17, columns, g), x0 = random_matrix(17, columns, g);
        const auto make = [&](const auto& op, const auto& shape) { return gcr_relaxation(op, shape, k); };
        const matrix x = solved(a, b, make, nullptr, static_cast<int>(seed) - 1), y = solved(a, b, make, &x0);
        for (int n = 0; n < columns; ++n) {
          const double bound = 100.0 * k * application_rounding(a) * norm_of_inverse(a);
          const vector from_zero = least_residual(a, vector::Zero(17), b.col(n), k);
          EXPECT_TRUE((x.col(n) - from_zero).norm() <= bound * from_zero.norm()) << seed << ' ' << k;
          const vector from_x0 = least_residual(a, x0.col(n), b.col(n), k);
          EXPECT_TRUE((y.col(n) - from_x0).norm() <= bound * (from_x0.norm() + x0.col(n).norm())) << seed;
        }
      }
}

TEST(Relaxations, OfCaGcrAreStretchesOfGcr) {
  for (const std::uint64_t seed : {1, 2, 3})
    for (const int columns : {1, 4})
      for (const auto& [count, length] : {std::pair{1, 4}, {3, 1}, {4, 4}, {7, 3}, {8, 8}}) {
        generator g(seed);
        const matrix a = well_behaved(17, g), b = random_matrix(17, columns, g), x0 = random_matrix(17, columns, g);
        const auto make = [&, k = count, s = length](const auto& op, const auto& shape) {
          return ca_gcr_relaxation(op, shape, k, s);
        };
        const matrix x = solved(a, b, make, nullptr, static_cast<int>(seed) - 1), y = solved(a, b, make, &x0);
        // The Gram matrix of A v, A^2 v, ..., A^s v has the square of their condition: 3^(s - 1) and the spread by the
        // disc of eigenvalues, below 1e4 for s = 8.
        const double bound = 100.0 * count * application_rounding(a) * norm_of_inverse(a) * (length > 4 ? 1e8 : 1e4);
        for (int n = 0; n < columns; ++n) {
          vector from_zero = vector::Zero(17), from_x0 = x0.col(n);
          const int stretches = (count + length - 1) / length;  // as even as can be
          for (int part = 1; part <= stretches; ++part) {
            const int k = count * part / stretches - count * (part - 1) / stretches;
            from_zero = least_residual(a, from_zero, b.col(n), k);
            from_x0 = least_residual(a, from_x0, b.col(n), k);
          }
          EXPECT_TRUE((x.col(n) - from_zero).norm() <= bound * from_zero.norm()) << seed << ' ' << count;
          EXPECT_TRUE((y.col(n) - from_x0).norm() <= bound * (from_x0.norm() + x0.col(n).norm())) << seed;
          EXPECT_FALSE((x.col(n) - from_zero).norm() > 1e-6 * from_zero.norm()) << "the bound above is no bound";
        }
      }
}

/// Blocks of 4 numbers by themselves, one colour after the other, one minimal residual step in each, written out.
TEST(Relaxations, OfSchwarzFollowTheFormula) {
  for (const std::uint64_t seed : {1, 2})
    for (const bool multiplicative : {false, true}) {
      generator g(seed);
      const matrix a = well_behaved(16, g), b = random_matrix(16, 2, g), x0 = random_matrix(16, 2, g);
      matrix inside = matrix::Zero(16, 16), colour[2] = {inside, inside};
      for (Eigen::Index k = 0; k < 4; ++k) {
        inside.block(4 * k, 4 * k, 4, 4) = a.block(4 * k, 4 * k, 4, 4);
        colour[k % 2].block(4 * k, 4 * k, 4, 4).setIdentity();
      }
      schwarz_domains<mock::field> domains{any_operator<mock::field>(to_operator(inside))};
      if (multiplicative)
        for (const matrix& c : colour) domains.colours.emplace_back(to_operator(c));
      const matrix y = solved(
          a, b, [&](const auto& op, const auto& shape) { return schwarz_relaxation(op, shape, domains, 2, 1); }, &x0);
      for (int n = 0; n < 2; ++n) {
        vector x = x0.col(n);
        for (int sweep = 0; sweep < 2; ++sweep)
          for (int c = 0; c < (multiplicative ? 2 : 1); ++c) {
            const vector r = b.col(n) - a * x;
            const vector here = multiplicative ? vector(colour[c] * r) : r;
            const vector e = mr_by_formula(inside, vector::Zero(16), here, 1, 1.0), ae = a * e;
            x += multiplicative ? e : vector(ae.dot(r) / ae.squaredNorm() * e);
          }
        EXPECT_TRUE((y.col(n) - x).norm() <= 1000.0 * application_rounding(a) * x.norm()) << multiplicative;
      }
    }
}

TEST(Relaxations, OfGcrStandStillWhereNothingIsLeftToBeDone) {
  // Three distinct eigenvalues: from the fourth step on, directions hold rounding alone. One column is zero.
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    generator g(seed);
    const matrix a = with_spectrum(distinct_values(20, 3), g);
    matrix b = random_matrix(20, 3, g);
    b.col(1).setZero();
    const matrix x = solved(a, b, [](const auto& op, const auto& shape) { return gcr_relaxation(op, shape, 14); });
    const matrix y =
        solved(a, b, [](const auto& op, const auto& shape) { return ca_gcr_relaxation(op, shape, 14, 5); });
    EXPECT_EQ(x.col(1), vector::Zero(20));
    EXPECT_EQ(y.col(1), vector::Zero(20));
    for (const int n : {0, 2}) {
      EXPECT_TRUE(relative_residual(a, x.col(n), b.col(n)) <= 100.0 * application_rounding(a)) << seed;
      // Normal equations halve the digits of a stretch, which the next one mends.
      EXPECT_TRUE(relative_residual(a, y.col(n), b.col(n)) <= 1e4 * application_rounding(a)) << seed;
    }
  }
}

TEST(Relaxations, OfPolynomialsAreTheirFormula) {
  generator g(6);
  const matrix a = well_behaved(13, g), b = random_matrix(13, 3, g), x0 = random_matrix(13, 3, g);
  const std::vector<double> c{0.7, -0.3, 0.2, -0.05};
  const auto make = [&](const auto& op, const auto& shape) { return polynomial_relaxation(op, shape, c); };
  const auto formula = [&](const matrix& r) -> matrix {
    return c[0] * r + a * (c[1] * r + a * (c[2] * r + a * (c[3] * r)));
  };
  const matrix x = solved(a, b, make, nullptr, 2), y = solved(a, b, make, &x0);
  const double bound = 1000.0 * application_rounding(a);
  EXPECT_TRUE((x - formula(b)).norm() <= bound * x.norm());
  EXPECT_TRUE((y - x0 - formula(b - a * x0)).norm() <= bound * y.norm());
}

/// With what CA-GCR found for a residual it is CA-GCR.
TEST(Relaxations, OfPolynomialsRepeatWhatCaGcrFound) {
  generator g(7);
  matrix a = well_behaved(13, g), b = random_matrix(13, 1, g);
  a.imag().setZero(), b.imag().setZero();  // so that c is real
  std::vector<double> c;
  const auto recording = [&](const auto& op, const auto& shape) {
    return ca_gcr_relaxation(op, shape, 4, 4, [&](const auto& found) {
      for (const auto& values : host_values_of(found)) c.push_back(values[0].re);
    });
  };
  const matrix x = solved(a, b, recording);
  ASSERT_EQ(c.size(), 4u);
  const matrix y = solved(a, b, [&](const auto& op, const auto& shape) { return polynomial_relaxation(op, shape, c); });
  EXPECT_TRUE((x - y).norm() <= 1e-9 * x.norm());
}

/// Calls f with a relaxation of each kind and its name.
template <class Field, class A, class Function>
void for_each_relaxation(const A& op, const Field& shape, Function f) {
  f("mr", mr_relaxation(op, shape, 4, 0.9));
  f("gcr", gcr_relaxation(op, shape, 5));
  f("ca-gcr", ca_gcr_relaxation(op, shape, 7, 3));
  f("polynomial", polynomial_relaxation(op, shape, {0.5, -0.1, 0.01}));
  f("schwarz", schwarz_relaxation(op, shape, {any_operator<Field>(op), {any_operator<Field>(op)}}, 2, 3));
}

TEST(Relaxations, NeitherReadNorAllocate) {
  generator g(4);
  const matrix a = well_behaved(15, g), b = random_matrix(15, 4, g);
  mock::machine device(3);
  const auto op = to_operator(a);
  mock::field source = to_field(device, b), x = like(source);
  for_each_relaxation(op, source, [&](const char* name, const auto& inner) {
    for (const int columns : {4, 2}) {
      device.forget();
      mock::field some_x = view(x, 0, columns);
      const mock::field some_b = view(source, 0, columns);
      inner.solve(some_x, some_b);
      inner.improve(some_x, some_b);
      inner.apply(some_x, some_b);
      EXPECT_EQ(device.reads().size(), 0u) << name;
      EXPECT_EQ(device.allocations(), 0) << name;
      EXPECT_GT(device.applications(), 6) << name;
    }
  });
  device.forget();
  const auto mr = mr_relaxation(op, source, 2);
  EXPECT_GT(device.allocations(), 0) << "the count of allocations counts";
}

TEST(Relaxations, DoNotMixColumns) {
  generator g(4);
  const matrix a = well_behaved(15, g), b = random_matrix(15, 4, g);
  const auto all = [&](const matrix& some) {
    std::vector<matrix> results;
    mock::machine device(3);
    const auto op = to_operator(a);
    const mock::field source = to_field(device, some);
    for_each_relaxation(op, source, [&](const char*, const auto& inner) {
      mock::field x = like(source);
      inner.solve(x, source);
      results.push_back(to_matrix(x));
    });
    return results;
  };
  const auto together = all(b);
  for (int n = 0; n < 4; ++n) {
    const auto alone = all(b.col(n));
    for (std::size_t i = 0; i < together.size(); ++i) EXPECT_EQ(matrix(together[i].col(n)), alone[i]) << i;
  }
}

TEST(Relaxations, RefuseWhatMakesNoSense) {
  mock::machine device;
  const auto op = to_operator(matrix::Identity(3, 3));
  const mock::field shape(device, 3, 2);
  EXPECT_THROW(mr_relaxation(op, shape, -1), input_error);
  EXPECT_THROW(mr_relaxation(op, shape, 1, 2.0), input_error);
  EXPECT_THROW(gcr_relaxation(op, shape, 0), input_error);
  EXPECT_THROW(ca_gcr_relaxation(op, shape, 0), input_error);
  EXPECT_THROW(ca_gcr_relaxation(op, shape, 4, 0), input_error);
  EXPECT_THROW(schwarz_relaxation(op, shape, {any_operator<mock::field>(op)}, 0, 1), input_error);
  EXPECT_THROW(schwarz_relaxation(op, shape, {any_operator<mock::field>(op)}, 1, 0), input_error);
}

/// The identity, as a preconditioner.
struct no_preconditioner {
  template <class Field>
  void apply(Field& x, const Field& b) const {
    copy(x, b);
  }
};
static_assert(preconditioner<no_preconditioner, mock::field>);
static_assert(preconditioner<decltype(mr_relaxation(std::declval<const mock::dense_operator&>(),
                                                    std::declval<const mock::field&>(), 1)),
                             mock::field>);

TEST(FlexibleGcr, SolutionsScaleWithTheirSources) {
  generator g(9);
  const matrix a = well_behaved(25, g);
  expect_solutions_scale(random_matrix(25, 3, g), [&](const matrix& b) {
    mock::machine device;
    const mock::field source = to_field(device, b);
    const auto inner =
        bridge<mock::basic_field<float>>(mr_relaxation(to_operator(a), to_field<float>(device, b), 3), source);
    mock::field x = to_field(device, matrix::Zero(25, 3));
    const auto report = flexible_gcr(to_operator(a), x, source, {.tolerance = 1e-10, .limit = 200}, inner);
    EXPECT_TRUE(report.all_converged()) << report.columns[1].why;
    return to_matrix(x);
  });
}

TEST(FlexibleGcr, WithoutAPreconditionerIsGcr) {
  for (const std::uint64_t seed : {1, 2}) {
    generator g(seed);
    const matrix a = well_behaved(25, g), b = random_matrix(25, 3, g);
    mock::machine device;
    const auto op = to_operator(a);
    mock::field x = to_field(device, matrix::Zero(25, 3)), y = to_field(device, matrix::Zero(25, 3));
    const mock::field source = to_field(device, b);
    const stopping_rule rule{.tolerance = 1e-9, .limit = 200};
    const auto report = flexible_gcr(op, x, source, rule, no_preconditioner{}, {.restart_length = 30});
    const auto plain = gcr(op, y, source, rule, 30);
    for (std::size_t n = 0; n < 3; ++n) {
      EXPECT_EQ(report.columns[n].status, solve_status::converged);
      EXPECT_EQ(report.columns[n].iterations, plain.columns[n].iterations);
      for (std::size_t i = 0; i < plain.history[n].size(); ++i)
        EXPECT_TRUE(std::abs(report.history[n][i] - plain.history[n][i]) <= 1e-11);
    }
  }
}

TEST(FlexibleGcr, ConvergesInOneIterationWithTheInverse) {
  generator g(3);
  const matrix a = well_behaved(20, g), b = random_matrix(20, 4, g);
  mock::machine device;
  mock::field x = to_field(device, matrix::Zero(20, 4));
  const auto report = flexible_gcr(to_operator(a), x, to_field(device, b), {.tolerance = 1e-11, .limit = 10},
                                   to_operator(inverse_of(a)));
  for (const auto& c : report.columns) {
    EXPECT_EQ(c.status, solve_status::converged) << c.why;
    EXPECT_EQ(c.iterations, 1);
    EXPECT_TRUE(c.true_residual <= 1e-11);
  }
}

TEST(FlexibleGcr, TakesSolversInLowPrecision) {
  for (const int restart_length : {3, 8})
    for (const std::uint64_t seed : {1, 2, 3}) {
      generator g(seed);
      const matrix a = well_behaved(24, g);
      matrix b = random_matrix(24, 5, g);
      b.col(2).setZero();
      mock::machine device(seed);
      const auto op = to_operator(a);
      const mock::field source = to_field(device, b);
      const auto run = [&](const auto& inverse) {
        mock::field x = to_field(device, matrix::Zero(24, 5));
        const auto report = flexible_gcr(op, x, source, {.tolerance = 1e-13, .limit = 200, .check_interval = 2},
                                         inverse, {.restart_length = restart_length});
        const matrix found = to_matrix(x);
        for (int n = 0; n < 5; ++n) {
          const auto& c = report.columns[static_cast<std::size_t>(n)];
          EXPECT_EQ(c.status, solve_status::converged) << c.why;
          if (n == 2) continue;
          EXPECT_TRUE(c.true_residual <= 1e-13);
          EXPECT_TRUE(relative_residual(a, found.col(n), b.col(n)) <= 2e-13);
        }
        EXPECT_EQ(to_matrix(x).col(2), vector::Zero(24));
        return report.iterations();
      };
      using single_field = mock::basic_field<float>;
      using half_field = mock::basic_field<half>;
      const single_field single_shape = like(source, 5, as<single_field>);
      const half_field half_shape = like(source, 5, as<half_field>);
      const int without = run(no_preconditioner{});
      const int with_single = run(bridge<single_field>(gcr_relaxation(op, single_shape, 4), source));
      const int with_half = run(bridge<half_field>(mr_relaxation(op, half_shape, 4), source));
      EXPECT_LT(2 * with_single, without);
      EXPECT_LT(2 * with_half, without);
    }
}

TEST(FlexibleGcr, HasTheSameBitsForEveryIntervalOfChecksAndCompany) {
  generator g(8);
  const matrix a = well_behaved(24, g), b = random_matrix(24, 4, g);
  const auto run = [&](const matrix& some, int check_interval) {
    mock::machine device(2);
    const auto op = to_operator(a);
    const mock::field source = to_field(device, some);
    mock::field x = to_field(device, matrix::Zero(some.rows(), some.cols()));
    const auto inner = mr_relaxation(op, source, 2);
    device.forget();
    const auto report =
        flexible_gcr(op, x, source, {.tolerance = 1e-10, .limit = 200, .check_interval = check_interval}, inner,
                     {.restart_length = 5});
    EXPECT_TRUE(report.all_converged());
    EXPECT_EQ(report.host_reads, std::ssize(device.reads()));
    EXPECT_EQ(std::ssize(device.reads()), 2 + (report.iterations() + check_interval - 1) / check_interval);
    return to_matrix(x);
  };
  const matrix expected = run(b, 1);
  for (const int check_interval : {2, 5, 50}) EXPECT_EQ(run(b, check_interval), expected) << check_interval;
  for (int n = 0; n < 4; ++n) EXPECT_EQ(run(b.col(n), 3), matrix(expected.col(n))) << n;
}

TEST(FlexibleGcr, SolvesFurtherWhatOnlyClaimsToHaveConverged) {
  // A flipped bit in the result of the operator: the iterated residual does not know of it.
  generator g(9);
  const matrix a = well_behaved(24, g), b = random_matrix(24, 2, g);
  mock::machine device;
  const mock::flipping_operator op(to_operator(a), 4, 0.3);
  mock::field x = to_field(device, matrix::Zero(24, 2));
  const auto report = flexible_gcr(op, x, to_field(device, b), {.tolerance = 1e-10, .limit = 300}, no_preconditioner{},
                                   {.restart_length = 40});
  EXPECT_EQ(report.columns[0].status, solve_status::converged);
  EXPECT_EQ(report.columns[0].restarts, 1);
  EXPECT_EQ(report.columns[1].restarts, 0);
  for (int n = 0; n < 2; ++n) EXPECT_TRUE(relative_residual(a, to_matrix(x).col(n), b.col(n)) <= 1.01e-10);
}

/// An operator that can be applied and has no dagger.
struct forward_only {
  mock::dense_operator a;
  void apply(mock::field& out, const mock::field& in) const { a.apply(out, in); }
};

TEST(AnyOperator, MayLackTheDagger) {
  generator g(1);
  const matrix a = random_matrix(4, 4, g), b = random_matrix(4, 2, g);
  mock::machine device;
  const mock::field in = to_field(device, b);
  mock::field out = like(in);
  const any_operator<mock::field> without(forward_only{to_operator(a)}), with(to_operator(a));
  without.apply(out, in);
  EXPECT_TRUE((to_matrix(out) - a * b).norm() <= application_rounding(a) * b.norm());
  EXPECT_THROW(without.apply_dagger(out, in), error);
  with.apply_dagger(out, in);
  EXPECT_TRUE((to_matrix(out) - a.adjoint() * b).norm() <= application_rounding(a) * b.norm());
}

TEST(GcrDirections, SomeColumnsGetTheStepsThatAllGet) {
  generator g(3);
  const matrix a = random_matrix(8, 8, g), b = random_matrix(8, 5, g);
  mock::machine device;
  const auto op = to_operator(a);
  mock::field r = to_field(device, b), x = like(r);
  zero(x);
  detail::gcr_directions<mock::field> kept;
  std::vector<mock::field::scalars> steps;
  for (int k = 0; k < 3; ++k) {
    kept.p.push_back(like(r)), kept.q.push_back(like(r));
    copy(kept.p.back(), r);
    const auto [q_r, norm, before] = kept.add(op, r, uniform_scalars(r, 1.0));
    steps.push_back(ratio(q_r, norm));
    axpy_norm2(r, -steps.back(), kept.q.back());
  }
  const std::vector<int> list{0, 1, 3};
  const mock::field some = kept.some_with_steps(x, steps, list);
  kept.add_steps(x, steps);
  EXPECT_TRUE((a * to_matrix(x) + to_matrix(r) - b).norm() <= 10.0 * application_rounding(a) * b.norm());
  EXPECT_TRUE(to_matrix(some) == to_matrix(gather_columns(x, list)));
}

TEST(Bridge, BringsFieldsToAnotherPrecisionAndBack) {
  generator g(1);
  const matrix a = random_matrix(6, 6, g), b = random_matrix(6, 3, g);
  mock::machine device;
  const mock::field in = to_field(device, b);
  mock::field out = like(in);
  using single_field = mock::basic_field<float>;
  const any_operator<mock::field> op(bridge<single_field>(to_operator(a), in));
  device.forget();
  op.apply(out, in);
  const double bound = 2.0 * 0x1p-24 * a.norm() * b.norm();
  EXPECT_TRUE((to_matrix(out) - a * b).norm() <= bound);
  EXPECT_FALSE((to_matrix(out) - a * b).norm() <= 1e-4 * bound) << "nothing was rounded";
  op.apply_dagger(out, in);
  EXPECT_TRUE((to_matrix(out) - a.adjoint() * b).norm() <= bound);
  mock::field some = view(out, 0, 2);
  op.apply(some, view(in, 1, 2));
  EXPECT_TRUE((to_matrix(some) - a * b.rightCols(2)).norm() <= bound);
  EXPECT_EQ(device.allocations(), 0);
}

/// A preconditioner that notes how many columns it is given.
struct width_witness {
  mock::dense_operator a;
  std::shared_ptr<std::vector<int>> widths;
  template <class Field>
  void apply(Field& x, const Field& b) const {
    widths->push_back(b.columns());
    a.apply(x, b);
  }
};

TEST(Bridge, GivesAnOperatorOfOneWidthZerosForColumnsThatLeft) {
  generator g(5);
  const matrix a = random_matrix(6, 6, g), b = random_matrix(6, 4, g);
  mock::machine device;
  const mock::field in = to_field(device, b);
  mock::field out = like(in);
  const auto widths = std::make_shared<std::vector<int>>();
  const auto whole = bridge<mock::basic_field<float>>(width_witness{to_operator(a), widths}, in, bridge_width::whole);
  for (const int columns : {4, 1, 3}) {
    mock::field some = view(out, 0, columns);
    whole.apply(some, view(in, 4 - columns, columns));
    EXPECT_TRUE((to_matrix(some) - a * b.rightCols(columns)).norm() <= 0x1p-22 * a.norm() * b.norm()) << columns;
  }
  EXPECT_EQ(*widths, (std::vector<int>{4, 4, 4}));
}

TEST(Bridge, BringsFieldsToAnotherShapeAndBack) {
  // a 3 x 3 operator on the space that P spans: out = P A P^+ in
  generator g(2);
  const matrix a = random_matrix(3, 3, g), p = random_unitary(7, g).leftCols(3), b = random_matrix(7, 2, g);
  mock::machine device;
  const auto prolong = to_operator(p);
  const mock::field in = to_field(device, b), coarse(device, 3, 2);
  mock::field out = like(in);
  const any_operator<mock::field> op(bridge<mock::field>(
      to_operator(a), coarse, [prolong](mock::field& to, const mock::field& from) { prolong.apply_dagger(to, from); },
      [prolong](mock::field& to, const mock::field& from) { prolong.apply(to, from); }));
  op.apply(out, in);
  EXPECT_TRUE((to_matrix(out) - p * a * p.adjoint() * b).norm() <= 3.0 * application_rounding(a) * b.norm());
  op.apply_dagger(out, in);
  EXPECT_TRUE((to_matrix(out) - p * a.adjoint() * p.adjoint() * b).norm() <= 3.0 * application_rounding(a) * b.norm());
}

}  // namespace
}  // namespace plaquette::solver_tests
