// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Momenta of links: their distribution, kinetic energy and size; the mean rectangle.
#include "cpu_ref/gauge/momenta.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "common/error.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/plaquette.hpp"

namespace plaquette::cpu {
namespace {

constexpr double epsilon = 0x1p-52;
const communicator alone;

/// Returns T_k = lambda_k / 2, k from 0, as Gell-Mann wrote them.
std::array<su3<double>, 8> generators() {
  std::array<su3<double>, 8> t;
  const auto set = [&](std::size_t k, int i, int j, complex<double> z) {
    t[k](i, j) = 0.5 * z;
    t[k](j, i) = 0.5 * conj(z);
  };
  set(0, 0, 1, {1, 0}), set(1, 0, 1, {0, -1}), set(3, 0, 2, {1, 0}), set(4, 0, 2, {0, -1}), set(5, 1, 2, {1, 0}),
      set(6, 1, 2, {0, -1});
  t[2](0, 0).re = 0.5, t[2](1, 1).re = -0.5;
  const double s = 0.5 / std::sqrt(3.0);
  t[7](0, 0).re = t[7](1, 1).re = s, t[7](2, 2).re = -2.0 * s;
  return t;
}

/// Returns a_k = -2 i tr (A T_k) of every link.
std::vector<double> components(const gauge_momenta& momenta) {
  const auto t = generators();
  std::vector<double> a;
  for (std::int64_t site = 0; site < momenta.geometry().local_volume(); ++site)
    for (const su3<double>& m : momenta.at_site(site))
      for (const su3<double>& t_k : t) a.push_back(2.0 * trace(m * t_k).im);
  return a;
}

TEST(Momenta, HaveIndependentNormalComponents) {
  const lattice_geometry geometry({8, 8, 8, 8});
  const gauge_momenta momenta = random_momenta(geometry, 5, 3, alone);
  const std::vector<double> a = components(momenta);
  const double n = static_cast<double>(a.size());  // 131072
  double moments[4]{};
  std::array<double, 8> of_component{}, with_next{};
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (int p = 0; p < 4; ++p) moments[p] += std::pow(a[i], p + 1) / n;
    of_component[i % 8] += 8.0 * a[i] * a[i] / n;
    with_next[i % 8] += 8.0 * a[i] * a[(i + 1) % a.size()] / n;
  }
  // Four standard deviations: of a, a^2, a^3, a^4 they are 1, sqrt 2, sqrt 15, sqrt 96; five of each component's.
  EXPECT_NEAR(moments[0], 0.0, 4.0 / std::sqrt(n));
  EXPECT_NEAR(moments[1], 1.0, 4.0 * std::sqrt(2.0 / n));
  EXPECT_NEAR(moments[2], 0.0, 4.0 * std::sqrt(15.0 / n));
  EXPECT_NEAR(moments[3], 3.0, 4.0 * std::sqrt(96.0 / n));
  for (std::size_t k = 0; k < 8; ++k) {
    EXPECT_NEAR(of_component[k], 1.0, 5.0 * std::sqrt(16.0 / n)) << k;
    EXPECT_NEAR(with_next[k], 0.0, 5.0 * std::sqrt(8.0 / n)) << k;
  }
  double energy = 0.0, largest = 0.0;
  for (std::size_t i = 0; i < a.size(); i += 8) {
    double square = 0.0;
    for (std::size_t k = 0; k < 8; ++k) square += a[i + k] * a[i + k];
    energy += 0.5 * square;
    largest = std::max(largest, square);
  }
  EXPECT_NEAR(kinetic_energy(momenta, alone), energy, 1e-12 * energy);
  const force_size size = size_of_force(momenta, alone);
  EXPECT_NEAR(size.largest, std::sqrt(largest), 10 * epsilon * size.largest);
  EXPECT_NEAR(size.rms, std::sqrt(2.0 * energy * 8.0 / n), 1e-12);
}

TEST(Momenta, AreInTheAlgebra) {
  const gauge_momenta momenta = random_momenta(lattice_geometry({4, 2, 4, 2}), 5, 3, alone);
  const auto t = generators();
  for (std::int64_t site = 0; site < momenta.geometry().local_volume(); ++site)
    for (const su3<double>& m : momenta.at_site(site)) {
      su3<double> sum;
      for (const su3<double>& t_k : t) sum += complex<double>{0.0, 2.0 * trace(m * t_k).im} * t_k;
      for (int i = 0; i < colours; ++i)
        for (int j = 0; j < colours; ++j) EXPECT_LE(std::sqrt(norm2(sum(i, j) - m(i, j))), 20 * epsilon);
    }
}

TEST(Momenta, DifferBySeedAndIndexAndAreRefreshedInPlace) {
  const lattice_geometry geometry({2, 4, 2, 2});
  const gauge_momenta first = random_momenta(geometry, 5, 3, alone);
  gauge_momenta other = random_momenta(geometry, 6, 3, alone);
  EXPECT_NE(first.at_site(0), other.at_site(0));
  const auto* const there = &other.at_site(0);
  refresh_momenta(other, 5, 3);
  EXPECT_EQ(there, &other.at_site(0));
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    EXPECT_EQ(first.at_site(site), other.at_site(site));
  for (const std::uint64_t index : {std::uint64_t{2}, std::uint64_t{4}, 3 + (std::uint64_t{1} << 40)}) {
    refresh_momenta(other, 5, index);
    EXPECT_NE(first.at_site(0), other.at_site(0)) << index;
  }
  EXPECT_NE(first.at_site(0)[0], first.at_site(0)[1]);
  EXPECT_NE(first.at_site(0)[0], first.at_site(1)[0]);
}

TEST(KineticEnergyDifference, LosesNoDigits) {
  const lattice_geometry geometry({4, 4, 4, 4});
  const gauge_momenta before = random_momenta(geometry, 5, 3, alone), change = random_momenta(geometry, 5, 4, alone);
  for (const double size : {1.0, 1e-9}) {
    gauge_momenta after = before;
    double expected = 0.0;  // 2 (b, size c) + size^2 (c, c)
    for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
      for (int mu = 0; mu < dimensions; ++mu) {
        const su3<double>&b = before.at_site(site)[mu], &c = change.at_site(site)[mu];
        after.at_site(site)[mu] += size * c;
        expected += 2.0 * size * real_trace_with_adjoint(b, c) + size * size * real_trace_with_adjoint(c, c);
      }
    // `after` is rounded: 8192 numbers of size 1, times as large ones.
    EXPECT_NEAR(kinetic_energy_difference(after, before, alone), expected, 8192 * epsilon + 1e-12 * std::abs(expected));
    EXPECT_EQ(kinetic_energy_difference(before, before, alone), 0.0);
  }
  EXPECT_THROW(kinetic_energy_difference(before, gauge_momenta(lattice_geometry({2, 2, 2, 2})), alone), input_error);
}

TEST(SizeOfForce, ShowsANaN) {
  gauge_momenta momenta = random_momenta(lattice_geometry({2, 4, 2, 2}), 5, 3, alone);
  momenta.at_site(7)[2](1, 1).im = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(size_of_force(momenta, alone).largest));
  EXPECT_TRUE(std::isnan(size_of_force(momenta, alone).rms));
}

