// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The gradient flow, gauge fixing, APE and HYP smearing against closed forms.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/error.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/gauge_fixing.hpp"
#include "cpu_ref/gauge/gradient_flow.hpp"
#include "cpu_ref/gauge/link_smearing.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "cpu_ref/gauge/stout.hpp"

namespace plaquette::cpu {
namespace {

constexpr double epsilon = 0x1p-52, pi = std::numbers::pi;
const communicator alone;

double largest_difference(const gauge_configuration& a, const gauge_configuration& b) {
  double worst = 0.0;
  for (std::int64_t site = 0; site < a.geometry().local_volume(); ++site)
    for (int mu = 0; mu < dimensions; ++mu)
      for (int i = 0; i < colours; ++i)
        for (int j = 0; j < colours; ++j)
          keep_largest(worst, std::sqrt(norm2(a.at_site(site)[mu](i, j) - b.at_site(site)[mu](i, j))));
  return worst;
}

gauge_configuration flowed(const gauge_configuration& links, int steps, double step) {
  gradient_flow flow(links, alone);
  for (int n = 0; n < steps; ++n) flow.advance(step);
  return flow.links();
}

std::vector<flow_measurement> history_of(const gauge_configuration& links, double last, double step) {
  gradient_flow flow(links, alone);
  return flow_history(flow, last, step);
}

TEST(GradientFlow, DampsAWaveByTheHeatKernelOfTheLattice) {
  // U_y(x) = diag(exp(i a), exp(-i a), 1), a = A cos(p x): transverse, one mode; da/dt = -phat^2 a + O(A^3).
  const lattice_geometry geometry({8, 2, 2, 4});
  constexpr double amplitude = 1e-4;
  const std::array<int, 4> n{1, 0, 0, 1};
  auto links = unit_configuration(geometry);
  double phat2 = 0.0;
  for (int mu = 0; mu < dimensions; ++mu) phat2 += 4.0 * std::pow(std::sin(pi * n[mu] / geometry.global()[mu]), 2);
  const auto angle = [&](const coordinate& x) {
    return amplitude * std::cos(2.0 * pi * (x[0] * n[0] / 8.0 + x[3] * n[3] / 4.0));
  };
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const double a = angle(geometry.local_coordinate(site));
    su3<double>& u = links.at_site(site)[1];
    u(0, 0) = {std::cos(a), std::sin(a)};
    u(1, 1) = conj(u(0, 0));
  }
  exchange_ghosts(links, alone);
  const auto after = flowed(links, 40, 0.05);
  const double damping = std::exp(-2.0 * phat2);
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate x = geometry.local_coordinate(site);
    // The scheme's error a step is (phat^2 step)^4 / 24; the cubic terms are of the size of A^2.
    const double scheme = 40 * std::pow(phat2 * 0.05, 4) / 24.0;
    EXPECT_NEAR(std::arg(std::complex(after(x)[1](0, 0).re, after(x)[1](0, 0).im)), damping * angle(x),
                amplitude * damping * (2.0 * scheme + 10 * amplitude * amplitude) + 40 * epsilon);
    EXPECT_NEAR(after(x)[1](2, 2).re, 1.0, 40 * epsilon);
  }
}

TEST(GradientFlow, BeginsAsStoutSmearing) {
  // One step of rho = step is Euler's: the two differ by step^2, with a factor of about |Z|^2 / 2 of random links.
  const auto links = random_configuration(lattice_geometry({4, 2, 4, 2}), 1, alone);
  for (const double step : {1e-3, 1e-4})
    EXPECT_LE(largest_difference(flowed(links, 1, step), stout_smeared(links, {1, step, false}, alone)),
              100 * step * step);
}

TEST(GradientFlow, ConvergesWithTheThirdPowerOfTheStep) {
  const auto links = weak_field_configuration(lattice_geometry({4, 4, 2, 4}), 0.3, 2, alone);
  const auto exact = flowed(links, 128, 0.5 / 128);
  const double coarse = largest_difference(flowed(links, 8, 0.5 / 8), exact),
               fine = largest_difference(flowed(links, 16, 0.5 / 16), exact);
  EXPECT_NEAR(std::log2(coarse / fine), 3.0, 0.25) << coarse << " " << fine;
  EXPECT_LE(fine, 1e-3);
}

