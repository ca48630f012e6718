// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The free field: on unit links everything about the Wilson operator is known in closed form. With p_mu = (2 pi n_mu +
/// theta_mu) / L_mu, boundary phases exp(i theta_mu) and hop coefficients c_mu,
///   M e^{ipx} u = e^{ipx} [m + W(p) + i gamma.s(p)] u,   W = sum_mu c_mu (1 - cos p_mu),   s_mu = c_mu sin p_mu.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>
#include <vector>

#include "common/algebra/gamma.hpp"
#include "validation/support/actions.hpp"
#include "validation/support/operator_under_test.hpp"
#include "validation/support/test_fields.hpp"
#include "validation/support/test_solver.hpp"

namespace plaquette::validation {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

using momentum = std::array<double, dimensions>;

momentum momentum_of(const coordinate& n, const extents& lattice, const fermion_action& action) {
  momentum p;
  for (int mu = 0; mu < dimensions; ++mu) {
    const complex<double> phase = action.boundary_phase[mu];
    p[mu] = (2.0 * std::numbers::pi * n[mu] + std::atan2(phase.im, phase.re)) / lattice[mu];
  }
  return p;
}

complex<double> plane_wave(const momentum& p, const coordinate& x) {
  double px = 0.0;
  for (int mu = 0; mu < dimensions; ++mu) px += p[mu] * x[mu];
  return unit_phase(px);
}

/// m + W(p)
double mass_and_wilson_term(const momentum& p, const fermion_action& action) {
  double sum = action.mass;
  for (int mu = 0; mu < dimensions; ++mu) sum += action.hop_coefficient(mu) * (1.0 - std::cos(p[mu]));
  return sum;
}

/// gamma.s(p)
spin_matrix gamma_dot_s(const momentum& p, const fermion_action& action) {
  spin_matrix sum;
  for (int mu = 0; mu < dimensions; ++mu)
    sum = sum + complex<double>{action.hop_coefficient(mu) * std::sin(p[mu]), 0.0} * gamma_matrix(mu);
  return sum;
}

double s_squared(const momentum& p, const fermion_action& action) {
  double sum = 0.0;
  for (int mu = 0; mu < dimensions; ++mu) {
    const double s = action.hop_coefficient(mu) * std::sin(p[mu]);
    sum += s * s;
  }
  return sum;
}

template <class Visit>
void visit_momenta(const extents& lattice, const fermion_action& action, Visit&& visit) {
  for (std::int64_t i = 0; i < volume(lattice); ++i) visit(momentum_of(coordinate_of(i, lattice), lattice, action));
}

spinor_configuration wave(const momentum& p, const spinor<double>& u, const extents& lattice) {
  spinor_configuration psi{lattice_geometry(lattice)};
  visit_sites(psi.geometry(), [&](const coordinate& x) { psi(x) = plane_wave(p, x) * u; });
  return psi;
}

std::vector<named_action> free_actions() {
  return {{"light", fermion_action::isotropic(0.05, 0.0)},
          {"light_periodic", periodic(fermion_action::isotropic(0.05, 0.0))},
          {"heavy", fermion_action::isotropic(1.0, 0.0)},
          {"negative_mass", fermion_action::isotropic(-0.15, 0.0)},
          {"clover_periodic", periodic(fermion_action::isotropic(0.3, 1.7))},
          {"twisted", twisted(fermion_action::isotropic(0.3, 0.0))},
          {"anisotropic", {0.1, 0.0, 0.0, 2.5, 1.3}},
          {"anisotropic_twisted_clover", twisted({0.2, 0.8, 1.1, 3.0, 0.9})}};
}

template <class Parameter>
std::string parameter_name(const testing::TestParamInfo<Parameter>& info) {
  return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name;
}

class free_operator : public testing::TestWithParam<std::tuple<operator_under_test, named_action>> {
 protected:
  const operator_under_test& op() const { return std::get<0>(GetParam()); }
  const fermion_action& action() const { return std::get<1>(GetParam()).action; }
};

TEST_P(free_operator, has_plane_waves_as_eigenvectors_with_the_known_eigenvalues) {
  for (const extents& lattice : {extents{4, 6, 2, 4}, extents{2, 2, 4, 6}}) {
    const dirac_operator m = op().make(unit_links(lattice), action());
    int colour = 0;
    visit_momenta(lattice, action(), [&](const momentum& p) {
      const double s = std::sqrt(s_squared(p, action()));
      for (int spin = 0; spin < spins; ++spin) {
        spinor<double> u;
        colour = (colour + 1) % colours;
        u(spin, colour) = {1.0, 0.0};
        // The projection onto eigenvalue +i or -i of i gamma.s / |s|, for two spins each; where s = 0 any u will do.
        const double sign = spin % 2 == 0 ? 1.0 : -1.0;
        if (s > 1e-8) u = u + complex<double>{sign / s, 0.0} * (gamma_dot_s(p, action()) * u);
        const spinor_configuration psi = wave(p, u, lattice);
        const complex<double> eigenvalue{mass_and_wilson_term(p, action()), s > 1e-8 ? sign * s : 0.0};
        const double distance = norm(sum(image(m, psi), -eigenvalue, psi)) / norm(psi);
        // The waves themselves are rounded: phases to about |px| < 60 times half an epsilon, of an operator below 12.
        ASSERT_TRUE(distance <= op().rounding + 12 * 30 * epsilon) << distance;
      }
    });
  }
}

TEST_P(free_operator, multiplies_a_constant_by_the_mass_where_the_boundary_is_periodic) {
  fermion_action everywhere_periodic = action();
  everywhere_periodic.boundary_phase.fill({1.0, 0.0});
  const extents lattice{4, 2, 6, 4};
  const dirac_operator m = op().make(unit_links(lattice), everywhere_periodic);
  spinor<double> u;
  for (int s = 0; s < spins; ++s)
    for (int c = 0; c < colours; ++c) u(s, c) = {1.0 + s, 0.5 - c};
  const spinor_configuration psi = wave({0.0, 0.0, 0.0, 0.0}, u, lattice);
  for (bool dagger : {false, true}) {
    const double distance = norm(sum(image(m, psi, dagger), {-action().mass, 0.0}, psi)) / norm(psi);
    EXPECT_TRUE(distance <= op().rounding) << distance;
  }
}

INSTANTIATE_TEST_SUITE_P(all, free_operator,
                         testing::Combine(testing::ValuesIn(operators_under_test()), testing::ValuesIn(free_actions())),
                         parameter_name<free_operator::ParamType>);

/// S(x, y) = 1/V sum_p e^{ip(x-y)} [m + W - i gamma.s] / [(m + W)^2 + s^2], for y = `source`: one spin matrix a site.
site_field<spin_matrix> closed_form_propagator(const coordinate& source, const extents& lattice,
                                               const fermion_action& action) {
  site_field<spin_matrix> s{lattice_geometry(lattice)};
  visit_momenta(lattice, action, [&](const momentum& p) {
    const double w = mass_and_wilson_term(p, action);
    const double scale = 1.0 / (static_cast<double>(volume(lattice)) * (w * w + s_squared(p, action)));
    const spin_matrix at_p = complex<double>{w * scale, 0.0} * spin_matrix::identity() +
                             complex<double>{0.0, -scale} * gamma_dot_s(p, action);
    visit_sites(s.geometry(),
                [&](const coordinate& x) { s(x) = s(x) + plane_wave(p, x) * conj(plane_wave(p, source)) * at_p; });
  });
  return s;
}

class free_propagator : public free_operator {};

TEST_P(free_propagator, is_the_closed_form) {
  const extents lattice{4, 2, 6, 8};
  const coordinate origin{1, 1, 5, 7};
  const site_field<spin_matrix> expected = closed_form_propagator(origin, lattice, action());
  const dirac_operator m = op().make(unit_links(lattice), action());
  double smallest = 1e300;  // the smallest singular value of M: M is normal on the free field
  visit_momenta(lattice, action(), [&](const momentum& p) {
    const double w = mass_and_wilson_term(p, action());
    smallest = std::min(smallest, std::sqrt(w * w + s_squared(p, action())));
  });
  for (int spin = 0; spin < spins; ++spin) {
    const int colour = spin % colours;
    const test_solution column = solve(m, point_source(lattice, origin, spin, colour), 1e-14);
    ASSERT_TRUE(column.residual <= 1e-11) << column.residual;
    spinor_configuration closed_form(column.x.geometry());
    visit_sites(closed_form.geometry(), [&](const coordinate& x) {
      for (int s = 0; s < spins; ++s) closed_form(x)(s, colour) = expected(x)(s, spin);
    });
    // |x - S b| <= |M^-1| |b - M x|, with |b| = 1; the sum over V momenta is rounded to about V epsilon of 1/smallest.
    const double allowed = (column.residual + static_cast<double>(volume(lattice)) * epsilon) / smallest;
    const double distance = norm(sum(column.x, {-1.0, 0.0}, closed_form));
    EXPECT_TRUE(distance <= allowed) << distance << " allowed " << allowed;
  }
}

INSTANTIATE_TEST_SUITE_P(solved, free_propagator,
                         testing::Combine(testing::ValuesIn(double_precision_operators()),
                                          testing::ValuesIn(free_actions())),
                         parameter_name<free_propagator::ParamType>);

}  // namespace
}  // namespace plaquette::validation
