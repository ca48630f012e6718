// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/algebra/su3_exponential.hpp"
#include "common/error.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "cpu_ref/gauge/stout.hpp"

namespace plaquette::cpu {
namespace {

constexpr double epsilon = 0x1p-52;
const communicator alone;

double largest_difference(const su3<double>& a, const su3<double>& b) {
  double worst = 0.0;
  for (int i = 0; i < colours; ++i)
    for (int j = 0; j < colours; ++j) {
      const double size = std::sqrt(norm2(a(i, j) - b(i, j)));
      keep_largest(worst, size);
    }
  return worst;
}
double largest_difference(const gauge_configuration& a, const gauge_configuration& b) {
  double worst = 0.0;
  for (std::int64_t site = 0; site < a.geometry().local_volume(); ++site)
    for (int mu = 0; mu < dimensions; ++mu) {
      const double d = largest_difference(a.at_site(site)[mu], b.at_site(site)[mu]);
      keep_largest(worst, d);
    }
  return worst;
}

/// u diag(angles) u^+
su3<double> hermitian_matrix(const su3<double>& u, const std::array<double, 3>& eigenvalues) {
  su3<double> d;
  for (int i = 0; i < colours; ++i) d(i, i).re = eigenvalues[static_cast<std::size_t>(i)];
  return u * d * adjoint(u);
}
su3<double> exponential(const su3<double>& u, const std::array<double, 3>& eigenvalues) {
  su3<double> d;
  for (int i = 0; i < colours; ++i) {
    const double angle = eigenvalues[static_cast<std::size_t>(i)];
    d(i, i) = {std::cos(angle), std::sin(angle)};
  }
  return u * d * adjoint(u);
}

TEST(StoutSmearing, ExponentiatesAMatrixAsItsEigenvaluesSay) {
  const auto frames = random_configuration(lattice_geometry({2, 2, 2, 2}), 1, alone);
  const std::array<double, 3> spectra[] = {{1.0, -0.3, -0.7}, {0.5, 0.5, -1.0},    {-0.5, -0.5, 1.0}, {2.0, 0.0, -2.0},
                                           {0.1, -0.1, 0.0},  {0.05, 0.01, -0.06}, {3.0, -1.0, -2.0}};
  for (const auto& spectrum : spectra)
    for (const double scale : {1.0, 1e-1, 2e-3, 1.2e-3, 1e-3, 1e-4, 1e-8, 0.0})
      for (std::int64_t site = 0; site < 16; ++site) {
        const su3<double>& u = frames.at_site(site)[0];
        std::array<double, 3> angles = spectrum;
        for (double& a : angles) a *= scale;
        // Numbers of size 3 and less in some thirty operations; f_2's error is divided by what Q^2 multiplies it with.
        EXPECT_LE(largest_difference(exponential_of_i_times(hermitian_matrix(u, angles)), exponential(u, angles)),
                  60 * epsilon)
            << spectrum[0] << " times " << scale;
      }
}

TEST(StoutSmearing, ShowsANaN) {
  su3<double> q;
  q(0, 1).im = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(exponential_of_i_times(q)(0, 0).re));
}

/// rho_munu times the staples that run along with U_mu(x), as the paper's figure draws them: C.
su3<double> staples_along(const gauge_configuration& u, const coordinate& x, int mu, const stout_smearing& smearing) {
  su3<double> c;
  for (int nu = 0; nu < dimensions; ++nu) {
    if (nu == mu || (smearing.spatial && nu == 3)) continue;
    const coordinate up = shifted(x, nu, 1), down = shifted(x, nu, -1), ahead = shifted(x, mu, 1);
    c += smearing.rho * (u(x)[nu] * u(up)[mu] * adjoint(u(ahead)[nu]));
    c += smearing.rho * (adjoint(u(down)[nu]) * u(down)[mu] * u(shifted(ahead, nu, -1))[nu]);
  }
  return c;
}

TEST(StoutSmearing, IsTheFormula) {
  const auto links = random_configuration(lattice_geometry({4, 2, 4, 2}), 2, alone);
  for (const bool spatial : {false, true}) {
    const stout_smearing smearing{1, 0.13, spatial};
    const auto found = stout_smeared(links, smearing, alone);
    for (std::int64_t site = 0; site < links.geometry().local_volume(); ++site) {
      const coordinate x = links.geometry().local_coordinate(site);
      for (int mu = 0; mu < dimensions; ++mu) {
        const su3<double>& u = links(x)[mu];
        if (spatial && mu == 3) {
          EXPECT_EQ(found(x)[mu], u);
          continue;
        }
        const su3<double> omega = staples_along(links, x, mu, smearing) * adjoint(u);
        su3<double> q = complex<double>{0.0, 0.5} * (adjoint(omega) - omega);
        const complex<double> third = (1.0 / 3.0) * trace(q);
        for (int i = 0; i < colours; ++i) q(i, i) -= third;
        su3<double> series = su3<double>::identity();
        for (int k = 40; k >= 1; --k) series = su3<double>::identity() + complex<double>{0.0, 1.0 / k} * (q * series);
        EXPECT_LE(largest_difference(found(x)[mu], series * u), 100 * epsilon);
      }
    }
  }
}

TEST(StoutSmearing, IsGaugeCovariant) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const auto links = random_configuration(geometry, 3, alone);
  const auto g = random_gauge_transformation(geometry, 4, alone);
  for (const bool spatial : {false, true}) {
    const stout_smearing smearing{3, 0.1, spatial};
    const auto first = transformed(stout_smeared(links, smearing, alone), g, alone);
    const auto second = stout_smeared(transformed(links, g, alone), smearing, alone);
    // A step multiplies differences by some 1 + 24 rho (of random links) and adds some 100 roundings.
    EXPECT_LE(largest_difference(first, second), 3 * 100 * std::pow(3.4, 3) * epsilon);
  }
}