TEST(GradientFlow, IsGaugeCovariantAndLowersTheAction) {
  const lattice_geometry geometry({4, 2, 4, 4});
  const auto links = random_configuration(geometry, 3, alone);
  const auto g = random_gauge_transformation(geometry, 4, alone);
  const auto after = flowed(links, 4, 0.02);
  // A step multiplies differences by at most some 1 + 24 step and adds some 300 roundings.
  EXPECT_LE(largest_difference(transformed(after, g, alone), flowed(transformed(links, g, alone), 4, 0.02)),
            4 * 300 * std::pow(1.48, 4) * epsilon);
  EXPECT_GT(average_plaquette(after, alone), average_plaquette(links, alone) + 0.1);
  EXPECT_LE(distance_from_su3(after, alone), 16 * epsilon);
  const auto here = measure_field_strength(after, alone),
             there = measure_field_strength(transformed(after, g, alone), alone);
  EXPECT_NEAR(here.energy_density, there.energy_density, 100 * epsilon * here.energy_density);
  EXPECT_NEAR(here.charge, there.charge, 1e3 * epsilon);
}

TEST(FieldStrength, OfAConstantFluxIsTheClosedForm) {
  // diag(F, -F, 0) in xy and zt: E = 2 (sin^2 F_xy + sin^2 F_zt), q = 2 sin F_xy sin F_zt / (4 pi^2). It stays so:
  // the staples of a constant field leave no force.
  const lattice_geometry geometry({4, 6, 8, 4});
  for (const std::array<int, 2> fluxes : {std::array{1, 1}, std::array{1, -2}, std::array{2, 0}}) {
    const auto links = constant_flux_configuration(geometry, fluxes, abelian_embedding::su3, alone);
    const double xy = std::sin(2.0 * pi * fluxes[0] / 24.0), zt = std::sin(2.0 * pi * fluxes[1] / 32.0);
    for (const auto& found : history_of(links, 0.1, 0.05)) {
      EXPECT_NEAR(found.energy_density, 2.0 * (xy * xy + zt * zt), 1e3 * epsilon);
      EXPECT_NEAR(found.charge, 768 * 2.0 * xy * zt / (4.0 * pi * pi), 1e4 * epsilon);
    }
  }
  // In every pair of dual planes alike: a flux that is rotated in the lattice keeps its charge.
  const auto flux = constant_flux_configuration(lattice_geometry({4, 4, 4, 4}), {1, 1}, abelian_embedding::su3, alone);
  const double charge = measure_field_strength(flux, alone).charge;
  for (const std::array<int, 4> to : {std::array{2, 0, 1, 3}, std::array{1, 2, 0, 3}, std::array{0, 2, 3, 1}}) {
    gauge_configuration rotated(flux.geometry());  // even permutations of the directions
    for (std::int64_t site = 0; site < 256; ++site) {
      const coordinate x = flux.geometry().local_coordinate(site);
      coordinate y;
      for (int mu = 0; mu < dimensions; ++mu) y[to[mu]] = x[mu];
      for (int mu = 0; mu < dimensions; ++mu) rotated(y)[to[mu]] = flux(x)[mu];
    }
    exchange_ghosts(rotated, alone);
    EXPECT_NEAR(measure_field_strength(rotated, alone).charge, charge, 1e4 * epsilon);
  }
  EXPECT_NEAR(charge, 256 * 2.0 * std::pow(std::sin(pi / 8.0), 2) / (4.0 * pi * pi), 1e4 * epsilon);
}

TEST(FlowHistory, HasAReferenceTimeOnAStraightLine) {
  std::vector<flow_measurement> history;
  for (const double t : {0.0, 1.0, 2.0, 3.0}) history.push_back({t, t == 0.0 ? 5.0 : 0.15 / t, 0.0});  // t^2 E = 0.15 t
  EXPECT_NEAR(reference_time(history), 2.0, 1e-15);
  EXPECT_NEAR(reference_time(history, 0.375), 2.5, 1e-15);
  EXPECT_TRUE(std::isnan(reference_time(history, 1.0)));
  const auto links = unit_configuration(lattice_geometry({2, 2, 2, 2}));
  EXPECT_EQ(history_of(links, 0.3, 0.1).size(), 4u);
  for (const auto& [last, step] : {std::pair{1.0, 0.0}, {1.0, -0.1}, {-1.0, 0.1}, {1.0, 1e-9}, {std::nan(""), 0.1}})
    EXPECT_THROW(history_of(links, last, step), input_error);
}

