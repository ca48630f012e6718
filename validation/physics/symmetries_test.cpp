// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Symmetries of the Wilson-clover operator on random links: gamma_5-Hermiticity, gauge covariance, translation, charge
/// conjugation, reflection. Each compares two applications, so twice the rounding of one is allowed, times |M| / 8
/// <= 2.
#include <gtest/gtest.h>

#include <tuple>

#include "common/algebra/gamma.hpp"
#include "validation/support/actions.hpp"
#include "validation/support/operator_under_test.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette::validation {
namespace {

constexpr extents lattices[] = {{4, 6, 2, 8}, {2, 4, 6, 4}};

class symmetry : public testing::TestWithParam<std::tuple<operator_under_test, named_action>> {
 protected:
  const operator_under_test& op() const { return std::get<0>(GetParam()); }
  const fermion_action& action() const { return std::get<1>(GetParam()).action; }
  double tolerance() const { return 4.0 * op().rounding; }

  void expect_equal(const spinor_configuration& a, const spinor_configuration& b,
                    const spinor_configuration& in) const {
    const double distance = norm(sum(a, {-1.0, 0.0}, b)) / norm(in);
    EXPECT_TRUE(distance <= tolerance()) << distance;
  }
};

TEST_P(symmetry, gamma_5_turns_the_operator_into_its_adjoint) {
  for (const extents& lattice : lattices) {
    const dirac_operator m = op().make(random_links(lattice, 11), action());
    const spinor_configuration psi = random_spinor(lattice, 12);
    const spin_matrix gamma_5 = gamma_matrix(4);
    expect_equal(times(gamma_5, image(m, times(gamma_5, psi))), image(m, psi, true), psi);
  }
}

TEST_P(symmetry, the_adjoint_is_the_adjoint_in_scalar_products) {
  for (const extents& lattice : lattices) {
    const dirac_operator m = op().make(random_links(lattice, 13), action());
    const spinor_configuration phi = random_spinor(lattice, 14), psi = random_spinor(lattice, 15);
    const complex<double> difference = dot(phi, image(m, psi)) - dot(image(m, phi, true), psi);
    EXPECT_TRUE(std::sqrt(norm2(difference)) <= tolerance() * norm(phi) * norm(psi));
  }
}

TEST_P(symmetry, a_gauge_transformation_commutes_with_the_operator) {
  for (const extents& lattice : lattices)
    for (std::uint64_t seed : {16, 17}) {
      const gauge_configuration links = random_links(lattice, seed);
      const auto g = cpu::random_gauge_transformation(links.geometry(), seed + 100, communicator());
      const spinor_configuration psi = random_spinor(lattice, seed + 200);
      const dirac_operator m = op().make(links, action());
      const dirac_operator transformed_m = op().make(cpu::transformed(links, g, communicator()), action());
      expect_equal(image(transformed_m, cpu::transformed(psi, g, communicator())),
                   cpu::transformed(image(m, psi), g, communicator()), psi);
    }
}

/// psi'(x) = psi(x - mu); a spinor that comes from beyond the boundary brings its phase.
spinor_configuration translated(const spinor_configuration& psi, const fermion_action& action, int mu) {
  spinor_configuration result(psi.geometry());
  visit_sites(psi.geometry(), [&](const coordinate& x) {
    coordinate from = shifted(x, mu, -1);
    const bool crosses = from[mu] < 0;
    if (crosses) from[mu] += psi.geometry().global()[mu];
    result(x) = (crosses ? conj(action.boundary_phase[mu]) : complex<double>{1.0, 0.0}) * psi(from);
  });
  return result;
}

gauge_configuration translated(const gauge_configuration& links, int mu) {
  gauge_configuration result(links.geometry());
  visit_sites(links.geometry(), [&](const coordinate& x) { result(x) = links(shifted(x, mu, -1)); });
  exchange_ghosts(result, communicator());
  return result;
}

TEST_P(symmetry, a_translation_commutes_with_the_operator) {
  for (const extents& lattice : lattices) {
    const gauge_configuration links = random_links(lattice, 18);
    const spinor_configuration psi = random_spinor(lattice, 19);
    const spinor_configuration m_psi = image(op().make(links, action()), psi);
    for (int mu = 0; mu < dimensions; ++mu)
      expect_equal(image(op().make(translated(links, mu), action()), translated(psi, action(), mu)),
                   translated(m_psi, action(), mu), psi);
  }
}

/// gamma_x gamma_z psi*: this spin matrix B has B gamma_mu* = gamma_mu B in the DeGrand-Rossi basis, where gamma_x and
/// gamma_z are imaginary and the others real.
spinor_configuration charge_conjugated(spinor_configuration psi) {
  visit_sites(psi.geometry(), [&](const coordinate& x) {
    for (int s = 0; s < spins; ++s)
      for (int c = 0; c < colours; ++c) psi(x)(s, c) = conj(psi(x)(s, c));
  });
  return times(gamma_matrix(0) * gamma_matrix(2), psi);
}

gauge_configuration charge_conjugated(gauge_configuration links) {
  visit_sites(links.geometry(), [&](const coordinate& x) {
    for (auto& u : links(x))
      for (int i = 0; i < colours; ++i)
        for (int j = 0; j < colours; ++j) u(i, j) = conj(u(i, j));
  });
  exchange_ghosts(links, communicator());
  return links;
}

TEST_P(symmetry, charge_conjugation_commutes_with_the_operator) {
  fermion_action conjugated = action();
  for (auto& phase : conjugated.boundary_phase) phase = conj(phase);
  for (const extents& lattice : lattices) {
    const gauge_configuration links = random_links(lattice, 20);
    const spinor_configuration psi = random_spinor(lattice, 21);
    expect_equal(image(op().make(charge_conjugated(links), conjugated), charge_conjugated(psi)),
                 charge_conjugated(image(op().make(links, action()), psi)), psi);
  }
}

/// x with x_mu replaced by -x_mu, wrapped onto the lattice.
coordinate mirror(coordinate x, int mu, const lattice_geometry& geometry) {
  x[mu] = (geometry.global()[mu] - x[mu]) % geometry.global()[mu];
  return x;
}

/// psi'(x) = gamma_5 gamma_mu psi(mirror x): this spin matrix turns the sign of gamma_mu and of no other.
spinor_configuration reflected(const spinor_configuration& psi, const fermion_action& action, int mu) {
  spinor_configuration result(psi.geometry());
  visit_sites(psi.geometry(), [&](const coordinate& x) {
    const complex<double> phase = x[mu] == 0 ? complex<double>{1.0, 0.0} : conj(action.boundary_phase[mu]);
    result(x) = phase * (gamma_matrix(4) * gamma_matrix(mu) * psi(mirror(x, mu, psi.geometry())));
  });
  return result;
}

gauge_configuration reflected(const gauge_configuration& links, int mu) {
  gauge_configuration result(links.geometry());
  visit_sites(links.geometry(), [&](const coordinate& x) {
    const coordinate y = mirror(x, mu, links.geometry());
    result(x) = links(y);
    result(x)[mu] = adjoint(links(shifted(y, mu, -1))[mu]);
  });
  exchange_ghosts(result, communicator());
  return result;
}

TEST_P(symmetry, a_reflection_commutes_with_the_operator) {
  for (const extents& lattice : lattices) {
    const gauge_configuration links = random_links(lattice, 22);
    const spinor_configuration psi = random_spinor(lattice, 23);
    const spinor_configuration m_psi = image(op().make(links, action()), psi);
    for (int mu = 0; mu < dimensions; ++mu) {
      fermion_action mirrored = action();
      mirrored.boundary_phase[mu] = conj(mirrored.boundary_phase[mu]);
      expect_equal(image(op().make(reflected(links, mu), mirrored), reflected(psi, action(), mu)),
                   reflected(m_psi, action(), mu), psi);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    all, symmetry, testing::Combine(testing::ValuesIn(operators_under_test()), testing::ValuesIn(typical_actions())),
    [](const auto& info) { return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name; });

}  // namespace
}  // namespace plaquette::validation
