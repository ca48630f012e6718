// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The device's Wilson-clover operator and its Schur complements against the CPU's, and against the physics that needs
/// no other program: gamma_5-Hermiticity, plane waves, adjoints.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "common/algebra/gamma.hpp"
#include "validation/gpu-vs-cpu/dirac/dirac_support.hpp"
#include "validation/support/device_sums.hpp"

namespace plaquette::validation {
namespace {

static_assert(linear_operator<gpu::wilson_clover<float>, gpu::field<float>>);
static_assert(schur_complement<gpu::schur_wilson_clover<half>, gpu::field<half>>);

const std::vector<extents> lattices = {{2, 2, 2, 2}, {4, 6, 2, 8}, {6, 6, 6, 6}, {2, 6, 10, 2}, {8, 4, 4, 6}};
constexpr int batches[] = {1, 5, 12};

template <class T>
struct DeviceWilsonClover : testing::Test {};
using precisions = testing::Types<half, float, double>;
TYPED_TEST_SUITE(DeviceWilsonClover, precisions);

TYPED_TEST(DeviceWilsonClover, AgreesWithTheCpu) {
  std::uint64_t seed = 400;
  double worst = 0.0;
  for (const extents& lattice : lattices) {
    const lattice_geometry geometry(lattice);
    const cpu::context host_ctx(geometry, communicator(), 2);
    const gpu::context ctx = device_context(geometry);
    const auto links = cpu::random_configuration(geometry, ++seed, communicator());
    for (const fermion_action& action : actions_to_test()) {
      const reconstruct stored = every_reconstruct[seed % 3];
      const cpu::wilson_clover<double> host(host_ctx, links, action);
      const gpu::wilson_clover<TypeParam> device(ctx, links, action, stored);
      const int columns = batches[seed / 2 % 3];
      const columns_on_both<TypeParam> in(host_ctx, ctx, columns, ++seed);
      auto expected = like(in.host);
      auto out = like(in.device);
      for (const bool daggered : {false, true}) {
        poison(out);
        daggered ? host.apply_dagger(expected, in.host) : host.apply(expected, in.host);
        daggered ? device.apply_dagger(out, in.device) : device.apply(out, in.device);
        const double distance = worst_distance(out, expected), tolerance = application_tolerance<TypeParam>(stored);
        worst = std::max(worst, distance / tolerance);
        ASSERT_TRUE(distance <= tolerance) << distance / tolerance << " of the tolerance, " << to_string(lattice)
                                           << " csw " << action.clover_temporal << " dagger " << daggered;
      }
    }
  }
  this->RecordProperty("worst_share_of_tolerance", std::to_string(worst));
}

/// Two hops and two products with blocks of condition below 10 for these fields: 30 times an application's error, as on
/// the CPU (validation/unit/production_dirac_test.cpp).
TYPED_TEST(DeviceWilsonClover, SchurComplementsAgreeWithTheCpu) {
  std::uint64_t seed = 500;
  for (const extents& lattice : lattices) {
    const lattice_geometry geometry(lattice);
    const cpu::context host_ctx(geometry, communicator(), 2);
    const gpu::context ctx = device_context(geometry);
    const auto links = cpu::weak_field_configuration(geometry, 0.3, ++seed, communicator());
    for (const fermion_action& action : actions_to_test()) {
      const auto host = std::make_shared<const cpu::wilson_clover<double>>(host_ctx, links, action);
      const auto device = std::make_shared<const gpu::wilson_clover<TypeParam>>(ctx, links, action);
      const int columns = batches[seed % 2];
      const columns_on_both<TypeParam> b(host_ctx, ctx, columns, ++seed);
      const double tolerance = 30 * application_tolerance<TypeParam>(reconstruct::none);
      for (const auto kind : {schur_kind::asymmetric, schur_kind::symmetric}) {
        const cpu::schur_wilson_clover<double> host_schur(host, kind);
        const gpu::schur_wilson_clover<TypeParam> schur(device, kind);
        auto expected = host_schur.even_like(b.host);
        auto out = schur.even_like(b.device);
        const auto host_even = b.host.parity(0);
        const auto even = b.device.parity(0);

        poison(out);
        host_schur.apply(expected, host_even), schur.apply(out, even);
        EXPECT_TRUE(worst_distance(out, expected) <= tolerance) << to_string(lattice);
        poison(out);
        host_schur.apply_dagger(expected, host_even), schur.apply_dagger(out, even);
        EXPECT_TRUE(worst_distance(out, expected) <= tolerance) << to_string(lattice);
        poison(out);
        host_schur.prepare_source(expected, b.host), schur.prepare_source(out, b.device);
        EXPECT_TRUE(worst_distance(out, expected) <= tolerance) << to_string(lattice);

        auto expected_full = like(b.host);
        auto full = like(b.device);
        poison(full);
        host_schur.reconstruct_solution(expected_full, host_even, b.host);
        schur.reconstruct_solution(full, even, b.device);
        EXPECT_TRUE(worst_distance(full, expected_full) <= tolerance) << to_string(lattice);

        const auto [found, size] = schur.apply_dot_norm2(out, even, even);
        expect_sums(host_values(found), host_values(size), out, even, to_string(lattice));
      }
    }
  }
}

TYPED_TEST(DeviceWilsonClover, DiagonalTimesItsInverseIsOne) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const cpu::context host_ctx(geometry, communicator());
  const gpu::context ctx = device_context(geometry);
  const auto links = cpu::random_configuration(geometry, 5, communicator());
  for (const fermion_action& action : actions_to_test()) {
    const gpu::wilson_clover<TypeParam> m(ctx, links, action);
    const columns_on_both<TypeParam> in(host_ctx, ctx, 2, 6);
    for (int p = 0; p < 2; ++p) {
      auto x = like(in.device.parity(p)), y = like(in.device.parity(p));
      poison(x), poison(y);
      m.inverse_diagonal().apply(x, in.device.parity(p));
      m.diagonal().apply(y, x);
      EXPECT_TRUE(worst_distance(y, in.host.parity(p)) <= 8 * application_tolerance<TypeParam>(reconstruct::none));
    }
  }
}

/// <v, M u> = <M^+ v, u> with both made by the device, and gamma_5 M gamma_5 = M^+.
TYPED_TEST(DeviceWilsonClover, DaggerIsTheAdjointAndGamma5Hermitian) {
  const lattice_geometry geometry({6, 4, 2, 8});
  const cpu::context host_ctx(geometry, communicator());
  const gpu::context ctx = device_context(geometry);
  const auto links = cpu::random_configuration(geometry, 700, communicator());
  for (const fermion_action& action : actions_to_test()) {
    const gpu::wilson_clover<TypeParam> m(ctx, links, action, reconstruct::twelve);
    const double tolerance = application_tolerance<TypeParam>(reconstruct::twelve);
    const columns_on_both<TypeParam> u(host_ctx, ctx, 2, 701), v(host_ctx, ctx, 2, 702);
    auto mu = like(u.device), mv = like(v.device);
    m.apply(mu, u.device);
    m.apply_dagger(mv, v.device);
    const auto left = host_values(dot(v.device, mu)), right = host_values(dot(mv, u.device));
    const auto size = host_values(norm2(mu)), v_size = host_values(norm2(v.device));
    for (std::size_t c = 0; c < 2; ++c)
      EXPECT_TRUE(std::sqrt(norm2(left[c] - right[c])) <= 2 * tolerance * std::sqrt(size[c].re * v_size[c].re));

    spinor_configuration rotated(geometry), found(geometry), expected(geometry);
    for (std::int64_t s = 0; s < geometry.local_volume(); ++s)
      rotated.at_site(s) = gamma_matrix(4) * v.canonical[0].at_site(s);
    gpu::field<TypeParam> in(ctx, {}), out(ctx, {});
    gpu::import_column(in, 0, rotated);
    m.apply(out, in);
    gpu::export_column(found, out, 0);
    for (std::int64_t s = 0; s < geometry.local_volume(); ++s) found.at_site(s) = gamma_matrix(4) * found.at_site(s);
    gpu::export_column(expected, mv, 0);
    EXPECT_TRUE(relative_distance(found, expected, communicator()) <= 2 * tolerance);
  }
}

/// On unit links M e^{ipx} w = [4 + m - sum cos p_mu + i sum gamma_mu sin p_mu] w e^{ipx}, p_mu = (2 pi n_mu +
/// theta_mu) / L_mu where the boundary phase is e^{i theta}.
TYPED_TEST(DeviceWilsonClover, PlaneWavesAreItsEigenspaces) {
  const extents lattice{6, 4, 2, 8};
  const lattice_geometry geometry(lattice);
  const gpu::context ctx = device_context(geometry);
  for (const double theta_t : {0.0, 0.7, std::acos(-1.0)}) {
    fermion_action action = fermion_action::isotropic(0.3, 1.0);  // the field strength of unit links is zero
    const std::array<double, 4> theta{0.0, theta_t == 0.7 ? 0.4 : 0.0, 0.0, theta_t};
    for (std::size_t mu = 0; mu < 4; ++mu)
      action.boundary_phase[mu] = theta[mu] == 0.0   ? complex<double>{1.0, 0.0}
                                  : theta[mu] > 3.14 ? complex<double>{-1.0, 0.0}
                                                     : complex<double>{std::cos(theta[mu]), std::sin(theta[mu])};
    const gpu::wilson_clover<TypeParam> m(ctx, gpu::unit_configuration(ctx), action, reconstruct::eight);
    const std::array<int, 4> n{1, 3, 1, 2};
    spinor<double> w;
    for (int i = 0; i < spins; ++i)
      for (int c = 0; c < colours; ++c) w(i, c) = {0.3 + i, 0.5 * c - 0.2 * i};
    double p[4];
    spin_matrix factor = spin_matrix::identity();
    factor = complex<double>{4.3, 0.0} * factor;
    for (int mu = 0; mu < 4; ++mu) {
      const auto k = static_cast<std::size_t>(mu);
      p[mu] = (2.0 * std::acos(-1.0) * n[k] + theta[k]) / lattice[k];
      factor = factor - complex<double>{std::cos(p[mu]), 0.0} * spin_matrix::identity() +
               complex<double>{0.0, std::sin(p[mu])} * gamma_matrix(mu);
    }
    spinor_configuration wave(geometry), expected(geometry), found(geometry);
    for (std::int64_t s = 0; s < geometry.local_volume(); ++s) {
      const coordinate x = geometry.local_coordinate(s);
      double px = 0.0;
      for (int mu = 0; mu < 4; ++mu) px += p[mu] * x[static_cast<std::size_t>(mu)];
      wave.at_site(s) = complex<double>{std::cos(px), std::sin(px)} * w;
      expected.at_site(s) = factor * wave.at_site(s);
    }
    gpu::field<TypeParam> in(ctx, {}), out(ctx, {});
    gpu::import_column(in, 0, wave);
    poison(out);
    m.apply(out, in);
    gpu::export_column(found, out, 0);
    EXPECT_TRUE(relative_distance(found, expected, communicator()) <=
                application_tolerance<TypeParam>(reconstruct::eight))
        << theta_t;
  }
}

TYPED_TEST(DeviceWilsonClover, ThatFollowsOtherLinksIsTheirsToTheBit) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const cpu::context host_ctx(geometry, communicator(), 2);
  const gpu::context ctx = device_context(geometry);
  const auto before = gpu::random_configuration(ctx, 21), after = gpu::random_configuration(ctx, 22);
  const columns_on_both<TypeParam> in(host_ctx, ctx, 3, 23);
  for (const fermion_action& action : actions_to_test())
    for (const reconstruct stored : every_reconstruct) {
      gpu::wilson_clover<TypeParam> m(ctx, before, action, stored);
      const auto* const blocks = m.diagonal().blocks(0);
      m.follow(after);
      EXPECT_EQ(m.diagonal().blocks(0), blocks);  // in place
      const gpu::wilson_clover<TypeParam> made(ctx, after, action, stored);
      auto found = like(in.device), expected = like(in.device);
      poison(found), poison(expected);
      m.apply(found, in.device);
      made.apply(expected, in.device);
      for (int c = 0; c < 3; ++c) {
        spinor_configuration a(geometry), b(geometry);
        gpu::export_column(a, found, c);
        gpu::export_column(b, expected, c);
        ASSERT_TRUE(same_bits(a, b)) << c;
      }
    }
}

