// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Heat bath and over-relaxation of the backend under test: known properties of the ensembles that they make.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include "common/error.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "validation/support/backend.hpp"
#include "validation/support/sanitizer.hpp"

namespace plaquette::validation {
namespace {

using backend::average_plaquette;
using backend::context;
using backend::export_links;
using backend::gauge_configuration;
using backend::heatbath_configuration;
using backend::heatbath_updater;
using backend::random_configuration;
using backend::unit_configuration;
using host_configuration = plaquette::gauge_configuration;

constexpr double epsilon = 0x1p-52;

context context_on(const extents& size) { return context(lattice_geometry(size), communicator()); }

/// The mean of a series of measurements and its statistical error, from the scatter of the means of 16 bins.
struct estimate {
  double mean, error;
};
estimate binned(const std::vector<double>& series) {
  constexpr std::size_t bins = 16;
  const std::size_t length = series.size() / bins;
  std::array<double, bins> means{};
  for (std::size_t b = 0; b < bins; ++b)
    for (std::size_t i = 0; i < length; ++i) means[b] += series[b * length + i] / static_cast<double>(length);
  double mean = 0.0, scatter = 0.0;
  for (double m : means) mean += m / bins;
  for (double m : means) scatter += (m - mean) * (m - mean);
  return {mean, std::sqrt(scatter / (bins * (bins - 1.0)))};
}

/// With 16 bins (15 degrees of freedom), Student's distribution leaves 0.1 % outside four errors. Bins are a few times
/// the autocorrelation of the plaquette long. The seeds are fixed: a test that has passed stays passed.
constexpr double errors_allowed = 4.0;

void expect_agreement(const estimate& found, double expected, double allowance, const char* what) {
  std::printf("%s: %.7f +- %.7f, expected %.7f (allowance %.1e)\n", what, found.mean, found.error, expected, allowance);
  EXPECT_LE(std::abs(found.mean - expected), errors_allowed * found.error + allowance) << what;
}

/// Thermalises from a cold start and measures after each combined sweep.
template <class Measure>
auto run(const extents& size, const gauge_action& action, const sweep_plan& plan, int thermalise, int measure,
         std::uint64_t seed, Measure&& measurement) {
  const context ctx = context_on(size);
  gauge_configuration links = unit_configuration(ctx);
  heatbath_updater updater(ctx);
  std::vector<decltype(measurement(links))> series;
  for (int n = 0; n < thermalise + measure; ++n) {
    updater.combined_sweep(links, action, plan, seed, static_cast<std::uint64_t>(n));
    if (n >= thermalise) series.push_back(measurement(links));
  }
  return series;
}

estimate mean_plaquette(const extents& size, const gauge_action& action, const sweep_plan& plan, int thermalise,
                        int measure, std::uint64_t seed) {
  return binned(run(size, action, plan, thermalise, measure, seed,
                    [](const gauge_configuration& links) { return average_plaquette(links); }));
}

TEST(HeatBath, PlaquetteFollowsTheStrongCouplingSeries) {
  for (const double beta : {0.3, 0.6, 1.0}) {
    const double series = beta / 18.0 + beta * beta / 216.0;
    // The next terms are -5 beta^4 / 93312 of a single plaquette and 4 (beta / 18)^5 of the six sides of a cube.
    const double next = 6e-5 * std::pow(beta, 4);
    expect_agreement(mean_plaquette({8, 8, 8, 8}, {beta}, {1, 0}, 5, 128, 1), series, next, "strong coupling");
  }
}

TEST(HeatBath, PlaquetteFollowsTheWeakCouplingSeries) {
  for (const double beta : {30.0, 60.0}) {
    const double series = 1.0 - 2.0 / beta - 1.22 / (beta * beta);
    // The next coefficient is about 3; on V sites the first is smaller by 4 / (6 V) = 1.6e-4 (4 (8 / 2) degrees of
    // freedom of constant fields have a quartic action); the second is given to 0.01.
    const double allowance = 4.0 / std::pow(beta, 3) + 1.6e-4 / beta + 0.01 / (beta * beta);
    expect_agreement(mean_plaquette({8, 8, 8, 8}, {beta}, {1, 2}, 30, 160, 2), series, allowance, "weak coupling");
  }
}

TEST(HeatBath, PlaquetteAtBeta5_7IsThePublishedOne) {
  // 0.549 is given to three digits; at this lattice spacing (0.17 fm) 8^4 is 1.4 fm wide, wide enough for them.
  expect_agreement(mean_plaquette({8, 8, 8, 8}, {5.7}, {1, 4}, 40, 160, 3), 0.549, 5e-4, "beta 5.7");
}

TEST(HeatBath, LongPlaquetteAtBeta6_2IsThePublishedOne) {
  // 12^4 is 0.8 fm wide here. Boxes this small raise the plaquette: that of 4^4 at beta = 6 (0.4 fm) is 3e-3 too high.
  // The effect falls with the fourth power of the width or faster: less than 3e-3 / 16.
  expect_agreement(mean_plaquette({12, 12, 12, 12}, {6.2}, {1, 4}, 30, 64, 4), 0.6136, 5e-5 + 2e-4, "beta 6.2");
}

TEST(HeatBath, PlaquetteAtBeta6IsThePublishedOne) {
  // 0.59368: G. Boyd et al., Nucl. Phys. B469 (1996) 419, hep-lat/9602007. The bound is their last digit, and the
  // effect of a box of 10^4 (0.9 fm): less than 3e-3 / 2.5^4, as above.
  expect_agreement(mean_plaquette({10, 10, 10, 10}, {6.0}, {1, 4}, 30, 64, 5), 0.59368, 1e-5 + 8e-5, "beta 6.0");
}

TEST(HeatBath, LongPlaquetteAtBeta6On16To4IsThePublishedOne) {  // no allowance for the box
  expect_agreement(mean_plaquette({16, 16, 16, 16}, {6.0}, {1, 4}, 30, 64, 5), 0.59368, 1e-5, "beta 6.0");
}

/// The weighted staples around U_mu(x), the textbook's way.
su3<double> staples(const host_configuration& u, const gauge_action& action, const coordinate& x, int mu) {
  su3<double> sum;
  for (int nu = 0; nu < dimensions; ++nu) {
    if (nu == mu) continue;
    const coordinate x_mu = shifted(x, mu, +1), x_nu = shifted(x, nu, +1), below = shifted(x, nu, -1);
    const su3<double> up = u(x_mu)[nu] * adjoint(u(x_nu)[mu]) * adjoint(u(x)[nu]);
    const su3<double> down = adjoint(u(shifted(x_mu, nu, -1))[nu]) * adjoint(u(below)[mu]) * u(below)[nu];
    sum += action.plane_weight(mu, nu) * (up + down);
  }
  return sum;
}

/// The two sides of the Schwinger-Dyson equation of a link. With S = -(beta / 3) R, R = Re tr(U A) of the link's
/// staples, and derivatives d_a U = i T_a U (tr T_a T_b = delta_ab / 2), the integral of sum_a d_a (exp(-S) d_a R)
/// vanishes:
///   <sum_a (d_a S) (d_a R)> = <sum_a d_a d_a R>:   (beta / 3) <tr Y^2 / 2> = (4 / 3) <R>,
/// Y the traceless Hermitian part of (U A - (U A)^+) / 2i. It is exact on any lattice, at any beta and anisotropy, and
/// for the directions one by one. Returned: for each direction, the left side minus the right, over beta.
std::array<double, dimensions> schwinger_dyson(const host_configuration& links, const gauge_action& action) {
  std::array<double, dimensions> sums =
      cpu::sum_over_sites<4>(links.geometry(), communicator(), [&](const coordinate& x) {
        std::array<double, dimensions> terms;
        for (int mu = 0; mu < dimensions; ++mu) {
          const su3<double> w = links(x)[mu] * staples(links, action, x, mu);
          su3<double> y = w - adjoint(w);  // 2i Y and its trace
          const complex<double> third = (1.0 / 3.0) * trace(y);
          double tr_y2 = 0.0;
          for (int i = 0; i < colours; ++i) {
            y(i, i) -= third;
            for (int j = 0; j < colours; ++j) tr_y2 += 0.25 * norm2(y(i, j));
          }
          terms[mu] = tr_y2 / 6.0 - 4.0 / 3.0 * trace(w).re / action.beta;
        }
        return terms;
      });
  for (double& s : sums) s /= static_cast<double>(links.geometry().global_volume());
  return sums;
}

TEST(HeatBath, SchwingerDysonEquationsHold) {
  struct parameters {
    extents size;
    gauge_action action;
    sweep_plan plan;
    int sweeps;
  };
  for (const auto& [size, action, plan, sweeps] : {parameters{{4, 6, 2, 8}, {0.5}, {1, 0}, 320},
                                                   {{4, 6, 2, 8}, {3.0}, {1, 0}, 320},
                                                   {{4, 4, 4, 4}, {5.5}, {1, 4}, 480},
                                                   {{4, 6, 2, 8}, {6.0, 2.5}, {1, 4}, 480},
                                                   {{6, 4, 4, 8}, {40.0, 0.5}, {1, 2}, 320},
                                                   {{4, 4, 4, 4}, {50.0}, {1, 4}, 480}}) {
    const int part = under_sanitizer() ? sweeps / 8 : sweeps;
    const auto series = run(size, action, plan, 60, part, 6, [&, &action = action](const gauge_configuration& links) {
      return schwinger_dyson(export_links(links), action);
    });
    for (int mu = 0; mu < dimensions; ++mu) {
      std::vector<double> of_mu;
      for (const auto& s : series) of_mu.push_back(s[mu]);
      expect_agreement(binned(of_mu), 0.0, 0.0, "Schwinger-Dyson");
    }
  }
}

/// To lowest order in 1/beta the action describes 8 free photons. A momentum has two transverse modes, of action
/// proportional to k^2 / xi + xi p_t^2 (k^2 = sum of 4 sin^2(p_i / 2), p_t^2 alike). The spatial planes and the planes
/// with time share it in that ratio. It has one electric mode of the planes with time alone; each has 1/2.
struct lowest_order {
  double spatial, temporal;  ///< 1 - plaquette
};
lowest_order free_photons(const extents& size, const gauge_action& action) {
  double magnetic = 0.0;
  const std::int64_t volume_ = volume(size);
  for (std::int64_t i = 1; i < volume_; ++i) {
    const coordinate n = coordinate_of(i, size);
    std::array<double, dimensions> square;
    for (int mu = 0; mu < dimensions; ++mu)
      square[mu] = std::pow(2.0 * std::sin(std::numbers::pi * n[mu] / size[mu]), 2);
    const double k2 = square[0] + square[1] + square[2], xi2 = action.anisotropy * action.anisotropy;
    magnetic += k2 / (k2 + xi2 * square[3]) / static_cast<double>(volume_);
  }
  return {8.0 / 3.0 * magnetic * action.anisotropy / action.beta,
          8.0 / 3.0 * (1.5 - magnetic) / action.anisotropy / action.beta};
}

TEST(HeatBath, AnisotropicPlaquettesFollowTheLowestOrder) {
  const extents size{6, 6, 6, 12};
  for (const double anisotropy : {0.5, 2.0, 4.0}) {
    const gauge_action action{200.0, anisotropy};
    const auto series = run(size, action, {1, 2}, 60, 128, 7,
                            [](const gauge_configuration& u) { return backend::measure_plaquettes(u); });
    std::vector<double> spatial, temporal;
    for (const plaquettes& p : series) {
      spatial.push_back(1.0 - p.spatial);
      temporal.push_back(1.0 - p.temporal);
    }
    const auto [s, t] = free_photons(size, action);
    // The next order is, in the isotropic case, 1.22 / (2 beta) of this one: 0.3 %; it is allowed to be thrice that.
    // The coupling of the spatial planes is beta / xi, which counts for xi > 1.
    const double next = 0.009 * std::max(1.0, anisotropy);
    expect_agreement(binned(spatial), s, next * s, "1 - spatial plaquette");
    expect_agreement(binned(temporal), t, next * t, "1 - temporal plaquette");
    if (anisotropy > 1.0) {
      EXPECT_LT(t, s);
    }
  }
}

TEST(HeatBath, OverrelaxationKeepsTheAction) {
  for (const gauge_action& action : {gauge_action{5.7}, gauge_action{6.0, 2.0}}) {
    const context ctx = context_on({4, 6, 2, 8});
    auto links = random_configuration(ctx, 8);
    heatbath_updater updater(ctx);
    updater.heatbath_sweep(links, action, 8, 0);
    const double before = backend::action_value(links, action);
    const host_configuration old = export_links(links);
    for (int n = 0; n < 50; ++n) updater.overrelaxation_sweep(links, action);
    // 50 sweeps round the action of each of 1536 links, of size 6 beta / 3 * 2 at most, some 100 times; the errors are
    // independent: 12 * sqrt(50 * 1536 * 100) epsilon, a few times.
    EXPECT_NEAR(backend::action_value(links, action), before, 4 * 6 * 12 * std::sqrt(50.0 * 1536 * 100) * epsilon);
    EXPECT_LE(backend::distance_from_su3(links), 32 * 0x1p-53);
    const host_configuration& now = export_links(links);
    const std::int64_t sites = old.geometry().local_volume();
    double moved = 0.0;
    for (std::int64_t site = 0; site < sites; ++site)
      moved += norm2(trace(adjoint(old.at_site(site)[1]) * now.at_site(site)[1]) - complex<double>{3.0, 0.0});
    EXPECT_GT(moved / static_cast<double>(sites), 1.0);
  }
}

TEST(HeatBath, OverrelaxationLeavesTheUnitFieldAlone) {
  // All staples are multiples of 1: each link is reflected about itself.
  auto links = unit_configuration(context_on({4, 4, 2, 2}));
  backend::overrelaxation_sweep(links, {6.0});
  EXPECT_EQ(average_plaquette(links), 1.0);
  EXPECT_EQ(backend::link_trace(links), 1.0);
}

TEST(HeatBath, HotAndColdStartsMeet) {
  const context ctx = context_on({8, 8, 8, 8});
  const gauge_action action{5.7};
  heatbath_updater updater(ctx);
  std::array<gauge_configuration, 2> links{unit_configuration(ctx), random_configuration(ctx, 9)};
  std::array<estimate, 2> found{};
  for (std::size_t start = 0; start < 2; ++start) {
    std::vector<double> series;
    for (std::uint64_t n = 0; n < 120; ++n) {
      updater.combined_sweep(links[start], action, {1, 4}, 10 + start, n);
      if (n >= 56) series.push_back(average_plaquette(links[start]));
    }
    found[start] = binned(series);
  }
  expect_agreement({found[0].mean - found[1].mean, std::hypot(found[0].error, found[1].error)}, 0.0, 0.0, "hot - cold");
}

bool same_bits(const host_configuration& a, const host_configuration& b) {
  const extents& local = a.geometry().local();
  coordinate x;
  for (x[3] = -1; x[3] <= local[3]; ++x[3])
    for (x[2] = -1; x[2] <= local[2]; ++x[2])
      for (x[1] = -1; x[1] <= local[1]; ++x[1])
        for (x[0] = -1; x[0] <= local[0]; ++x[0])
          if (a(x) != b(x)) return false;  // ghosts too
  return true;
}

TEST(HeatBath, AnyNumberOfThreadsGivesTheSameBits) {
  const int threads_before = omp_get_max_threads();
  const context ctx = context_on({4, 6, 2, 8});
  const auto run_with = [&](int threads) -> host_configuration {
    omp_set_num_threads(threads);
    return export_links(heatbath_configuration(ctx, {5.9, 1.5}, {1, 2}, 4, 11));
  };
  const host_configuration one = run_with(1);
  for (int threads : {2, 3, 5}) {
    EXPECT_TRUE(same_bits(run_with(threads), one)) << threads;
  }
  omp_set_num_threads(threads_before);
}

TEST(HeatBath, ARunThatIsContinuedGivesTheSameBits) {
  const context ctx = context_on({4, 6, 2, 8});
  const gauge_action action{6.0};
  const auto at_once = heatbath_configuration(ctx, action, {2, 3}, 6, 12);
  auto links = heatbath_configuration(ctx, action, {2, 3}, 4, 12);
  heatbath_updater again(ctx);
  for (std::uint64_t n = 4; n < 6; ++n) again.combined_sweep(links, action, {2, 3}, 12, n);
  EXPECT_TRUE(same_bits(export_links(links), export_links(at_once)));
}

TEST(HeatBath, SeedsAndSweepNumbersMatter) {
  const context ctx = context_on({4, 4, 2, 2});
  const auto one_sweep = [&](std::uint64_t seed, std::uint64_t number) -> host_configuration {
    auto links = unit_configuration(ctx);
    backend::heatbath_sweep(links, {6.0}, seed, number);
    return export_links(links);
  };
  const auto links = one_sweep(1, 0);
  EXPECT_TRUE(same_bits(one_sweep(1, 0), links));
  EXPECT_FALSE(same_bits(one_sweep(2, 0), links));
  EXPECT_FALSE(same_bits(one_sweep(1, 1), links));
}

TEST(HeatBath, LinksStayInSU3AndGhostsFilled) {
  const context ctx = context_on({4, 6, 2, 8});
  for (const gauge_action& action :
       {gauge_action{0.0}, gauge_action{6.0}, gauge_action{1e6}, gauge_action{6.0, 100.0}}) {
    const auto links = heatbath_configuration(ctx, action, {1, 1}, 3, 13);
    EXPECT_LE(backend::distance_from_su3(links), 32 * 0x1p-53);
    const host_configuration& found = export_links(links);
    host_configuration filled = found;
    exchange_ghosts(filled, communicator());
    EXPECT_TRUE(same_bits(filled, found));
  }
}

TEST(HeatBath, RefusesActionsAndFieldsItCannotUse) {
  const context ctx = context_on({4, 4, 2, 2});
  auto links = unit_configuration(ctx);
  heatbath_updater updater(ctx);
  for (const gauge_action& action : {gauge_action{-1.0}, gauge_action{std::nan("")}, gauge_action{6.0, 0.0},
                                     gauge_action{6.0, std::nan("")}, gauge_action{INFINITY}})
    EXPECT_THROW(updater.heatbath_sweep(links, action, 1, 0), input_error);
  auto other = unit_configuration(context_on({4, 4, 4, 2}));
  EXPECT_THROW(updater.heatbath_sweep(other, {6.0}, 1, 0), input_error);
}

TEST(HeatBath, ANaNInALinkIsNotHidden) {
  const context ctx = context_on({4, 4, 2, 2});
  host_configuration damaged = export_links(unit_configuration(ctx));
  damaged({1, 1, 1, 1})[2](0, 0).re = std::nan("");
  exchange_ghosts(damaged, communicator());
  auto links = backend::import_links(ctx, damaged);
  backend::heatbath_sweep(links, {6.0}, 1, 0);
  EXPECT_TRUE(std::isnan(average_plaquette(links)));
}

}  // namespace
}  // namespace plaquette::validation
