// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Polynomials of the red-black system by two columns an instruction, against the CPU in double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "common/algorithms/batch.hpp"
#include "gpu/dirac/twin_polynomial.hpp"
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
  cpu::context host_ctx;
  gpu::context ctx;
  fermion_action action = fermion_action::isotropic(-0.3, 1.7);
  cpu::schur_wilson_clover<double> host;
  gpu::schur_wilson_clover<half> device;

  both_systems(const extents& lattice, reconstruct stored, std::uint64_t seed)
      : geometry(lattice),
        host_ctx(geometry, communicator(), 2),
        ctx(device_context(geometry)),
        host(make_host(seed), schur_kind::asymmetric),
        device(std::make_shared<const gpu::wilson_clover<half>>(ctx, links(seed), action, stored),
               schur_kind::asymmetric) {
    action.boundary_phase[3] = {-1.0, 0.0};
  }
  gauge_configuration links(std::uint64_t seed) const {
    return cpu::weak_field_configuration(geometry, 0.3, seed, communicator());
  }
  std::shared_ptr<const cpu::wilson_clover<double>> make_host(std::uint64_t seed) {
    action.boundary_phase[3] = {-1.0, 0.0};
    return std::make_shared<const cpu::wilson_clover<double>>(host_ctx, links(seed), action);
  }
  /// Returns r + p(A) r.
  cpu::field<double> expected(const std::vector<double>& c, const cpu::field<double>& r) const {
    auto sum = like(r), power = like(r), next = like(r);
    copy(sum, r), copy(power, r);
    for (const double number : c) {
      axpy(sum, uniform_scalars(sum, number), power);
      host.apply(next, power);
      copy(power, next);
    }
    return sum;
  }
};

TEST(TwinPolynomial, IsThatOfTheCpuToThreeDigits) {
  std::uint64_t seed = 900;
  double worst = 0.0;
  for (const extents& lattice : {extents{4, 6, 2, 8}, extents{8, 4, 4, 6}, extents{2, 6, 10, 2}})
    for (const reconstruct stored : {reconstruct::twelve, reconstruct::none})
      for (const int columns : {2, 5}) {
        const both_systems system(lattice, stored, ++seed);
        const columns_on_both<half> r(system.host_ctx, system.ctx, columns, ++seed);
        const auto c = richardson(7, system.action.diagonal());
        auto x = system.device.even_like(r.device);
        copy(x, r.device.parity(0));
        ASSERT_TRUE(gpu::twin_polynomial::serves(system.device, columns));
        const gpu::twin_polynomial p(system.device, columns + 1, c);
        p.add_to(x, r.device.parity(0), norm2(r.device.parity(0)));
        const double distance = worst_distance(x, system.expected(c, r.host.parity(0)));
        worst = std::max(worst, distance);
        EXPECT_TRUE(distance <= 2e-3) << distance << " " << to_string(lattice) << " columns " << columns;
      }
  RecordProperty("worst_distance", std::to_string(worst));
  std::printf("worst %g\n", worst);
}

}  // namespace
}  // namespace plaquette::validation