TEST(GaugeFixing, OfATransformedUnitFieldGivesItBack) {
  const lattice_geometry geometry({4, 4, 2, 6});
  const auto links = transformed(unit_configuration(geometry), random_gauge_transformation(geometry, 5, alone), alone);
  for (const auto condition : {gauge_condition::landau, gauge_condition::coulomb}) {
    const auto before = measure_gauge(links, condition, alone);
    EXPECT_LT(std::abs(before.functional), 0.1);
    EXPECT_GT(before.theta, 0.1);
    const auto fixed = gauge_fixed(links, condition, {1e-20, 2000, 1.7}, alone);
    EXPECT_TRUE(fixed.converged) << fixed.sweeps << " " << fixed.quality.theta;
    // 1 - functional is of second order in the remaining gradient, as theta is.
    EXPECT_NEAR(fixed.quality.functional, 1.0, 1e-14);
    EXPECT_NEAR(average_plaquette(fixed.links, alone), 1.0, 1e-14);
    EXPECT_LE(largest_difference(fixed.links, transformed(links, fixed.g, alone)), 0.0);
  }
}

TEST(GaugeFixing, FindsAMaximumOfTheFunctional) {
  const lattice_geometry geometry({4, 2, 4, 4});
  const auto links = weak_field_configuration(geometry, 0.3, 6, alone);
  for (const auto condition : {gauge_condition::landau, gauge_condition::coulomb}) {
    const int directions = condition == gauge_condition::landau ? 4 : 3;
    const auto fixed = gauge_fixed(links, condition, {1e-18, 2000, 1.6}, alone);
    ASSERT_TRUE(fixed.converged) << fixed.quality.theta;
    EXPECT_NEAR(average_plaquette(fixed.links, alone), average_plaquette(links, alone), 100 * epsilon);
    double sum = 0.0;  // the functional, with its indices written out
    for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
      for (int mu = 0; mu < directions; ++mu) sum += trace(fixed.links.at_site(site)[mu]).re / (3.0 * directions * 128);
    EXPECT_NEAR(sum, fixed.quality.functional, 100 * epsilon);
    for (const double size : {1e-1, 1e-3}) {  // small transformations lower it, to second order
      const auto near = weak_field_configuration(geometry, size, 7, alone);
      gauge_transformation g(geometry);
      for (std::int64_t site = 0; site < geometry.local_volume(); ++site) g.at_site(site) = near.at_site(site)[0];
      exchange_ghosts(g, alone);
      const auto moved = measure_gauge(transformed(fixed.links, g, alone), condition, alone);
      EXPECT_LT(moved.functional, fixed.quality.functional);
      EXPECT_NEAR(moved.functional, fixed.quality.functional, 100 * size * size);
      EXPECT_GT(moved.theta, 0.1 * size * size);
    }
  }
}

/// The linear response to links U_y = diag(exp(i a), exp(-i a), 1), a = A cos(p x) with no p_y: the factor of a.
double response(const std::array<int, 4>& n, const lattice_geometry& geometry, auto&& smear) {
  constexpr double amplitude = 1e-5;
  auto links = unit_configuration(geometry);
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate x = geometry.local_coordinate(site);
    double phase = 0.0;
    for (int mu = 0; mu < dimensions; ++mu) phase += 2.0 * pi * n[mu] * x[mu] / geometry.global()[mu];
    const double a = amplitude * std::cos(phase);
    su3<double>& u = links.at_site(site)[1];
    u(0, 0) = {std::cos(a), std::sin(a)};
    u(1, 1) = conj(u(0, 0));
  }
  exchange_ghosts(links, alone);
  return smear(links)(coordinate{})[1](0, 0).im / amplitude;
}

