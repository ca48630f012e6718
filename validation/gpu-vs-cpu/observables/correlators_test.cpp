// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Correlators of the CUDA library against the CPU library's.
#include "gpu/observables/correlators.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>

#include "common/error.hpp"
#include "cpu_ref/observables/baryons.hpp"
#include "cpu_ref/observables/correlators.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/observables/baryons.hpp"
#include "validation/gpu-vs-cpu/support/gauge_twins.hpp"

namespace plaquette::validation {
namespace {

const communicator alone;

struct propagators {
  cpu::propagator on_cpu;
  gpu::field<double> on_gpu;

  propagators(const extents& lattice, std::uint64_t seed)
      : on_gpu(gpu_context(lattice), {4, 3, site_subset::full, 12}) {
    for (int c = 0; c < 12; ++c) {
      on_cpu.push_back(cpu::random_spinor(lattice_geometry(lattice), seed, static_cast<std::uint64_t>(c), alone));
      import_column(on_gpu, c, on_cpu.back());
    }
  }
};

/// Every sum is one of products whose magnitudes add up to the pion's at most (Cauchy and Schwarz). Each product has
/// some 30 roundings, including two rotations of the basis. Errors of sums over a slice, added in any order, are
/// independent: 3 sqrt(numbers) besides.
void expect_agreement(const std::vector<double>& found, const std::vector<double>& expected,
                      const std::vector<double>& pion, const extents& lattice, const std::string& what) {
  const double numbers = 288.0 * static_cast<double>(volume(lattice)) / lattice[3];
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t t = 0; t < found.size(); ++t)
    EXPECT_TRUE(std::abs(found[t] - expected[t]) <= (30 + 3 * std::sqrt(numbers)) * unit_roundoff * pion[t])
        << what << " at " << t << ": " << found[t] << " and not " << expected[t];
}

/// A norm's kernel waits for the use of its number. Sums that the host wants at once, in a context that has made none
/// yet, come before it or after, with fewer columns and with more.
TEST(GpuCorrelators, LeaveSumsAloneThatAreHeldBack) {
  for (const extents& lattice : {extents{4, 4, 4, 4}, extents{2, 2, 2, 128}, extents{8, 8, 8, 4}})
    for (const int columns : {1, 12}) {
      const propagators s(lattice, 3);
      const gpu::context fresh(lattice_geometry(lattice), alone);
      gpu::field<double> x(fresh, {4, 3, site_subset::full, 12});
      for (int c = 0; c < 12; ++c) import_column(x, c, s.on_cpu[static_cast<std::size_t>(c)]);
      const auto norms = norm2(view(x, 0, columns));
      const auto pion = gpu::pion_correlator(x);
      const auto expected = cpu::pion_correlator(s.on_cpu, alone);
      expect_agreement(pion, expected, expected, lattice, "pion");
      const auto found = host_values(norms);
      for (int c = 0; c < columns; ++c) {
        const auto& column = s.on_cpu[static_cast<std::size_t>(c)];
        double norm = 0.0;
        for (std::int64_t site = 0; site < column.geometry().local_volume(); ++site)
          norm += norm2(column(column.geometry().local_coordinate(site)));
        EXPECT_NEAR(found[static_cast<std::size_t>(c)].re, norm, 1e-13 * norm) << c << " of " << columns;
      }
    }
}

TEST(GpuCorrelators, AreTheCpus) {
  for (const extents& lattice : gauge_lattices)
    for (std::uint64_t seed : {1, 2}) {
      const propagators s(lattice, seed);
      const auto pion = cpu::pion_correlator(s.on_cpu, alone);
      expect_agreement(gpu::pion_correlator(s.on_gpu), pion, pion, lattice, "pion");
      expect_agreement(gpu::rho_correlator(s.on_gpu), cpu::rho_correlator(s.on_cpu, alone), pion, lattice, "rho");
      for (int mu = 0; mu <= 4; ++mu) {
        const spin_matrix gamma = gamma_matrix(mu), axial = gamma * gamma_matrix(4), tensor = gamma * gamma_matrix(0);
        for (const spin_matrix& m : {gamma, axial, tensor})
          expect_agreement(gpu::meson_correlator(s.on_gpu, m), cpu::meson_correlator(s.on_cpu, m, alone), pion, lattice,
                           "meson " + std::to_string(mu));
      }
    }
}

/// Zero, one direction, and numbers beyond the extents.
constexpr lattice_momentum momenta[] = {{0, 0, 0}, {1, 0, 0}, {0, -1, 2}, {3, 5, -7}};
/// Extents 2 and slices of odd numbers of 32-site blocks among them.
const extents lattices_with_slices[] = {{2, 2, 2, 2}, {4, 2, 6, 4}, {6, 4, 2, 10}};

/// Returns gamma_x^a gamma_y^b gamma_z^c gamma_t^d for n = a + 2 b + 4 c + 8 d.
spin_matrix gamma_product(int n) {
  spin_matrix product = spin_matrix::identity();
  for (int mu = 0; mu < 4; ++mu)
    if ((n >> mu & 1) != 0) product = product * gamma_matrix(mu);
  return product;
}

/// \param sizes       of each slice, the bound of |found|
/// \param tolerance   in units of sizes[t] and of the unit roundoff
void expect_agreement(const std::vector<complex<double>>& found, const std::vector<complex<double>>& expected,
                      const std::vector<double>& sizes, double tolerance, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  ASSERT_EQ(found.size(), sizes.size()) << what;
  for (std::size_t t = 0; t < found.size(); ++t)
    EXPECT_TRUE(std::sqrt(norm2(found[t] - expected[t])) <= tolerance * unit_roundoff * sizes[t])
        << what << " at " << t << ": " << found[t].re << " + i " << found[t].im << " and not " << expected[t].re
        << " + i " << expected[t].im << ", " << std::sqrt(norm2(found[t] - expected[t])) / unit_roundoff / sizes[t]
        << " roundings";
}

/// As above; angles up to 6 pi have errors of some 20 roundings. Signs are random, at the 16 sites of a slice and more
/// and in the 288 products of each: the sum has a few roundings of its size.
TEST(GpuCorrelators, WithMomentaInAllDirectionsAreTheCpus) {
  for (const extents& lattice : lattices_with_slices) {
    const propagators s(lattice, 6);
    for (int direction = 0; direction < 4; ++direction) {
      std::vector<double> sizes;
      for (const auto& sum : cpu::momentum_correlator(s.on_cpu, gamma_matrix(4), {}, alone, direction))
        sizes.push_back(sum.re);
      for (const lattice_momentum& p : momenta)
        for (int n = 0; n < 16; ++n) {
          const meson_gammas gammas(gamma_product(n), gamma_product((5 * n + direction) % 16));
          expect_agreement(
              gpu::momentum_correlator(s.on_gpu, gammas, p, direction),
              cpu::momentum_correlator(s.on_cpu, gammas, p, alone, direction), sizes, 6,
              to_string(lattice) + ", meson " + std::to_string(n) + ", direction " + std::to_string(direction));
        }
    }
  }
}

TEST(GpuCorrelators, OfANucleonAreTheCpus) {
  for (const extents& lattice : lattices_with_slices) {
    const propagators up(lattice, 7), down(lattice, 8);
    // The magnitudes of a site's terms are together below 4 |S|^3. Signs are random: a tenth is left, with 20
    // roundings.
    std::vector<double> sizes(static_cast<std::size_t>(lattice[3]));
    visit_sites(up.on_cpu.front().geometry(), [&](const coordinate& x) {
      double square = 0.0;
      for (const auto& column : up.on_cpu) square += norm2(column(x));
      sizes[static_cast<std::size_t>(x[3])] += std::pow(square, 1.5);
    });
    for (const lattice_momentum& p : momenta)
      for (const int parity : {1, -1}) {
        const std::string what = to_string(lattice) + ", parity " + std::to_string(parity);
        expect_agreement(gpu::nucleon_correlator(up.on_gpu, up.on_gpu, parity, p),
                         cpu::nucleon_correlator(up.on_cpu, up.on_cpu, parity, p, alone), sizes, 2, what);
        expect_agreement(gpu::nucleon_correlator(up.on_gpu, down.on_gpu, parity, p),
                         cpu::nucleon_correlator(up.on_cpu, down.on_cpu, parity, p, alone), sizes, 2, what + ", d");
      }
  }
}

TEST(GpuCorrelators, OfTheTwoKindsOfPionAgree) {
  const propagators s({4, 6, 2, 8}, 3);
  const auto pion = gpu::pion_correlator(s.on_gpu);
  expect_agreement(gpu::meson_correlator(s.on_gpu, gamma_matrix(4)), pion, pion, {4, 6, 2, 8}, "pion");
}

TEST(GpuCorrelators, HaveTheSameBitsEveryTime) {
  const propagators s({6, 6, 6, 6}, 4);
  const auto first = gpu::rho_correlator(s.on_gpu);
  for (int n = 0; n < 3; ++n) EXPECT_EQ(gpu::rho_correlator(s.on_gpu), first);
  const auto moving = gpu::momentum_correlator(s.on_gpu, gamma_matrix(0), {1, 2, 0}, 1);
  const auto nucleon = gpu::nucleon_correlator(s.on_gpu, s.on_gpu, 1, {0, 1, 0});
  for (int n = 0; n < 3; ++n) {
    EXPECT_EQ(gpu::momentum_correlator(s.on_gpu, gamma_matrix(0), {1, 2, 0}, 1), moving);
    EXPECT_EQ(gpu::nucleon_correlator(s.on_gpu, s.on_gpu, 1, {0, 1, 0}), nucleon);
  }
}

TEST(GpuCorrelators, ShowANaNInItsTimeSlice) {
  propagators s({4, 4, 2, 6}, 5);
  s.on_cpu[7]({1, 2, 0, 4})(2, 1).re = std::numeric_limits<double>::quiet_NaN();
  import_column(s.on_gpu, 7, s.on_cpu[7]);
  const auto pion = gpu::pion_correlator(s.on_gpu), rho = gpu::rho_correlator(s.on_gpu);
  const auto moving = gpu::momentum_correlator(s.on_gpu, gamma_matrix(0), {1, 2, 0});
  const auto nucleon = gpu::nucleon_correlator(s.on_gpu, s.on_gpu, 1, {0, 1, 0});
  for (std::size_t t = 0; t < pion.size(); ++t) {
    EXPECT_EQ(std::isnan(moving[t].re), t == 4);
    EXPECT_EQ(std::isnan(nucleon[t].re), t == 4);
    EXPECT_EQ(std::isnan(pion[t]), t == 4);
    EXPECT_EQ(std::isnan(rho[t]), t == 4);
  }
}

TEST(GpuCorrelators, RefuseWhatIsNoPropagator) {
  const gpu::context ctx = gpu_context({4, 4, 2, 2});
  gpu::field<double> eleven(ctx, {4, 3, site_subset::full, 11}), even(ctx, {4, 3, site_subset::even, 12}),
      good(ctx, {4, 3, site_subset::full, 12});
  gpu::random_spinors(good, 1);
  EXPECT_THROW(gpu::pion_correlator(eleven), input_error);
  EXPECT_THROW(gpu::rho_correlator(even), input_error);
  spin_matrix two_entries = gamma_matrix(0);
  two_entries(0, 0) = {1.0, 0.0};
  EXPECT_THROW(gpu::meson_correlator(good, two_entries), input_error);
  EXPECT_THROW(gpu::momentum_correlator(good, {gamma_matrix(0), two_entries}, {}), input_error);
  EXPECT_THROW(gpu::momentum_correlator(good, {two_entries, gamma_matrix(0)}, {}), input_error);
  EXPECT_THROW(gpu::momentum_correlator(good, gamma_matrix(0), {}, 4), input_error);
  EXPECT_THROW(gpu::momentum_correlator(eleven, gamma_matrix(0), {}), input_error);
  EXPECT_THROW(gpu::nucleon_correlator(good, even, 1, {}), input_error);
  EXPECT_THROW(gpu::nucleon_correlator(good, good, 0, {}), input_error);
  EXPECT_NO_THROW(gpu::meson_correlator(good, gamma_matrix(0)));
}

}  // namespace
}  // namespace plaquette::validation