TEST(StoutSmearing, RaisesThePlaquetteAndStaysInSU3) {
  const lattice_geometry geometry({4, 4, 4, 8});
  const auto links = weak_field_configuration(geometry, 0.3, 5, alone);
  double before = average_plaquette(links, alone);
  for (const int steps : {1, 2, 3, 6}) {
    const auto smeared = stout_smeared(links, {steps, 0.1, false}, alone);
    const double after = average_plaquette(smeared, alone);
    EXPECT_GT(after, before);
    before = after;
    EXPECT_LE(distance_from_su3(smeared, alone), 16 * epsilon);
  }
  const auto spatial = stout_smeared(links, {3, 0.1, true}, alone);
  EXPECT_GT(measure_plaquettes(spatial, alone).spatial, measure_plaquettes(links, alone).spatial);
}

TEST(StoutSmearing, LeavesAConstantFieldAlone) {
  const lattice_geometry geometry({4, 4, 2, 4});
  // Links that commute: diagonal, the same everywhere.
  auto links = unit_configuration(geometry);
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    for (int mu = 0; mu < dimensions; ++mu) {
      const double a = 0.3 + mu, b = 1.1 * mu - 2.0;
      su3<double>& u = links.at_site(site)[mu];
      u(0, 0) = {std::cos(a), std::sin(a)};
      u(1, 1) = {std::cos(b), std::sin(b)};
      u(2, 2) = {std::cos(a + b), -std::sin(a + b)};
    }
  exchange_ghosts(links, alone);
  EXPECT_LE(largest_difference(stout_smeared(links, {5, 0.1, false}, alone), links), 5 * 40 * epsilon);
  EXPECT_LE(largest_difference(stout_smeared(links, {0, 0.1, false}, alone), links), 0.0);
}

TEST(StoutSmearing, RefusesWhatCannotBe) {
  const auto links = unit_configuration(lattice_geometry({2, 2, 2, 2}));
  EXPECT_THROW(stout_smeared(links, {-1, 0.1, false}, alone), input_error);
  EXPECT_THROW(stout_smeared(links, {1, std::nan(""), false}, alone), input_error);
  EXPECT_THROW(stout_smeared(links, {1, -0.1, false}, alone), input_error);
}

}  // namespace
}  // namespace plaquette::cpu
