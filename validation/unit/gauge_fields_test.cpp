// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/gauge_fields.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "cpu_ref/dirac/clover_term.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "cpu_ref/gauge/stout.hpp"

namespace plaquette::cpu {
namespace {

constexpr double epsilon = 0x1p-52;
const communicator alone;

/// U_mu(x) U_nu(x+mu) U_mu(x+nu)^+ U_nu(x)^+
su3<double> plaquette_matrix(const gauge_configuration& u, const coordinate& x, int mu, int nu) {
  return u(x)[mu] * u(shifted(x, mu, +1))[nu] * adjoint(u(shifted(x, nu, +1))[mu]) * adjoint(u(x)[nu]);
}

TEST(Plaquette, IsOneOnTheUnitField) {
  const auto unit = unit_configuration(lattice_geometry({4, 6, 2, 8}));
  const auto [spatial, temporal, average] = measure_plaquettes(unit, alone);
  EXPECT_EQ(spatial, 1.0);
  EXPECT_EQ(temporal, 1.0);
  EXPECT_EQ(average, 1.0);
  EXPECT_EQ(link_trace(unit, alone), 1.0);
}

TEST(Plaquette, AgreesWithTheProductOfFourLinksOfEveryPlane) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const auto links = random_configuration(geometry, 5, alone);
  double spatial = 0.0, temporal = 0.0;
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    for (int mu = 0; mu < 4; ++mu)
      for (int nu = 0; nu < mu; ++nu)  // the other orientation: the real part of the trace is the same
        (mu == 3 ? temporal : spatial) += trace(plaquette_matrix(links, geometry.local_coordinate(site), mu, nu)).re;
  const double norm = 1.0 / (9.0 * static_cast<double>(geometry.local_volume()));
  const auto measured = measure_plaquettes(links, alone);
  // Each average is of 1152 numbers of size 1 that are exact to a few epsilon; their sum rounds at most 1152 times.
  EXPECT_NEAR(measured.spatial, norm * spatial, 1152 * epsilon);
  EXPECT_NEAR(measured.temporal, norm * temporal, 1152 * epsilon);
  EXPECT_NEAR(measured.average, 0.5 * norm * (spatial + temporal), 1152 * epsilon);
  EXPECT_EQ(average_plaquette(links, alone), measured.average);
}

TEST(Plaquette, IsInvariantUnderAGaugeTransformation) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const auto links = weak_field_configuration(geometry, 0.3, 7, alone);
  const auto g = random_gauge_transformation(geometry, 8, alone);
  const auto before = measure_plaquettes(links, alone), after = measure_plaquettes(transformed(links, g, alone), alone);
  EXPECT_NEAR(before.spatial, after.spatial, 1152 * epsilon);
  EXPECT_NEAR(before.temporal, after.temporal, 1152 * epsilon);
  EXPECT_GT(std::abs(link_trace(links, alone) - link_trace(transformed(links, g, alone), alone)), 0.1);
}

TEST(Plaquette, IsNaNWhereOneLinkIs) {
  const lattice_geometry geometry({4, 4, 2, 2});
  auto links = unit_configuration(geometry);
  links({3, 1, 0, 1})[2](1, 1).im = std::nan("");
  exchange_ghosts(links, alone);
  EXPECT_TRUE(std::isnan(average_plaquette(links, alone)));
  EXPECT_TRUE(std::isnan(distance_from_su3(links, alone)));
}

/// Fields whose ghosts were never filled, and fields with a link that was changed after they were: of either face, and
/// a ghost itself.
std::vector<gauge_configuration> with_wrong_ghosts(const lattice_geometry& geometry) {
  const auto good = random_configuration(geometry, 9, alone);
  std::vector<gauge_configuration> wrong{gauge_configuration(geometry), good, good, good};
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) wrong[0].at_site(site) = good.at_site(site);
  const extents& l = geometry.local();
  wrong[1]({0, 1, 0, 1})[2] = su3<double>::identity();
  wrong[2]({1, 1, 0, l[3] - 1})[0] = su3<double>::identity();
  wrong[3]({1, 1, -1, 1})[3] = su3<double>::identity();
  return wrong;
}

TEST(Ghosts, ThatAreForgottenAreAnError) {
  const lattice_geometry geometry({4, 4, 2, 4});
  const auto action = fermion_action::isotropic(0.1, 1.2);
  spinor_configuration psi = random_spinor(geometry, 3, 0, alone), out = psi;
  for (const gauge_configuration& links : with_wrong_ghosts(geometry)) {
    EXPECT_THROW(average_plaquette(links, alone), std::logic_error);
    EXPECT_THROW(stout_smeared(links, {.steps = 1, .rho = 0.1}, alone), std::logic_error);
    EXPECT_THROW(make_clover_term(links, action), std::logic_error);
    EXPECT_THROW(textbook::apply(out, psi, links, action, alone), std::logic_error);
    EXPECT_THROW(textbook::relative_residual(out, psi, links, action, alone), std::logic_error);
    gauge_configuration mended = links;
    exchange_ghosts(mended, alone);
    EXPECT_NO_THROW(average_plaquette(mended, alone));
    EXPECT_NO_THROW(make_clover_term(mended, action));
  }
}

