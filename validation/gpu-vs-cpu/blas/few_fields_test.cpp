// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Operations on a few fields at once, fused in the CUDA library, against the CPU library, which makes them of vector
/// operations.
#include "common/krylov/few_fields.hpp"

#include <gtest/gtest.h>

#include "common/krylov/precision.hpp"
#include "validation/gpu-vs-cpu/support/twin_fields.hpp"

namespace plaquette::validation {
namespace {

struct few_fields_case {
  extents lattice;
  field_shape shape;
  int fields;
};
/// Padded blocks, every subset, 6 and 12 numbers a site; more fields than one kernel takes.
const few_fields_case cases[] = {{{2, 2, 2, 2}, {4, 3, site_subset::full, 1}, 1},
                                 {{4, 6, 2, 4}, {4, 3, site_subset::even, 5}, 6},
                                 {{2, 2, 6, 6}, {4, 3, site_subset::odd, 4}, 3},
                                 {{4, 2, 2, 6}, {2, 3, site_subset::full, 3}, 8},
                                 {{4, 2, 2, 6}, {4, 3, site_subset::even, 2}, 11}};

/// The same fields in both libraries.
template <class T>
struct twin_list {
  std::vector<cpu::field<T>> on_cpu;
  std::vector<gpu::field<T>> on_gpu;