/// The operators of a trajectory: in double, single and half precision, all of which follow links at once.
struct operators_at_once {
  std::shared_ptr<gpu::wilson_clover<double>> in_double;
  std::shared_ptr<gpu::wilson_clover<float>> in_single;
  std::shared_ptr<gpu::wilson_clover<half>> in_half;

  operators_at_once(const gpu::context& ctx, const gpu::gauge_configuration& links, const fermion_action& action)
      : in_double(std::make_shared<gpu::wilson_clover<double>>(ctx, links, action)),
        in_single(std::make_shared<gpu::wilson_clover<float>>(ctx, links, action, reconstruct::twelve)),
        in_half(std::make_shared<gpu::wilson_clover<half>>(ctx, links, action, reconstruct::eight)) {}

  /// Returns whether all blocks have an inverse.
  bool follow(const gpu::gauge_configuration& links, const fermion_action& action) const {
    for (const int parity : {0, 1}) spoil(*in_double, parity), spoil(*in_single, parity), spoil(*in_half, parity);
    gpu::follow_at_once(links, in_double->hopping(), &in_single->hopping(), &in_half->hopping());
    return gpu::make_diagonal_of_precisions(
        {in_double->diagonal().configuration(), in_double->inverse_diagonal().configuration(),
         in_single->diagonal().memory(), in_half->diagonal().memory(), in_single->inverse_diagonal().memory(),
         in_half->inverse_diagonal().memory()},
        links, action);
  }

