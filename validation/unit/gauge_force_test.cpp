// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The force of gauge actions against differences of the action, and the motion of links.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "common/algebra/largest.hpp"
#include "common/algebra/matrix_parts.hpp"
#include "common/algebra/su3_exponential.hpp"
#include "common/error.hpp"
#include "common/lattice/ghosts.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/gauge_force.hpp"
#include "cpu_ref/gauge/heatbath.hpp"

namespace plaquette::cpu {
namespace {

constexpr double epsilon = 0x1p-52;
const communicator alone;

double largest_difference(const su3<double>& a, const su3<double>& b) {
  double worst = 0.0;
  for (int i = 0; i < colours; ++i)
    for (int j = 0; j < colours; ++j) keep_largest(worst, std::sqrt(norm2(a(i, j) - b(i, j))));
  return worst;
}
double largest_difference(const gauge_configuration& a, const gauge_configuration& b) {
  double worst = 0.0;
  for (std::int64_t site = 0; site < a.geometry().local_volume(); ++site)
    for (int mu = 0; mu < dimensions; ++mu)
      keep_largest(worst, largest_difference(a.at_site(site)[mu], b.at_site(site)[mu]));
  return worst;
}

/// Traceless, anti-Hermitian matrices whose entries are of the size of 1.
gauge_momenta random_momenta(const lattice_geometry& geometry, std::uint64_t seed) {
  gauge_momenta momenta = random_configuration(geometry, seed, alone);
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    for (su3<double>& a : momenta.at_site(site)) a = 2.0 * traceless_antihermitian_part(a);
  return momenta;
}

/// The product of links along a path: steps mu + 1 forwards, -(mu + 1) backwards.
su3<double> path(const gauge_configuration& u, coordinate x, std::initializer_list<int> steps) {
  const extents& length = u.geometry().local();
  su3<double> product = su3<double>::identity();
  const auto step = [&](int mu, int by) { x[mu] = (x[mu] + by + length[mu]) % length[mu]; };
  for (const int s : steps) {
    const int mu = std::abs(s) - 1;
    if (s < 0) step(mu, -1);
    product = product * (s > 0 ? u(x)[mu] : adjoint(u(x)[mu]));
    if (s > 0) step(mu, +1);
  }
  return product;
}

/// The action's difference, with its loops written out; site by site, so that no digits are lost.
double written_out_difference(const gauge_configuration& after, const gauge_configuration& before,
                              const loop_action& action) {
  double sum = 0.0;
  for (std::int64_t site = 0; site < after.geometry().local_volume(); ++site) {
    const coordinate x = after.geometry().local_coordinate(site);
    const auto change = [&](std::initializer_list<int> loop) {
      return (trace(path(before, x, loop)).re - trace(path(after, x, loop)).re) / 3.0;
    };
    for (int mu = 0; mu < dimensions; ++mu)
      for (int nu = mu + 1; nu < dimensions; ++nu) {
        const int m = mu + 1, n = nu + 1;
        const double anisotropy = nu == 3 ? action.anisotropy : 1.0 / action.anisotropy;
        sum += (1.0 - 8.0 * action.c1) * anisotropy * change({m, n, -m, -n});
        sum += action.c1 * (change({m, m, n, -m, -m, -n}) + change({m, n, n, -m, -n, -n}));
      }
  }
  return action.beta * sum;
}

const loop_action actions[] = {{5.7}, {5.9, 0.0, 2.5}, {4.6, -1.0 / 12.0}, {2.3, -0.331}, {0.9, -1.4088}};

TEST(GaugeForce, IsTheDerivativeOfTheAction) {
  const lattice_geometry geometry({4, 2, 4, 6});
  const auto links = weak_field_configuration(geometry, 0.4, 1, alone);
  for (const loop_action& action : actions) {
    gauge_momenta force(geometry);
    add_gauge_force(force, links, action, 1.0, alone);
    for (const std::uint64_t seed : {2, 3}) {
      // dU/dt = A U: dS/dt = 2 sum tr (A dA/dt) = -dK/dt, as K = -sum tr A^2.
      const gauge_momenta direction = random_momenta(geometry, seed);
      double expected = 0.0;
      for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
        for (int mu = 0; mu < dimensions; ++mu)
          expected += 2.0 * trace(direction.at_site(site)[mu] * force.at_site(site)[mu]).re;
      const auto at = [&](double t) {
        auto moved = links;
        move_links(moved, direction, t, alone);
        return moved;
      };
      constexpr double t = 1e-3;
      const double found = (8.0 * written_out_difference(at(t), at(-t), action) -
                            written_out_difference(at(2.0 * t), at(-2.0 * t), action)) /
                           (12.0 * t);
      // The error is of order t^4, with a factor of the fifth derivative: loops of six links whose A are of size 2.
      // Roundings: sums of 10^4 terms of size 1, divided by t.
      const double size = action.beta * (1.0 + 16.0 * std::abs(action.c1)) * 192.0;
      EXPECT_NEAR(found, expected, size * (std::pow(12.0, 5) / 30.0 * std::pow(t, 4) + 100.0 * epsilon / t));
      EXPECT_GT(std::abs(expected), 1e-2 * action.beta);
    }
    for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
      for (const su3<double>& f : force.at_site(site)) {
        EXPECT_LE(largest_difference(f, -1.0 * adjoint(f)), 0.0);
        EXPECT_LE(std::sqrt(norm2(trace(f))), 100.0 * epsilon * action.beta);
      }
  }
}

TEST(ActionDifference, IsThatOfTheLoops) {
  const lattice_geometry geometry({4, 2, 4, 6});
  const auto before = weak_field_configuration(geometry, 0.4, 14, alone);
  for (const loop_action& action : actions)
    for (const double step : {1.0, 1e-9}) {
      auto after = before;
      move_links(after, random_momenta(geometry, 15), step, alone);
      const double expected = written_out_difference(after, before, action);
      // 18 loops at each of 192 sites, of some 100 roundings of links each, and differences that may cancel.
      EXPECT_NEAR(action_difference(after, before, action, alone), expected,
                  action.beta * (1.0 + 20.0 * std::abs(action.c1)) * 18 * 192 * 10 * epsilon);
      if (step == 1.0) {
        EXPECT_GT(std::abs(expected), 10.0);
      }
      EXPECT_EQ(action_difference(before, before, action, alone), 0.0);
    }
}

TEST(GaugeForce, IsGaugeCovariantAndAddsUp) {
  const lattice_geometry geometry({4, 2, 4, 2});
  const auto links = random_configuration(geometry, 4, alone);
  const auto g = random_gauge_transformation(geometry, 5, alone);
  const auto there = transformed(links, g, alone);
  for (const loop_action& action : actions) {
    const gauge_momenta start = random_momenta(geometry, 6);
    gauge_momenta here(geometry), moved(geometry), sum = start;
    add_gauge_force(here, links, action, 1.0, alone);
    add_gauge_force(moved, there, action, 1.0, alone);
    add_gauge_force(sum, links, action, -0.25, alone);
    // Some hundred roundings of at most 6 staples, and 18 of rectangles.
    const double bound = 100.0 * epsilon * action.beta * (1.0 + 26.0 * std::abs(action.c1)) * 6.0;
    for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
      for (int mu = 0; mu < dimensions; ++mu) {
        const su3<double>& f = here.at_site(site)[mu];
        EXPECT_LE(largest_difference(g.at_site(site) * f * adjoint(g.at_site(site)), moved.at_site(site)[mu]), bound);
        EXPECT_LE(largest_difference(sum.at_site(site)[mu], start.at_site(site)[mu] - 0.25 * f), bound);
      }
  }
}

TEST(GaugeForce, RefusesWhatCannotBe) {
  const lattice_geometry geometry({2, 2, 2, 2});
  auto links = unit_configuration(geometry);
  gauge_momenta momenta(geometry), other(lattice_geometry({2, 2, 2, 4}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const loop_action& action : {loop_action{-1.0}, loop_action{6.0, nan}, loop_action{6.0, -0.331, 2.0}})
    EXPECT_THROW(add_gauge_force(momenta, links, action, 1.0, alone), input_error);
  EXPECT_THROW(add_gauge_force(other, links, {6.0}, 1.0, alone), input_error);
  EXPECT_THROW(move_links(links, other, 1.0, alone), input_error);
}

// --- Exponential and motion ------------------------------------------------------------------------------------------

TEST(Exponential, IsThatOfTheEigenvalues) {
  const auto frames = random_configuration(lattice_geometry({2, 2, 2, 2}), 7, alone);
  const std::array<double, 3> spectra[] = {{1.0, -0.3, -0.7}, {0.5, 0.5, -1.0}, {1.5, 0.0, -1.5}, {0.0, 0.0, 0.0}};
  for (const auto& spectrum : spectra)
    for (const double scale : {1.0, 1e-1, 1e-3, 1e-8})
      for (std::int64_t site = 0; site < 16; ++site) {
        const su3<double>& u = frames.at_site(site)[0];
        su3<double> a, e;
        for (int i = 0; i < colours; ++i) {
          const double angle = scale * spectrum[static_cast<std::size_t>(i)];
          a(i, i).im = angle;
          e(i, i) = {std::cos(angle), std::sin(angle)};
        }
        // Numbers of size 2 and less in some sixty operations.
        EXPECT_LE(largest_difference(exponential(u * a * adjoint(u)), u * e * adjoint(u)), 60 * epsilon)
            << spectrum[0] << " times " << scale;
      }
}

TEST(Exponential, ShowsANaN) {
  su3<double> a;
  a(0, 1).im = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(exponential(a)(0, 0).re));
}

/// The function for a processor that lacks the instruction, and the instruction of another, have the same bits: a sum
/// that is contracted, or is not, has others.
TEST(Exponential, HasTheBitsOfFusedSumsOnly) {
  const gauge_momenta momenta = random_momenta(lattice_geometry({2, 2, 2, 4}), 8);
  auto links = random_configuration(momenta.geometry(), 9, alone);
  const auto before = links;
  move_links(links, momenta, 0.1, alone);
  for (std::int64_t site = 0; site < momenta.geometry().local_volume(); ++site)
    for (int mu = 0; mu < dimensions; ++mu)
      EXPECT_EQ(links.at_site(site)[mu],
                fused_product(exponential(0.1 * momenta.at_site(site)[mu]), before.at_site(site)[mu]));
}

TEST(MovedLinks, StayInSU3AndComeBack) {
  const lattice_geometry geometry({4, 2, 2, 2});
  const auto start = random_configuration(geometry, 10, alone);
  const gauge_momenta start_momenta = random_momenta(geometry, 11);
  for (const loop_action& action : {actions[1], actions[3]}) {
    auto links = start;
    gauge_momenta momenta = start_momenta;
    constexpr int steps = 5;
    const auto leapfrog = [&](double step) {
      for (int n = 0; n < steps; ++n) {
        add_gauge_force(momenta, links, action, 0.5 * step, alone);
        move_links(links, momenta, step, alone);
        add_gauge_force(momenta, links, action, 0.5 * step, alone);
      }
    };
    leapfrog(0.04);
    EXPECT_TRUE(has_current_ghosts(links, alone));
    EXPECT_LE(distance_from_su3(links, alone), steps * 20 * epsilon);  // nothing puts them back
    EXPECT_GT(largest_difference(links, start), 0.05);
    leapfrog(-0.04);
    // Some hundred roundings a step, which grow with the force's derivative: 0.4 units of time at a rate of some 10.
    EXPECT_LE(largest_difference(links, start), 2 * steps * 100 * std::exp(4.0) * epsilon);
  }
}

TEST(MovedLinks, KeepTheEnergyToTheSecondPowerOfTheStep) {
  const lattice_geometry geometry({2, 4, 2, 2});
  const auto start = weak_field_configuration(geometry, 0.3, 12, alone);
  const gauge_momenta start_momenta = random_momenta(geometry, 13);
  for (const loop_action& action : {actions[0], actions[2]}) {
    const auto change = [&](int steps) {
      auto links = start;
      gauge_momenta momenta = start_momenta;
      const double step = 0.2 / steps;
      for (int n = 0; n < steps; ++n) {
        add_gauge_force(momenta, links, action, 0.5 * step, alone);
        move_links(links, momenta, step, alone);
        add_gauge_force(momenta, links, action, 0.5 * step, alone);
      }
      double kinetic = 0.0;  // -tr A^2 is the sum of squares
      for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
        for (int mu = 0; mu < dimensions; ++mu)
          kinetic += real_trace_with_adjoint(momenta.at_site(site)[mu], momenta.at_site(site)[mu]) -
                     real_trace_with_adjoint(start_momenta.at_site(site)[mu], start_momenta.at_site(site)[mu]);
      return kinetic + action_difference(links, start, action, alone);
    };
    const double coarse = change(6), fine = change(12);
    EXPECT_NEAR(coarse / fine, 4.0, 0.4) << coarse << " " << fine;
  }
}

}  // namespace
}  // namespace plaquette::cpu
