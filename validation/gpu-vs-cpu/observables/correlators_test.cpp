// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Correlators of the CUDA library against the CPU library's.
#include "gpu/observables/correlators.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "common/error.hpp"
#include "cpu_ref/observables/correlators.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/fields/random_spinor.hpp"
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

TEST(GpuCorrelators, OfTheTwoKindsOfPionAgree) {
  const propagators s({4, 6, 2, 8}, 3);
  const auto pion = gpu::pion_correlator(s.on_gpu);
  expect_agreement(gpu::meson_correlator(s.on_gpu, gamma_matrix(4)), pion, pion, {4, 6, 2, 8}, "pion");
}

TEST(GpuCorrelators, HaveTheSameBitsEveryTime) {
  const propagators s({6, 6, 6, 6}, 4);
  const auto first = gpu::rho_correlator(s.on_gpu);
  for (int n = 0; n < 3; ++n) EXPECT_EQ(gpu::rho_correlator(s.on_gpu), first);
}

TEST(GpuCorrelators, ShowANaNInItsTimeSlice) {
  propagators s({4, 4, 2, 6}, 5);
  s.on_cpu[7]({1, 2, 0, 4})(2, 1).re = std::numeric_limits<double>::quiet_NaN();
  import_column(s.on_gpu, 7, s.on_cpu[7]);
  const auto pion = gpu::pion_correlator(s.on_gpu), rho = gpu::rho_correlator(s.on_gpu);
  for (std::size_t t = 0; t < pion.size(); ++t) {
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
  EXPECT_NO_THROW(gpu::meson_correlator(good, gamma_matrix(0)));
}

}  // namespace
}  // namespace plaquette::validation