TEST(GaugeFields, RandomAndWeakFieldLinksAreInSU3) {
  const lattice_geometry geometry({4, 6, 2, 8});
  for (std::uint64_t seed : {1, 2, 3}) {
    // Every element of U U^+ - 1 and the determinant are sums of a few products: 20 roundings are not reached.
    EXPECT_LE(distance_from_su3(random_configuration(geometry, seed, alone), alone), 20 * epsilon);
    EXPECT_LE(distance_from_su3(weak_field_configuration(geometry, 0.2, seed, alone), alone), 20 * epsilon);
  }
}

TEST(GaugeFields, OneLinkOffSU3IsSeen) {
  auto links = random_configuration(lattice_geometry({4, 4, 2, 2}), 1, alone);
  links({0, 3, 1, 1})[1](2, 0).re += 1e-6;
  EXPECT_GT(distance_from_su3(links, alone), 1e-7);
}

TEST(GaugeFields, RandomLinksAreHaarDistributed) {
  // Haar averages: <tr U> = 0, <|tr U|^2> = 1, <(tr U)^3> = 1, <|tr U|^4> = 2 (the number of singlets in the products
  // of representations); an element: <|U_ij|^2> = 1/3, <|U_ij|^4> = 1/6.
  const lattice_geometry geometry({8, 8, 8, 8});
  const auto links = random_configuration(geometry, 11, alone);
  const double n = 4.0 * static_cast<double>(geometry.local_volume());
  complex<double> t1{}, t3{};
  double t2 = 0.0, t4 = 0.0, e2[3][3] = {}, e4[3][3] = {};
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    for (const auto& u : links.at_site(site)) {
      const complex<double> t = trace(u);
      t1 += t;
      t2 += norm2(t);
      t3 += t * t * t;
      t4 += norm2(t) * norm2(t);
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
          e2[i][j] += norm2(u(i, j));
          e4[i][j] += norm2(u(i, j)) * norm2(u(i, j));
        }
    }
  // Variances of one link: of Re tr U 1/2; |tr U|^2: 2 - 1; |tr U|^4 and Re (tr U)^3: at most <|tr U|^8> = 23 and
  // <|tr U|^6> = 6; elements: 1/6 - 1/9 and at most <|U_ij|^8> = 1/15. Five standard deviations.
  const double sigma = 5.0 / std::sqrt(n);
  EXPECT_NEAR(t1.re / n, 0.0, sigma * std::sqrt(0.5));
  EXPECT_NEAR(t1.im / n, 0.0, sigma * std::sqrt(0.5));
  EXPECT_NEAR(t2 / n, 1.0, sigma);
  EXPECT_NEAR(t3.re / n, 1.0, sigma * std::sqrt(6.0));
  EXPECT_NEAR(t3.im / n, 0.0, sigma * std::sqrt(6.0));
  EXPECT_NEAR(t4 / n, 2.0, sigma * std::sqrt(23.0));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      EXPECT_NEAR(e2[i][j] / n, 1.0 / 3.0, sigma * std::sqrt(1.0 / 18.0));
      EXPECT_NEAR(e4[i][j] / n, 1.0 / 6.0, sigma * std::sqrt(1.0 / 15.0));
    }
}

TEST(GaugeFields, WeakFieldWithoutNoiseIsTheUnitField) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const auto links = weak_field_configuration(geometry, 0.0, 3, alone);
  EXPECT_EQ(average_plaquette(links, alone), 1.0);
  EXPECT_EQ(link_trace(links, alone), 1.0);
}

TEST(GaugeFields, WeakFieldDistanceFromOneGrowsWithTheNoise) {
  const lattice_geometry geometry({8, 8, 8, 8});
  // To lowest order in the noise e, Gram-Schmidt leaves of a row its own imaginary part (variance e^2) and the whole
  // part above the diagonal (2 e^2). So 1 - Re tr U / 3 is half of the sum of squares of the anti-Hermitian part over
  // 3. Rows 1 and 2: three complex numbers above the diagonal, twice (the other half by unitarity): 2 * 3 * 2 e^2;
  // diagonal phases a, b and -(a + b): 4 e^2. (12 + 4) e^2 / 2 / 3 = 8 e^2 / 3.
  for (double noise : {1e-3, 1e-2}) {
    const double distance = 1.0 - link_trace(weak_field_configuration(geometry, noise, 3, alone), alone);
    EXPECT_NEAR(distance / (8.0 / 3.0 * noise * noise), 1.0, 0.03 + 10.0 * noise * noise);
  }
}