TEST(MeanRectangle, IsThatOfTheLoops) {
  const lattice_geometry geometry({4, 2, 4, 6});
  const auto links = weak_field_configuration(geometry, 0.3, 1, alone);
  const auto link = [&](coordinate x, int mu) {
    for (int k = 0; k < dimensions; ++k) x[k] %= geometry.local()[k];
    return links(x)[mu];
  };
  double sum = 0.0;
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate x = geometry.local_coordinate(site);
    for (int mu = 0; mu < dimensions; ++mu)  // two links along mu, one along nu
      for (int nu = 0; nu < dimensions; ++nu) {
        if (nu == mu) continue;
        const coordinate a = shifted(x, mu, 1), b = shifted(a, mu, 1), c = shifted(x, nu, 1), d = shifted(c, mu, 1);
        sum +=
            trace(link(x, mu) * link(a, mu) * link(b, nu) * adjoint(link(x, nu) * link(c, mu) * link(d, mu))).re / 3.0;
      }
  }
  EXPECT_NEAR(mean_rectangle(links, alone), sum / (12.0 * 192.0), 1e-13);
  EXPECT_NEAR(mean_rectangle(unit_configuration(geometry), alone), 1.0, 1e-14);
}

}  // namespace
}  // namespace plaquette::cpu