  twin_list(const twin_machines<T>& machines, const field_shape& shape, int count, std::uint64_t seed) {
    for (int k = 0; k < count; ++k) {
      const twins<T> one(machines, shape, seed + static_cast<std::uint64_t>(k));
      on_cpu.push_back(one.on_cpu);
      on_gpu.push_back(one.on_gpu);
    }
  }
  std::span<const cpu::field<T>> of(const cpu::field<T>&) const { return on_cpu; }
  std::span<const gpu::field<T>> of(const gpu::field<T>&) const { return on_gpu; }
};

template <class S>
std::vector<std::vector<complex<double>>> values_of(const std::vector<S>& handles) {
  std::vector<std::vector<complex<double>>> values;
  for (const S& one : handles) values.push_back(host_values(one));
  return values;
}
using number_lists = std::vector<std::vector<complex<double>>>;

void expect_near(const number_lists& found, const number_lists& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k)
    for (std::size_t c = 0; c < expected[k].size(); ++c) {
      EXPECT_TRUE(std::abs(found[k][c].re - expected[k][c].re) <= tolerance)
          << k << " " << c << ": " << found[k][c].re << " " << expected[k][c].re;
      EXPECT_TRUE(std::abs(found[k][c].im - expected[k][c].im) <= tolerance)
          << k << " " << c << ": " << found[k][c].im << " " << expected[k][c].im;
    }
}

/// Numbers of every precision, one list a field.
template <class Field>
std::vector<typename Field::scalars> some_scalars(const Field& x, int count) {
  std::vector<typename Field::scalars> handles;
  for (int k = 0; k < count; ++k) {
    std::vector<complex<double>> numbers;
    for (int c = 0; c < x.columns(); ++c) numbers.push_back({0.25 * k - 0.5, 0.125 * c - 0.25 * k});
    handles.push_back(make_scalars(x, std::span<const complex<double>>(numbers)));
  }
  return handles;
}

template <class T>
struct FewFields : testing::Test {
  /// Rounding of both libraries' stored numbers, as a share of the sum of magnitudes; sums are double.
  static constexpr double unit = 8.0 * unit_of<T>;
};
using precisions = testing::Types<half, float, double>;
TYPED_TEST_SUITE(FewFields, precisions);

TYPED_TEST(FewFields, CoefficientsAreThoseOfTheCpu) {
  using T = TypeParam;
  for (const auto& [lattice, shape, fields] : cases) {
    SCOPED_TRACE(fields);
    const twin_machines<T> machines(lattice);
    const twin_list<T> v(machines, shape, fields, 10);
    const twins<T> w(machines, shape, 99);
    const auto found = [&](const auto& of_w) {
      using Field = std::remove_cvref_t<decltype(of_w)>;
      std::vector<typename Field::scalars> norms;
      for (const Field& one : v.of(of_w)) norms.push_back(norm2(one));
      norms.back() = norms.back() - norms.back();  // a direction that is not used
      std::vector<complex<double>> chosen(static_cast<std::size_t>(shape.columns), {1.0, 0.0});
      chosen.back() = {};
      const auto mask = make_scalars(of_w, std::span<const complex<double>>(chosen));
      return values_of(coefficients_along(v.of(of_w), std::span<const typename Field::scalars>(norms), of_w, mask));
    };
    const number_lists here = found(w.on_gpu);
    expect_near(here, found(w.on_cpu), this->unit);
    for (const auto& numbers : here) EXPECT_EQ(numbers.back(), complex<double>{});
    for (const auto& number : here.back()) EXPECT_EQ(number, complex<double>{});
  }
}

TYPED_TEST(FewFields, LeastSquaresAreThoseOfTheCpu) {
  using T = TypeParam;
  for (const auto& [lattice, shape, fields] : cases) {
    SCOPED_TRACE(fields);
    const twin_machines<T> machines(lattice);
    twin_list<T> v(machines, shape, fields, 10);
    const twins<T> r(machines, shape, 99);
    constexpr double rounding = 16.0 * unit_roundoff(precision_of<gpu::field<T>>);
    const auto found = [&](const auto& of_r) { return values_of(least_squares(v.of(of_r), of_r, rounding)); };
    const number_lists here = found(r.on_gpu);
    expect_near(here, found(r.on_cpu), 100.0 * this->unit);

    // The remainder is orthogonal to all: in double to rounding, in other precisions as far as coefficients are
    // rounded.
    gpu::field<T> left = like(r.on_gpu);
    copy(left, r.on_gpu);
    const auto c = least_squares(v.of(left), r.on_gpu, rounding);
    subtract_combination(left, std::span<const gpu::scalars>(c), v.of(left));
    const auto size = host_values(norm2(r.on_gpu));
    for (const auto& one : v.on_gpu) {
      const auto product = host_values(dot(one, left)), length = host_values(norm2(one));
      for (std::size_t n = 0; n < product.size(); ++n)
        EXPECT_LE(std::hypot(product[n].re, product[n].im), 100.0 * this->unit * std::sqrt(size[n].re * length[n].re));
    }

    // A field that another one repeats gets nothing.
    if (fields < 2) continue;
    copy(v.on_gpu.back(), v.on_gpu.front());
    const number_lists again = values_of(least_squares(v.of(left), r.on_gpu, rounding));
    for (const auto& number : again.back()) EXPECT_EQ(number, complex<double>{});
  }
}

TYPED_TEST(FewFields, CombinationsAreThoseOfTheCpu) {
  using T = TypeParam;
  for (const auto& [lattice, shape, fields] : cases) {
    SCOPED_TRACE(fields);
    const twin_machines<T> machines(lattice);
    const twin_list<T> v(machines, shape, fields, 10);
    const twins<T> x(machines, shape, 98), w(machines, shape, 99);
    const auto combined = [&](auto y, const auto& of_w, int which) {
      using Field = std::remove_cvref_t<decltype(of_w)>;
      const auto c = some_scalars(of_w, fields);
      const std::span<const typename Field::scalars> by(c);
      number_lists sums;
      if (which == 0) add_combination(y, by, v.of(of_w));
      if (which == 1) subtract_combination(y, by, v.of(of_w));
      if (which == 2) {
        const auto [product, norm] = subtract_combination_dot_norm2(y, by, v.of(of_w), of_w);
        sums = values_of(std::vector{product, norm});
      }
      return std::pair(y, sums);
    };
    for (int which = 0; which < 3; ++which) {
      gpu::field<T> on_gpu = like(x.on_gpu);
      cpu::field<T> on_cpu = like(x.on_cpu);
      copy(on_gpu, x.on_gpu);
      copy(on_cpu, x.on_cpu);
      const auto [found, found_sums] = combined(on_gpu, w.on_gpu, which);
      const auto [expected, expected_sums] = combined(on_cpu, w.on_cpu, which);
      for (int c = 0; c < shape.columns; ++c) {
        const site_numbers a = numbers_of(found, c), b = numbers_of(expected, c);
        double difference = 0.0, size = 0.0;
        for (std::size_t i = 0; i < a.size(); ++i) difference += norm2(a[i] - b[i]), size += norm2(b[i]);
        EXPECT_LE(std::sqrt(difference / size), fields * this->unit) << "column " << c;
        if (which < 2) continue;
        const double of_w = host_values(norm2(w.on_cpu))[static_cast<std::size_t>(c)].re;
        const auto n = static_cast<std::size_t>(c);
        for (std::size_t k = 0; k < 2; ++k)
          EXPECT_LE(std::sqrt(norm2(found_sums[k][n] - expected_sums[k][n])),
                    fields * this->unit * (k == 0 ? std::sqrt(of_w * size) : size));
      }
    }
  }
}

}  // namespace
}  // namespace plaquette::validation
