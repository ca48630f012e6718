// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Polynomials of the red-black system by two columns an instruction, against the CPU in double.
#include "gpu/dirac/duo_polynomial.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "common/krylov/batch.hpp"
#include "common/krylov/relaxation.hpp"
#include "validation/gpu-vs-cpu/dirac/dirac_support.hpp"

namespace plaquette::validation {
namespace {

/// Returns the c of sum_j c_j A^j = (1 - (1 - A / a)^n) / A, which relaxes as n steps of Richardson's method do.
std::vector<double> richardson(int n, double a) {
  std::vector<double> c;
  double binomial = n;
  for (int j = 1; j <= n; ++j) {
    c.push_back((j % 2 == 1 ? binomial : -binomial) / std::pow(a, j));
    binomial = binomial * (n - j) / (j + 1);
  }
  return c;
}

struct both_systems {
  lattice_geometry geometry;
  cpu::context host_ctx{geometry, communicator(), 2};
  gpu::context ctx = device_context(geometry);
  fermion_action action = fermion_action::isotropic(-0.3, 1.7);
  std::unique_ptr<cpu::schur_wilson_clover<double>> host;
  std::unique_ptr<gpu::schur_wilson_clover<half>> device;

  both_systems(const extents& lattice, std::uint64_t seed) : geometry(lattice) {
    action.boundary_phase[3] = {-1.0, 0.0};
    const auto links = cpu::weak_field_configuration(geometry, 0.3, seed, communicator());
    host = std::make_unique<cpu::schur_wilson_clover<double>>(
        std::make_shared<const cpu::wilson_clover<double>>(host_ctx, links, action), schur_kind::asymmetric);
    device = std::make_unique<gpu::schur_wilson_clover<half>>(
        std::make_shared<const gpu::wilson_clover<half>>(ctx, links, action, reconstruct::twelve),
        schur_kind::asymmetric);
  }
  /// Returns p(A) r.
  cpu::field<double> on_host(const std::vector<double>& c, const cpu::field<double>& r) const {
    auto sum = like(r), power = like(r), next = like(r);
    zero(sum), copy(power, r);
    for (const double number : c) {
      axpy(sum, uniform_scalars(sum, number), power);
      host->apply(next, power);
      copy(power, next);
    }
    return sum;
  }
  /// Returns the same by duos, of as many columns as r has or more.
  gpu::field<half> on_device(const std::vector<double>& c, const gpu::field<half>& r, int widest) const {
    auto x = like(r);
    zero(x);
    gpu::duo_polynomial(*device, widest, c).add_to(x, r, norm2(r));
    return x;
  }
};

/// Each of six steps rounds to 11 bits some ten times: 6 sqrt(10) 2^-12 = 5e-3, where each error stays as long as the
/// result. Links and blocks are right to 1e-3. Seen: 2.6e-3.
constexpr double tolerance = 5e-3;

TEST(DuoPolynomial, IsThatOfTheCpuToThreeDigits) {
  struct problem {
    extents lattice;
    int columns, widest, steps;
  };
  std::uint64_t seed = 900;
  for (const problem& p : {problem{{4, 6, 2, 8}, 5, 6, 7}, {{2, 6, 10, 2}, 2, 2, 6}, {{8, 4, 4, 2}, 3, 3, 2}}) {
    const both_systems system(p.lattice, ++seed);
    const columns_on_both<half> r(system.host_ctx, system.ctx, p.columns, ++seed);
    auto c = richardson(p.steps, system.action.diagonal());
    for (double& number : c) number *= 1.0 + 0.1 * std::sin(static_cast<double>(++seed));
    const double distance =
        worst_distance(system.on_device(c, r.device.parity(0), p.widest), system.on_host(c, r.host.parity(0)));
    EXPECT_TRUE(distance <= tolerance) << distance << " " << to_string(p.lattice);
  }
}

/// A relaxation takes it, adds to the field, and does not change columns of zeros and of NaN.
TEST(DuoPolynomial, RelaxesColumnsOfAnyLength) {
  const both_systems system({4, 4, 2, 4}, 5);
  const columns_on_both<half> r(system.host_ctx, system.ctx, 4, 6);
  const auto c = richardson(5, system.action.diagonal());
  auto b = system.device->even_like(r.device), x = like(b);
  const std::vector<complex<double>> sizes{{0.0, 0.0}, {1e-12, 0.0}, {1e9, 0.0}, {1.0, 0.0}};
  copy(b, r.device.parity(0));
  scale(b, make_scalars(b, std::span<const complex<double>>(sizes)));
  const auto relaxation = polynomial_relaxation(*system.device, b, c);
  poison(x);
  relaxation.solve(x, b);
  const auto expected = system.on_host(c, r.host.parity(0));
  const auto found = host_values(norm2(x)), of_host = host_values(norm2(expected));
  for (std::size_t k = 0; k < sizes.size(); ++k)
    EXPECT_NEAR(std::sqrt(found[k].re), sizes[k].re * std::sqrt(of_host[k].re),
                tolerance * sizes[k].re * std::sqrt(of_host[k].re));

  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<complex<double>> one_nan{{1.0, 0.0}, {1.0, 0.0}, {nan, 0.0}, {1.0, 0.0}};
  scale(b, make_scalars(b, std::span<const complex<double>>(one_nan)));
  relaxation.solve(x, b);
  const auto with_nan = host_values(norm2(x));
  EXPECT_TRUE(std::isnan(with_nan[2].re));
  for (const std::size_t k : {0U, 1U, 3U}) EXPECT_EQ(with_nan[k].re, found[k].re);
}

TEST(DuoPolynomial, ServesBatchesOfTheAsymmetricSystemWithClover) {
  const both_systems system({4, 4, 2, 4}, 5);
  using polynomial = gpu::duo_polynomial;
  EXPECT_TRUE(polynomial::serves(*system.device, 2));
  EXPECT_FALSE(polynomial::serves(*system.device, 1));
  const auto unit = gpu::unit_configuration(system.ctx);
  const auto serves = [&](const fermion_action& action, reconstruct stored, schur_kind kind) {
    const auto full = std::make_shared<const gpu::wilson_clover<half>>(system.ctx, unit, action, stored);
    return polynomial::serves(gpu::schur_wilson_clover<half>(full, kind), 4);
  };
  fermion_action twisted = system.action;
  twisted.boundary_phase[1] = {0.0, 1.0};
  EXPECT_FALSE(serves(twisted, reconstruct::twelve, schur_kind::asymmetric));
  EXPECT_FALSE(serves(system.action, reconstruct::twelve, schur_kind::symmetric));
  EXPECT_FALSE(serves(system.action, reconstruct::none, schur_kind::asymmetric));
  EXPECT_FALSE(serves(fermion_action::isotropic(-0.3, 0.0), reconstruct::twelve, schur_kind::asymmetric));
}

}  // namespace
}  // namespace plaquette::validation