TEST(LinkSmearing, OfAWaveIsTheFormulaOfPerturbationTheory) {
  const lattice_geometry geometry({6, 2, 8, 4});
  for (const std::array<int, 4> n : {std::array{1, 0, 0, 0}, std::array{0, 0, 1, 1}, std::array{1, 0, -2, 1}}) {
    std::array<double, 4> k2{};  // khat_mu^2
    for (int mu = 0; mu < dimensions; ++mu) k2[mu] = 4.0 * std::pow(std::sin(pi * n[mu] / geometry.global()[mu]), 2);
    const double all = k2[0] + k2[2] + k2[3];
    // Third powers of the wave, and roundings over the amplitude.
    constexpr double tolerance = 1e-9;
    EXPECT_NEAR(response(n, geometry, [](const auto& u) { return ape_smeared(u, {1, 0.7, false}, alone); }),
                1.0 - 0.7 / 6.0 * all, tolerance);
    EXPECT_NEAR(response(n, geometry, [](const auto& u) { return ape_smeared(u, {1, 0.7, true}, alone); }),
                1.0 - 0.7 / 4.0 * (k2[0] + k2[2]), tolerance);
    // h_mumu = 1 - alpha_1 / 6 sum_nu k_nu^2 Omega_munu. (Hasenfratz, Hoffmann, Knechtli, hep-lat/0110168)
    constexpr double a1 = 0.75, a2 = 0.6, a3 = 0.3;
    double expected = 1.0;
    for (const int nu : {0, 2, 3}) {
      double rest = all - k2[nu], product = 1.0;
      for (const int eta : {0, 2, 3})
        if (eta != nu) product *= k2[eta];
      const double omega = 1.0 + a2 * (1.0 + a3) - a2 / 4.0 * (1.0 + 2.0 * a3) * rest + a2 * a3 / 4.0 * product;
      expected -= a1 / 6.0 * k2[nu] * omega;
    }
    EXPECT_NEAR(response(n, geometry, [](const auto& u) { return hyp_smeared(u, {}, alone); }), expected, tolerance);
  }
}

TEST(LinkSmearing, IsGaugeCovariantAndStaysNearby) {
  const lattice_geometry geometry({4, 4, 6, 4});
  const auto links = weak_field_configuration(geometry, 0.2, 9, alone);
  const auto g = random_gauge_transformation(geometry, 10, alone);
  const auto smeared = [](const gauge_configuration& u, int kind) {
    return kind < 2 ? ape_smeared(u, {2, 0.6, kind == 1}, alone) : hyp_smeared(u, {}, alone);
  };
  for (int kind = 0; kind < 3; ++kind) {
    const auto after = smeared(links, kind);
    // Some hundred roundings, and the end of an iteration that changes by less than 1e-15.
    EXPECT_LE(largest_difference(transformed(after, g, alone), smeared(transformed(links, g, alone), kind)),
              400 * epsilon);
    EXPECT_GT(average_plaquette(after, alone), average_plaquette(links, alone));
    EXPECT_LE(distance_from_su3(after, alone), 16 * epsilon);
    EXPECT_THROW(ape_smeared(links, {1, -0.1, false}, alone), input_error);
    EXPECT_THROW(hyp_smeared(links, {-1}, alone), input_error);
  }
  EXPECT_LE(
      largest_difference(hyp_smeared(links, {1, 0.6, 0.0, 0.0}, alone), ape_smeared(links, {1, 0.6, false}, alone)),
      400 * epsilon);
  // A link that is in no common hypercube does not come in.
  auto other = links;
  const coordinate far{2, 1, 1, 1};
  other(far)[3] = random_configuration(geometry, 11, alone)(far)[3];
  exchange_ghosts(other, alone);
  const auto before = hyp_smeared(links, {}, alone), after = hyp_smeared(other, {}, alone);
  EXPECT_EQ(before(coordinate{0, 1, 1, 1})[3], after(coordinate{0, 1, 1, 1})[3]);  // two steps along x
  EXPECT_NE(before(coordinate{1, 2, 2, 1})[3], after(coordinate{1, 2, 2, 1})[3]);  // one along x, y and z
}

TEST(GaugeFixing, SaysWhereItStopped) {
  const auto links = random_configuration(lattice_geometry({4, 4, 4, 4}), 8, alone);
  const auto stopped = gauge_fixed(links, gauge_condition::landau, {1e-14, 3, 1.5}, alone);
  EXPECT_FALSE(stopped.converged);
  EXPECT_EQ(stopped.sweeps, 3);
  for (const double omega : {0.9, 2.0, std::nan("")})
    EXPECT_THROW(gauge_fixed(links, gauge_condition::landau, {1e-12, 10, omega}, alone), input_error);
  EXPECT_THROW(gauge_fixed(links, gauge_condition::landau, {0.0, 10, 1.5}, alone), input_error);
}

}  // namespace
}  // namespace plaquette::cpu