TEST(GaugeFields, ConstantFluxHasItsPlaquetteEverywhere) {
  for (const extents& size : {extents{4, 4, 4, 4}, extents{4, 6, 2, 8}, extents{2, 8, 6, 4}}) {
    const lattice_geometry geometry(size);
    for (const std::array<int, 2>& fluxes : {std::array{1, 1}, std::array{1, -2}, std::array{0, 3}}) {
      const double f12 = 2.0 * std::numbers::pi * fluxes[0] / (size[0] * size[1]);
      const double f34 = 2.0 * std::numbers::pi * fluxes[1] / (size[2] * size[3]);
      for (const auto embedding : {abelian_embedding::all_colours, abelian_embedding::su3}) {
        const auto links = constant_flux_configuration(geometry, fluxes, embedding, alone);
        for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
          for (int mu = 0; mu < 4; ++mu)
            for (int nu = mu + 1; nu < 4; ++nu) {
              const double f = mu == 0 && nu == 1 ? f12 : mu == 2 && nu == 3 ? f34 : 0.0;
              const bool all = embedding == abelian_embedding::all_colours;
              const double charge[] = {1.0, all ? 1.0 : -1.0, all ? 1.0 : 0.0};
              const auto p = plaquette_matrix(links, geometry.local_coordinate(site), mu, nu);
              for (int i = 0; i < 3; ++i)
                for (int j = 0; j < 3; ++j) {
                  // Phases reach F L_1 L_2 = 2 pi |n|, rounded to 20 epsilon.
                  EXPECT_NEAR(p(i, j).re, i == j ? std::cos(charge[i] * f) : 0.0, 40 * epsilon);
                  EXPECT_NEAR(p(i, j).im, i == j ? std::sin(charge[i] * f) : 0.0, 40 * epsilon);
                }
            }
        if (embedding == abelian_embedding::su3) {
          EXPECT_LE(distance_from_su3(links, alone), 20 * epsilon);
        }
      }
    }
  }
}

TEST(GaugeFields, TransformationOfLinksAndSpinorsBelongTogether) {
  // psi(x)^+ U_mu(x) psi(x+mu) is invariant, site by site and spin by spin.
  const lattice_geometry geometry({4, 6, 2, 8});
  const auto links = random_configuration(geometry, 1, alone);
  const auto g = random_gauge_transformation(geometry, 2, alone);
  const auto psi = random_spinor(geometry, 3, 0, alone);
  const auto links_g = transformed(links, g, alone);
  const auto psi_g = transformed(psi, g, alone);
  const auto bilinear = [](const gauge_configuration& u, const spinor_configuration& s, const coordinate& x, int mu,
                           int spin) {
    const auto carried = u(x)[mu] * s(shifted(x, mu, +1))[spin];
    complex<double> sum{};
    for (int c = 0; c < 3; ++c) sum += conj(s(x)(spin, c)) * carried[c];
    return sum;
  };
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    for (int mu = 0; mu < 4; ++mu)
      for (int spin = 0; spin < 4; ++spin) {
        const coordinate x = geometry.local_coordinate(site);
        const auto before = bilinear(links, psi, x, mu, spin), after = bilinear(links_g, psi_g, x, mu, spin);
        // Vectors of norm below 8 through four products of 3x3 matrices.
        EXPECT_NEAR(before.re, after.re, 64 * 50 * epsilon);
        EXPECT_NEAR(before.im, after.im, 64 * 50 * epsilon);
      }
}

TEST(GaugeFields, RandomSpinorsOfDifferentIndicesAreOrthogonalWithinNoise) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const auto a = random_spinor(geometry, 3, 0, alone), b = random_spinor(geometry, 3, 1, alone);
  const auto [aa, ab] = sum_over_sites<2>(
      geometry, alone, [&](const coordinate& x) { return std::array{norm2(a(x)), dot(a(x), b(x)).re}; });
  const double reals = 24.0 * static_cast<double>(geometry.local_volume());
  // |a|^2 is chi-squared with `reals` degrees of freedom; Re <a, b> has that variance. Five standard deviations.
  EXPECT_NEAR(aa, reals, 5.0 * std::sqrt(2.0 * reals));
  EXPECT_NEAR(ab, 0.0, 5.0 * std::sqrt(reals));
}

}  // namespace
}  // namespace plaquette::cpu