 private:
  template <class T>
  static void spoil(const gpu::wilson_clover<T>& m, int parity) {
    auto a = m.diagonal(), inverse = m.inverse_diagonal();  // share memory
    a.spoil(parity), inverse.spoil(parity);
  }
};

template <class T>
void expect_the_asymmetric_system(const cpu::context& host_ctx, const gpu::context& ctx,
                                  const std::shared_ptr<const cpu::wilson_clover<double>>& host,
                                  const std::shared_ptr<gpu::wilson_clover<T>>& device, const std::string& what) {
  const columns_on_both<T> b(host_ctx, ctx, 2, 31);
  const cpu::schur_wilson_clover<double> host_schur(host, schur_kind::asymmetric);
  const gpu::schur_wilson_clover<T> schur(device, schur_kind::asymmetric);
  auto expected = host_schur.even_like(b.host);
  auto out = schur.even_like(b.device);
  poison(out);
  host_schur.apply(expected, b.host.parity(0)), schur.apply(out, b.device.parity(0));
  EXPECT_TRUE(worst_distance(out, expected) <= 30 * application_tolerance<T>(device->hopping().stored())) << what;
}

TEST(DeviceWilsonCloverAtOnce, FollowsLinksInAllPrecisions) {
  for (const extents& lattice : lattices) {
    const lattice_geometry geometry(lattice);
    const cpu::context host_ctx(geometry, communicator(), 2);
    const gpu::context ctx = device_context(geometry);
    const auto links = cpu::weak_field_configuration(geometry, 0.3, 32, communicator());
    const auto after = gpu::import_links(ctx, links);
    for (const fermion_action& action : actions_to_test()) {
      if (!action.has_clover()) continue;
      const operators_at_once m(ctx, gpu::random_configuration(ctx, 33), action);
      ASSERT_TRUE(m.follow(after, action)) << to_string(lattice);
      const auto host = std::make_shared<const cpu::wilson_clover<double>>(host_ctx, links, action);
      expect_the_asymmetric_system(host_ctx, ctx, host, m.in_double, to_string(lattice) + ", double");
      expect_the_asymmetric_system(host_ctx, ctx, host, m.in_single, to_string(lattice) + ", single");
      expect_the_asymmetric_system(host_ctx, ctx, host, m.in_half, to_string(lattice) + ", half");
    }
  }
}

TEST(DeviceWilsonCloverAtOnce, SaysThatABlockIsNotPositive) {
  const gpu::context ctx = device_context(lattice_geometry({4, 4, 2, 2}));
  const auto links = gpu::weak_field_configuration(ctx, 0.3, 34);
  const operators_at_once m(ctx, links, fermion_action::isotropic(0.1, 1.0));
  EXPECT_TRUE(m.follow(links, fermion_action::isotropic(0.1, 1.0)));
  EXPECT_FALSE(m.follow(links, fermion_action::isotropic(-6.0, 1.0)));
}

TEST(DeviceWilsonCloverErrors, AnOperatorWithoutInverseDiagonalIsRefused) {
  const gpu::context ctx = device_context(lattice_geometry({4, 4, 4, 4}));
  EXPECT_THROW(gpu::wilson_clover<float>(ctx, gpu::unit_configuration(ctx), fermion_action::isotropic(-4.0, 0.0)),
               input_error);
}

}  // namespace
}  // namespace plaquette::validation
