// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Vector operations of the CUDA library against the CPU library's, and their sums against the stored numbers.
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "gpu/blas/integer_products.hpp"
#include "validation/gpu-vs-cpu/support/twin_fields.hpp"

namespace plaquette::validation {
namespace {

struct blas_case {
  extents lattice;
  field_shape shape;
};

/// Lattices with whole and with padded blocks of 32 sites; every number of columns; every subset; 6, 12 and other
/// numbers of components.
std::vector<blas_case> cases() {
  std::vector<blas_case> list;
  for (const extents& lattice : {extents{2, 2, 2, 2}, extents{4, 6, 2, 8}, extents{2, 4, 6, 10}}) {
    for (const int columns : {1, 5, 12, 16}) list.push_back({lattice, {4, 3, site_subset::full, columns}});
    for (const site_subset sites : {site_subset::even, site_subset::odd}) list.push_back({lattice, {4, 3, sites, 5}});
    for (const auto& [spins, colours] : {std::pair{2, 3}, std::pair{2, 1}, std::pair{2, 7}, std::pair{2, 24}})
      list.push_back({lattice, {spins, colours, colours == 7 ? site_subset::odd : site_subset::full, 3}});
  }
  return list;
}

/// Coefficients that are numbers of every precision, so that both sides multiply with the same.
std::vector<complex<double>> coefficients(int columns, std::uint64_t seed) {
  std::vector<complex<double>> numbers;
  random_stream random(seed, 0, 0);
  for (int c = 0; c < columns; ++c) {
    const auto [re, im] = random.gaussians();
    numbers.push_back({static_cast<double>(static_cast<float>(re)), static_cast<double>(static_cast<float>(im))});
  }
  return numbers;
}

template <class T>
struct Blas : testing::Test {
  /// found = expected, where each number may be off by twin_factor * unit_of<T> * (operands, site by site), once for
  /// the numbers read and once for the numbers written. A result's largest number is no larger than what went in.
  static void expect_twins(const gpu::field<T>& found, const cpu::field<T>& expected,
                           const std::function<double(int column, std::size_t site)>& went_in, const char* what) {
    for (int c = 0; c < found.columns(); ++c) {
      const site_numbers on_gpu = numbers_of(found, c), on_cpu = numbers_of(expected, c);
      for (std::size_t i = 0; i < on_gpu.size(); ++i) {
        const double bound =
            2.0 * twin_factor * unit_of<T> * went_in(c, i / static_cast<std::size_t>(found.components()));
        ASSERT_TRUE(std::abs(on_gpu[i].re - on_cpu[i].re) <= bound && std::abs(on_gpu[i].im - on_cpu[i].im) <= bound)
            << what << ", column " << c << ", number " << i << ": " << on_gpu[i].re << " and " << on_cpu[i].re << ", "
            << on_gpu[i].im << " and " << on_cpu[i].im << ", bound " << bound;
      }
    }
  }
};
using precisions = testing::Types<half, float, double>;
TYPED_TEST_SUITE(Blas, precisions);

TYPED_TEST(Blas, UpdatesAreThoseOfTheCpu) {
  using T = TypeParam;
  std::uint64_t seed = 100;
  for (const blas_case& now : cases()) {
    SCOPED_TRACE(describe(now.lattice, now.shape));
    const twin_machines<T> machines(now.lattice);
    const twins<T> x0(machines, now.shape, ++seed), y0(machines, now.shape, ++seed), u(machines, now.shape, ++seed),
        v(machines, now.shape, ++seed), z0(machines, now.shape, ++seed);
    const int columns = now.shape.columns;
    const auto an = coefficients(columns, ++seed), bn = coefficients(columns, ++seed),
               en = coefficients(columns, ++seed);
    const auto a = make_scalars(u.on_cpu, an), b = make_scalars(u.on_cpu, bn), e = make_scalars(u.on_cpu, en);
    const auto a_gpu = make_scalars(u.on_gpu, an), b_gpu = make_scalars(u.on_gpu, bn),
               e_gpu = make_scalars(u.on_gpu, en);

    std::vector<std::vector<double>> X, Y, Z, U, V;
    for (int c = 0; c < columns; ++c) {
      const auto largest = [&](const twins<T>& f) {
        return largest_of_sites(numbers_of(f.on_cpu, c), f.on_cpu.components());
      };
      X.push_back(largest(x0)), Y.push_back(largest(y0)), Z.push_back(largest(z0));
      U.push_back(largest(u)), V.push_back(largest(v));
    }
    const auto size_a = [&](int c) { return size_of(an[static_cast<std::size_t>(c)]); };
    const auto size_b = [&](int c) { return size_of(bn[static_cast<std::size_t>(c)]); };
    const auto size_e = [&](int c) { return size_of(en[static_cast<std::size_t>(c)]); };
    const auto at = [](const auto& of, int c, std::size_t s) { return of[static_cast<std::size_t>(c)][s]; };

    twins<T> x(machines, now.shape), y(machines, now.shape), z(machines, now.shape);
    const auto start = [&](twins<T>& f, const twins<T>& from) {
      poison(f.on_gpu);
      copy(f.on_cpu, from.on_cpu);
      copy(f.on_gpu, from.on_gpu);
    };
    const auto same_x = [&](const char* what, auto&& went_in) {
      this->expect_twins(x.on_gpu, x.on_cpu, went_in, what);
    };

    start(x, x0);
    same_x("copy", [&](int c, std::size_t s) { return at(X, c, s); });
    scale(x.on_cpu, a), scale(x.on_gpu, a_gpu);
    same_x("scale", [&](int c, std::size_t s) { return size_a(c) * at(X, c, s); });

    const auto axpy_size = [&](int c, std::size_t s) { return at(X, c, s) + size_a(c) * at(U, c, s); };
    start(x, x0);
    axpy(x.on_cpu, a, u.on_cpu), axpy(x.on_gpu, a_gpu, u.on_gpu);
    same_x("axpy", axpy_size);
    start(x, x0);
    axpy_norm2(x.on_cpu, a, u.on_cpu), axpy_norm2(x.on_gpu, a_gpu, u.on_gpu);
    same_x("axpy_norm2", axpy_size);
    start(x, x0);
    axpy_dot_norm2(x.on_cpu, a, u.on_cpu, v.on_cpu), axpy_dot_norm2(x.on_gpu, a_gpu, u.on_gpu, v.on_gpu);
    same_x("axpy_dot_norm2", axpy_size);

    start(x, x0);
    xpay(x.on_cpu, u.on_cpu, a), xpay(x.on_gpu, u.on_gpu, a_gpu);
    same_x("xpay", [&](int c, std::size_t s) { return at(U, c, s) + size_a(c) * at(X, c, s); });

    start(x, x0);
    axpy_pair(x.on_cpu, a, u.on_cpu, b, v.on_cpu), axpy_pair(x.on_gpu, a_gpu, u.on_gpu, b_gpu, v.on_gpu);
    same_x("axpy_pair",
           [&](int c, std::size_t s) { return at(X, c, s) + size_a(c) * at(U, c, s) + size_b(c) * at(V, c, s); });

    start(x, x0);
    poison(x.on_gpu);  // x is not read
    subtract_norm2(x.on_cpu, u.on_cpu, v.on_cpu), subtract_norm2(x.on_gpu, u.on_gpu, v.on_gpu);
    same_x("subtract_norm2", [&](int c, std::size_t s) { return at(U, c, s) + at(V, c, s); });

    start(x, x0), start(y, y0);
    cg_update(x.on_cpu, y.on_cpu, a, u.on_cpu, v.on_cpu), cg_update(x.on_gpu, y.on_gpu, a_gpu, u.on_gpu, v.on_gpu);
    same_x("cg_update, x", axpy_size);
    this->expect_twins(
        y.on_gpu, y.on_cpu, [&](int c, std::size_t s) { return at(Y, c, s) + size_a(c) * at(V, c, s); },
        "cg_update, y");

    start(x, x0);
    bicgstab_direction(x.on_cpu, u.on_cpu, a, b, v.on_cpu);
    bicgstab_direction(x.on_gpu, u.on_gpu, a_gpu, b_gpu, v.on_gpu);
    same_x("bicgstab_direction",
           [&](int c, std::size_t s) { return at(U, c, s) + size_a(c) * (at(X, c, s) + size_b(c) * at(V, c, s)); });

    start(x, x0), start(y, y0);
    start(z, z0);
    bicgstab_step(x.on_cpu, y.on_cpu, z.on_cpu, a, b, e, u.on_cpu, v.on_cpu);
    bicgstab_step(x.on_gpu, y.on_gpu, z.on_gpu, a_gpu, b_gpu, e_gpu, u.on_gpu, v.on_gpu);
    same_x("bicgstab_step, x",
           [&](int c, std::size_t s) { return at(X, c, s) + size_a(c) * at(Z, c, s) + size_b(c) * at(Y, c, s); });
    const auto y_size = [&](int c, std::size_t s) { return at(Y, c, s) + size_b(c) * at(U, c, s); };
    this->expect_twins(y.on_gpu, y.on_cpu, y_size, "bicgstab_step, y");
    this->expect_twins(
        z.on_gpu, z.on_cpu,
        [&](int c, std::size_t s) { return 2.0 * y_size(c, s) + size_e(c) * (at(Z, c, s) + size_b(c) * at(V, c, s)); },
        "bicgstab_step, z");

    poison(x.on_gpu);
    zero(x.on_gpu);
    for (int c = 0; c < columns; ++c)
      for (const complex<double>& z : numbers_of(x.on_gpu, c)) ASSERT_EQ(z, complex<double>{}) << "zero";
  }
}

/// Two fields' sums from the numbers that they hold: <p, q>, and the sum of the terms' magnitudes.
template <class T>
std::pair<complex<double>, double> stored_sum(const gpu::field<T>& p, const gpu::field<T>& q, int column) {
  const site_numbers left = gpu::column_numbers(p, column), right = gpu::column_numbers(q, column);
  long double re = 0.0L, im = 0.0L, size = 0.0L;
  for (std::size_t i = 0; i < left.size(); ++i) {
    re += static_cast<long double>(left[i].re) * right[i].re + static_cast<long double>(left[i].im) * right[i].im;
    im += static_cast<long double>(left[i].re) * right[i].im - static_cast<long double>(left[i].im) * right[i].re;
    size += size_of(left[i]) * size_of(right[i]);
  }
  return {{static_cast<double>(re), static_cast<double>(im)}, static_cast<double>(size)};
}

TYPED_TEST(Blas, SumsAreThoseOfTheStoredNumbersInDouble) {
  using T = TypeParam;
  // A chain of additions is at most 2 * 48 terms of a site, 8 sites of a thread, 8 steps of the tree, and the blocks:
  // 120 roundings of 2^-53 of the magnitudes. In half the numbers that are read here are scale times integer, rounded
  // to float: 2^-24 each.
  const double bound = 120.0 * 0x1p-53 + (cpu::is_half<T> ? 2.5 * 0x1p-24 : 0.0);
  std::uint64_t seed = 300;
  for (const blas_case& now : cases()) {
    SCOPED_TRACE(describe(now.lattice, now.shape));
    const twin_machines<T> machines(now.lattice);
    const auto fresh = [&] { return twins<T>(machines, now.shape, ++seed).on_gpu; };
    const auto u = fresh(), v = fresh(), w = fresh();
    const auto a = make_scalars(u, coefficients(now.shape.columns, ++seed)),
               b = make_scalars(u, coefficients(now.shape.columns, ++seed));
    const auto expect = [&](const gpu::scalars& found, const gpu::field<T>& p, const gpu::field<T>& q,
                            const char* what) {
      const auto values = host_values(found);
      for (int c = 0; c < now.shape.columns; ++c) {
        const auto [sum, size] = stored_sum(p, q, c);
        const complex<double> value = values[static_cast<std::size_t>(c)];
        EXPECT_TRUE(std::abs(value.re - sum.re) <= bound * size && std::abs(value.im - sum.im) <= bound * size)
            << what << ", column " << c << ": (" << value.re << ", " << value.im << ") and (" << sum.re << ", "
            << sum.im << "), bound " << bound * size;
      }
    };
    expect(dot(u, v), u, v, "dot");
    expect(norm2(u), u, u, "norm2");
    const auto [uv, uu] = dot_norm2(u, v);
    expect(uv, u, v, "dot_norm2, dot"), expect(uu, u, u, "dot_norm2, norm");
    auto x = fresh(), y = fresh();
    const auto xx = axpy_norm2(x, a, u);
    expect(xx, x, x, "axpy_norm2");
    const auto zz = subtract_norm2(x, u, v);
    expect(zz, x, x, "subtract_norm2");
    const auto yy = cg_update(x, y, a, u, v);
    expect(yy, y, y, "cg_update");
    const auto [wx, x2] = axpy_dot_norm2(x, b, u, w);
    expect(wx, w, x, "axpy_dot_norm2, dot"), expect(x2, x, x, "axpy_dot_norm2, norm");
    auto z = fresh();
    const auto y2 = bicgstab_step(x, y, z, a, b, a, u, v);
    expect(y2, y, y, "bicgstab_step");
  }
}

TYPED_TEST(Blas, AStepOfBicgstabHasTheBitsOfItsParts) {
  using T = TypeParam;
  std::uint64_t seed = 500;
  for (const blas_case& now : cases()) {
    SCOPED_TRACE(describe(now.lattice, now.shape));
    const twin_machines<T> machines(now.lattice);
    const auto fresh = [&] { return twins<T>(machines, now.shape, ++seed).on_gpu; };
    const auto u = fresh(), v = fresh();
    auto x = fresh(), y = fresh(), z = fresh(), x_parts = like(x), y_parts = like(x), z_parts = like(x);
    copy(x_parts, x), copy(y_parts, y), copy(z_parts, z);
    const auto number = [&] { return make_scalars(u, coefficients(now.shape.columns, ++seed)); };
    const auto a = number(), b = number(), c = number();

    const auto yy = bicgstab_step(x, y, z, a, b, c, u, v);
    axpy_pair(x_parts, a, z_parts, b, y_parts);
    const auto yy_parts = axpy_norm2(y_parts, -b, u);
    bicgstab_direction(z_parts, y_parts, c, b, v);

    EXPECT_TRUE(same_bits(host_values(yy), host_values(yy_parts)));
    for (int k = 0; k < now.shape.columns; ++k) {
      ASSERT_TRUE(same_bits(gpu::column_numbers(x, k), gpu::column_numbers(x_parts, k))) << "x of " << k;
      ASSERT_TRUE(same_bits(gpu::column_numbers(y, k), gpu::column_numbers(y_parts, k))) << "y of " << k;
      ASSERT_TRUE(same_bits(gpu::column_numbers(z, k), gpu::column_numbers(z_parts, k))) << "z of " << k;
    }
  }
}

TYPED_TEST(Blas, SumsAreThoseOfTheCpu) {
  using T = TypeParam;
  // Both sides round stored numbers: each number by at most twin_factor * unit_of<T> times the largest of its site,
  // with any sign. Errors of n numbers add up to sqrt(n) of one, six times as a bound; plus a double's rounding of the
  // sum.
  for (const std::uint64_t seed : {1, 2, 3}) {
    const twin_machines<T> machines({4, 6, 2, 8});
    const field_shape shape{4, 3, site_subset::full, 4};
    const twins<T> u(machines, shape, 10 * seed), v(machines, shape, 10 * seed + 1);
    const auto on_cpu = host_values(dot(u.on_cpu, v.on_cpu)), on_gpu = host_values(dot(u.on_gpu, v.on_gpu));
    const auto norms_cpu = host_values(norm2(u.on_cpu)), norms_gpu = host_values(norm2(u.on_gpu));
    for (int c = 0; c < shape.columns; ++c) {
      const auto un = numbers_of(u.on_cpu, c), vn = numbers_of(v.on_cpu, c);
      const auto U = largest_of_sites(un, 12), V = largest_of_sites(vn, 12);
      double squares = 0.0, size = 0.0;
      for (std::size_t i = 0; i < un.size(); ++i) {
        squares += std::pow(U[i / 12] * size_of(vn[i]), 2) + std::pow(V[i / 12] * size_of(un[i]), 2);
        size += size_of(un[i]) * size_of(vn[i]);
      }
      const double bound = 6.0 * twin_factor * unit_of<T> * std::sqrt(squares) + 1e-15 * size;
      const auto n = static_cast<std::size_t>(c);
      EXPECT_TRUE(std::abs(on_gpu[n].re - on_cpu[n].re) <= bound)
          << on_gpu[n].re << ' ' << on_cpu[n].re << ' ' << bound;
      EXPECT_TRUE(std::abs(on_gpu[n].im - on_cpu[n].im) <= bound)
          << on_gpu[n].im << ' ' << on_cpu[n].im << ' ' << bound;
      double norm_squares = 0.0;
      for (std::size_t i = 0; i < un.size(); ++i) norm_squares += std::pow(2.0 * U[i / 12] * size_of(un[i]), 2);
      EXPECT_TRUE(std::abs(norms_gpu[n].re - norms_cpu[n].re) <=
                  6.0 * twin_factor * unit_of<T> * std::sqrt(norm_squares) + 1e-15 * norms_cpu[n].re);
      EXPECT_EQ(norms_gpu[n].im, 0.0);
    }
  }
}

TYPED_TEST(Blas, SumsAreTheSameBitsAgainAndInAnyBatch) {
  using T = TypeParam;
  const twin_machines<T> machines({4, 6, 6, 10});
  const field_shape shape{4, 3, site_subset::full, 5};
  const auto u = twins<T>(machines, shape, 41).on_gpu, v = twins<T>(machines, shape, 42).on_gpu;
  const auto first = host_values(dot(u, v)), again = host_values(dot(u, v));
  EXPECT_TRUE(same_bits(first, again));
  for (int c = 0; c < shape.columns; ++c) {
    const auto alone = host_values(dot(view(u, c, 1), view(v, c, 1)));
    EXPECT_TRUE(same_bits(alone, {first[static_cast<std::size_t>(c)]})) << c;
  }
}

constexpr extents irregular{2, 4, 6, 10};

/// Of the device, on that lattice.
template <class T>
std::array<gpu::field<T>, 3> three_fields(int spins, int colours, int columns, std::uint64_t seed) {
  const twin_machines<T> machines(irregular);
  const field_shape shape{spins, colours, site_subset::full, columns};
  return {twins<T>(machines, shape, seed).on_gpu, twins<T>(machines, shape, seed + 1).on_gpu,
          twins<T>(machines, shape, seed + 2).on_gpu};
}

TYPED_TEST(Blas, CoefficientsMayBeExpressions) {
  using T = TypeParam;
  // Expressions that share parts, used before they have values, are the numbers that they stand for: in the
  // kernel that needs them first, afterwards, and for the host. (Dirac spinors of a small lattice have a kernel of
  // their own for this; other shapes have not.)
  for (const auto& [spins, colours] : {std::pair{4, 3}, std::pair{2, 3}, std::pair{2, 7}})
    for (const int columns : {1, 5, 40}) {
      SCOPED_TRACE(describe(irregular, {spins, colours, site_subset::full, columns}));
      const auto [u, v, w] = three_fields<T>(spins, colours, columns, 81);
      const auto numbers = [&](const gpu::scalars& s) { return make_scalars(u, host_values(s)); };
      const std::vector<double> limits(static_cast<std::size_t>(columns), 0.1);
      const auto uv = dot(u, v), vv = norm2(v);
      const auto alpha_of = [&] { return ratio(where_above(vv, limits) * uv, vv); };
      const auto known_alpha = numbers(alpha_of()), known_minus = numbers(-alpha_of()),
                 known_omega = numbers(conj(ratio(vv, uv + vv)) * alpha_of());

      const auto alpha = alpha_of(), omega = conj(ratio(vv, uv + vv)) * alpha;
      auto x = like(u), y = like(u), z = like(u), x_known = like(u), y_known = like(u), z_known = like(u);
      copy(x, w), copy(y, u), copy(z, v), copy(x_known, w), copy(y_known, u), copy(z_known, v);
      const auto same = [&](const char* what) {
        for (int c = 0; c < columns; ++c) {
          ASSERT_TRUE(same_bits(gpu::column_numbers(x, c), gpu::column_numbers(x_known, c))) << what << ", x of " << c;
          ASSERT_TRUE(same_bits(gpu::column_numbers(y, c), gpu::column_numbers(y_known, c))) << what << ", y of " << c;
          ASSERT_TRUE(same_bits(gpu::column_numbers(z, c), gpu::column_numbers(z_known, c))) << what << ", z of " << c;
        }
      };
      const auto xx = axpy_norm2(x, -alpha, v), xx_known = axpy_norm2(x_known, known_minus, v);
      same("axpy_norm2 by -alpha");
      EXPECT_TRUE(same_bits(host_values(xx), host_values(xx_known)));
      EXPECT_TRUE(same_bits(host_values(alpha), host_values(known_alpha)));
      const auto known_beta = numbers(ratio(xx_known, known_alpha) * known_omega);
      const auto beta = ratio(xx, alpha) * omega;
      bicgstab_step(x, y, z, alpha, omega, beta, v, w);
      bicgstab_step(x_known, y_known, z_known, known_alpha, known_omega, known_beta, v, w);
      same("bicgstab_step by alpha, omega and beta");
      EXPECT_TRUE(same_bits(host_values(omega), host_values(known_omega)));
      EXPECT_TRUE(same_bits(host_values(beta), host_values(known_beta)));
      bicgstab_direction(x, u, beta * omega, omega, v);
      bicgstab_direction(x_known, u, numbers(known_beta * known_omega), known_omega, v);
      same("bicgstab_direction by an expression and a number");
      const auto both = alpha - omega;
      axpy_pair(y, both, u, both, v);
      axpy_pair(y_known, numbers(known_alpha - known_omega), u, numbers(known_alpha - known_omega), v);
      same("axpy_pair by one expression twice");
      scale(x, both), scale(x_known, numbers(known_alpha - known_omega));
      same("scale by what has been worked out");
    }
}

TYPED_TEST(Blas, CoefficientsMayNeedSumsThatNobodyHasSeenYet) {
  using T = TypeParam;
  // Expressions of sums that are needed at once, before anything else is queued, may be computed by the kernel of the
  // sums. Of sums and expressions that are dropped meanwhile, no other memory is touched.
  for (const auto& [spins, colours] : {std::pair{4, 3}, std::pair{2, 3}})
    for (const int columns : {1, 3, 40}) {
      SCOPED_TRACE(describe(irregular, {spins, colours, site_subset::full, columns}));
      const auto [u, v, w] = three_fields<T>(spins, colours, columns, 91);
      const auto chain = [&](gpu::field<T>& x, gpu::field<T>& y, const auto& settled) {
        auto z = like(u);
        copy(x, w), copy(y, u), copy(z, v);
        for (int step = 0; step < 5; ++step) {
          const auto uv = dot(u, v), xx = norm2(x);
          const auto alpha = settled(ratio(uv, xx));  // of the sum before the last one too
          axpy(x, alpha, v);
          const auto [vx, ss] = axpy_dot_norm2(x, settled(-alpha), u, v);
          const auto [xu, uu] = dot_norm2(u, x);
          const auto omega = settled(ratio(xu, uu)), rho = settled(-(omega * vx));
          const auto yy = bicgstab_step(y, x, z, settled(alpha * alpha), omega, settled(ratio(rho, ss) * alpha), v, w);
          const auto beta = settled(ratio(xu, yy)), gamma = settled(conj(beta) * ratio(uv, uu));
          bicgstab_direction(y, x, beta, gamma, v);
          (void)axpy_norm2(x, settled(ratio(gamma, beta)), w);  // dropped
          axpy(y, settled(ratio(norm2(v), xx) - beta), z);
        }
      };
      auto x = like(u), y = like(u), x_known = like(u), y_known = like(u);
      chain(x, y, [](const gpu::scalars& s) { return s; });
      chain(x_known, y_known, [&](const gpu::scalars& s) { return make_scalars(u, host_values(s)); });
      for (int c = 0; c < columns; ++c) {
        ASSERT_TRUE(same_bits(gpu::column_numbers(x, c), gpu::column_numbers(x_known, c))) << c;
        ASSERT_TRUE(same_bits(gpu::column_numbers(y, c), gpu::column_numbers(y_known, c))) << c;
      }
    }
}

TYPED_TEST(Blas, OperationsOnAViewLeaveTheOtherColumnsAlone) {
  using T = TypeParam;
  const twin_machines<T> machines({2, 4, 6, 10});
  for (const auto& [spins, colours] : {std::pair{4, 3}, std::pair{2, 3}, std::pair{2, 7}}) {
    const field_shape shape{spins, colours, site_subset::full, 5};
    auto x = twins<T>(machines, shape, 51).on_gpu;
    const auto u = twins<T>(machines, shape, 52).on_gpu;
    std::vector<site_numbers> before;
    for (int c = 0; c < 5; ++c) before.push_back(gpu::column_numbers(x, c));
    auto middle = view(x, 1, 3);
    ASSERT_EQ(middle.columns(), 3);
    for (int c = 0; c < 3; ++c)
      EXPECT_TRUE(same_bits(gpu::column_numbers(middle, c), before[static_cast<std::size_t>(c) + 1]));
    copy(middle, view(u, 2, 3));
    for (int c = 0; c < 3; ++c) EXPECT_TRUE(same_bits(gpu::column_numbers(x, c + 1), gpu::column_numbers(u, c + 2)));
    auto one = view(middle, 1, 1);
    axpy(one, make_scalars(one, std::vector<complex<double>>{{2.0, -1.0}}), view(u, 0, 1));
    EXPECT_FALSE(same_bits(gpu::column_numbers(x, 2), gpu::column_numbers(u, 3)));
    zero(one);
    EXPECT_EQ(host_values(norm2(x))[2].re, 0.0);
    EXPECT_TRUE(same_bits(gpu::column_numbers(x, 0), before[0]));
    EXPECT_TRUE(same_bits(gpu::column_numbers(x, 1), gpu::column_numbers(u, 2)));
    EXPECT_TRUE(same_bits(gpu::column_numbers(x, 3), gpu::column_numbers(u, 4)));
    EXPECT_TRUE(same_bits(gpu::column_numbers(x, 4), before[4]));
  }
}

TYPED_TEST(Blas, OneParityIsAPartOfTheFullField) {
  using T = TypeParam;
  for (const extents& lattice : {extents{2, 4, 6, 10}, extents{4, 4, 4, 4}}) {
    const twin_machines<T> machines(lattice);
    auto x = twins<T>(machines, {4, 3, site_subset::full, 3}, 61).on_gpu;
    const double all = host_values(norm2(x))[1].re, even = host_values(norm2(x.parity(0)))[1].re,
                 odd = host_values(norm2(x.parity(1)))[1].re;
    EXPECT_TRUE(std::abs(all - even - odd) <= 1e-14 * all);
    EXPECT_GT(even, 0.0);
    auto odd_sites = x.parity(1);
    zero(odd_sites);
    EXPECT_EQ(host_values(norm2(x.parity(0)))[1].re, even);
    EXPECT_EQ(host_values(norm2(x.parity(1)))[1].re, 0.0);
    auto part = view(x, 1, 2).parity(0);
    zero(part);
    EXPECT_EQ(host_values(norm2(x))[1].re, 0.0);
    EXPECT_GT(host_values(norm2(x))[0].re, 0.0);
  }
}

TYPED_TEST(Blas, SumsOfALargeLatticeAreThoseOfItsParities) {
  using T = TypeParam;
  // Large enough that a thread takes two sites if an operation reads little: sites of one parity are too few for that.
  const lattice_geometry geometry({16, 16, 32, 64});
  const gpu::context ctx(geometry, communicator());
  const field_shape shape{1, 1, site_subset::full, 1};
  gpu::field<T> u(ctx, shape), v(ctx, shape);
  std::vector<complex<double>> numbers(sites_of(geometry, shape));
  std::uint64_t seed = 81;
  for (gpu::field<T>* x : {&u, &v}) {
    random_stream random(seed++, 0, 0);
    for (complex<double>& z : numbers) z = {1.0 + random.uniform(), 2.0 - random.uniform()};
    gpu::set_column_numbers(*x, 0, numbers);
  }
  const auto sums_of = [](const gpu::field<T>& p, const gpu::field<T>& q) {
    const auto [pq, pp] = dot_norm2(p, q);
    return std::array{host_values(norm2(p))[0], host_values(dot(p, q))[0], host_values(pq)[0], host_values(pp)[0]};
  };
  const auto all = sums_of(u, v), even = sums_of(u.parity(0), v.parity(0)), odd = sums_of(u.parity(1), v.parity(1));
  // 2^20 positive terms, each with some thirty roundings of 2^-53 on its way
  for (std::size_t k = 0; k < all.size(); ++k)
    EXPECT_TRUE(std::abs(all[k].re - even[k].re - odd[k].re) <= 32.0 * 0x1p-53 * all[0].re &&
                std::abs(all[k].im - even[k].im - odd[k].im) <= 32.0 * 0x1p-53 * all[0].re)
        << k;
  EXPECT_GT(even[0].re, 0.4 * all[0].re);
}

TEST(ProductsOfIntegers, AreExactWhateverTheIntegers) {
  random_stream random(91, 0, 0);
  const auto integer = [&](int k) {  // the largest ones and zero among any
    const std::int64_t any = static_cast<std::int64_t>(random.bits() % 65535) - 32767;
    return k % 7 == 0 ? 32767 : k % 7 == 1 ? -32767 : k % 7 == 2 ? 0 : any;
  };
  gpu::sum_of_products found_re, im_plus, im_minus, squares;
  std::int64_t re = 0, im = 0, norm = 0;
  for (int k = 0; k < 400; ++k) {
    gpu::chunk l, r;
    for (int n = 0; n < 4; ++n) {
      const std::int64_t lr = integer(random.bits() % 8), li = integer(random.bits() % 8),
                         rr = integer(random.bits() % 8), ri = integer(random.bits() % 8);
      const auto word = [](std::int64_t p, std::int64_t q) {
        return static_cast<std::uint32_t>(p + 32768) | static_cast<std::uint32_t>(q + 32768) << 16;
      };
      l.word[n] = word(lr, li), r.word[n] = word(rr, ri);
      re += lr * rr + li * ri, im += lr * ri - li * rr, norm += lr * lr + li * li;
    }
    const gpu::bytes_of_integers p(l), q(r);
    found_re.add(p.re_high, p.re_low, q.re_high, q.re_low);
    found_re.add(p.im_high, p.im_low, q.im_high, q.im_low);
    im_plus.add(p.re_high, p.re_low, q.im_high, q.im_low);
    im_minus.add(p.im_high, p.im_low, q.re_high, q.re_low);
    squares.add_squares(p.re_high, p.re_low);
    squares.add_squares(p.im_high, p.im_low);
    ASSERT_EQ(found_re.value(), static_cast<double>(re));
    ASSERT_EQ(im_plus.value() - im_minus.value(), static_cast<double>(im));
    ASSERT_EQ(squares.value_of_squares(), static_cast<double>(norm));
  }
}

TYPED_TEST(Blas, NaNIsSeenInSums) {
  using T = TypeParam;
  const twin_machines<T> machines({4, 4, 4, 4});
  const field_shape shape{4, 3, site_subset::even, 2};
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    auto x = twins<T>(machines, shape, 71).on_gpu;
    auto numbers = random_numbers(sites_of(machines.geometry, shape), 12, 72, 0);
    numbers[137].im = bad;
    gpu::set_column_numbers(x, 1, numbers);
    const auto norms = host_values(norm2(x));
    EXPECT_TRUE(std::isfinite(norms[0].re));
    EXPECT_FALSE(std::isfinite(norms[1].re));
    auto made = like(x);  // and when a kernel makes it
    zero(made);
    axpy(made, make_scalars(made, std::vector<complex<double>>{{1, 0}, {1, 0}}), x);
    EXPECT_TRUE(std::isfinite(host_values(norm2(made))[0].re));
    EXPECT_FALSE(std::isfinite(host_values(norm2(made))[1].re));
  }
}

TEST(BlasOfTheDevice, RefusesFieldsAndScalarsOfOtherShapes) {
  const twin_machines<float> machines({4, 4, 4, 4});
  gpu::field<float> x(machines.gpu, {4, 3, site_subset::even, 2}), y(machines.gpu, {4, 3, site_subset::odd, 2}),
      z(machines.gpu, {4, 3, site_subset::even, 3});
  const auto two = make_scalars(x, std::vector<complex<double>>(2)),
             three = make_scalars(z, std::vector<complex<double>>(3));
  EXPECT_THROW(axpy(x, two, y), std::logic_error);
  EXPECT_THROW(axpy(x, two, z), std::logic_error);
  EXPECT_THROW(scale(x, three), std::logic_error);
  EXPECT_THROW(copy(x, y), std::logic_error);
  EXPECT_THROW(make_scalars(x, std::vector<complex<double>>(3)), std::logic_error);
}

}  // namespace
}  // namespace plaquette::validation
