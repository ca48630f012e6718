// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// An operator of one's own goes everywhere: twisted mass through products, Schur complements and solvers.
#include "validation/support/twisted_mass.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "common/krylov/schur_solve.hpp"
#include "common/krylov/solver_choice.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette::validation {
namespace {

using backend::field;

constexpr double mu = 0.31;

/// The formula: the textbook's Wilson operator and i mu gamma_5.
spinor_configuration formula(spinor_configuration psi, const gauge_configuration& links, const fermion_action& action,
                             bool daggered) {
  spinor_configuration out(psi.geometry());
  cpu::textbook::apply(out, psi, links, action, communicator(), daggered);
  const double sign = daggered ? -1.0 : 1.0;
  visit_sites(psi.geometry(), [&](const coordinate& x) {
    for (int s = 0; s < spins; ++s)
      for (int c = 0; c < colours; ++c) out(x)(s, c) += complex<double>{0.0, sign * (s < 2 ? mu : -mu)} * psi(x)(s, c);
  });
  return out;
}

template <class T>
struct twisted_system {
  lattice_geometry geometry{{4, 6, 2, 8}};
  communicator comm;
  backend::context ctx = backend::context_with_threads(geometry, comm, 2);
  gauge_configuration links = cpu::weak_field_configuration(geometry, 0.25, 5, comm);
  fermion_action action = fermion_action::isotropic(-0.05, 0.0);
  twisted_mass_products<T> parts{std::make_shared<const backend::wilson_clover<T>>(ctx, links, action), mu};
};

template <class T>
spinor_configuration exported(const lattice_geometry& geometry, const field<T>& x, int column) {
  spinor_configuration out(geometry);
  export_column(out, x, column);
  return out;
}

template <class T>
class TwistedMass : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(TwistedMass, precisions);

TYPED_TEST(TwistedMass, IsTheFormulaAndItsAdjoint) {
  using T = TypeParam;
  const twisted_system<T> system;
  const twisted_mass_operator<T> m(system.parts);
  random_batch<T> in(system.ctx, 2, 3);
  for (const bool daggered : {false, true}) {
    auto out = like(in.packed);
    poison(out);
    if (daggered)
      m.apply_dagger(out, in.packed);
    else
      m.apply(out, in.packed);
    for (int c = 0; c < 2; ++c)
      EXPECT_TRUE(relative_distance(exported(system.geometry, out, c),
                                    formula(in.canonical[static_cast<std::size_t>(c)], system.links, system.action,
                                            daggered)) <= 10 * unit_roundoff<T>);
  }
}

TYPED_TEST(TwistedMass, ComplementsHaveTheirAdjoints) {
  using T = TypeParam;
  const twisted_system<T> system;
  for (const auto kind : {schur_kind::asymmetric, schur_kind::symmetric}) {
    const twisted_mass_schur<T> schur(system.parts, kind);
    random_batch<T> u(system.ctx, 2, 4), v(system.ctx, 2, 5);
    auto a = schur.even_like(u.packed), b = like(a), av = like(a), au = like(a);
    copy(a, u.packed.parity(0)), copy(b, v.packed.parity(0));
    poison(av), poison(au);
    schur.apply(av, b);
    schur.apply_dagger(au, a);
    const auto left = host_values(dot(a, av)), right = host_values(dot(au, b)), size = host_values(norm2(a));
    for (std::size_t c = 0; c < 2; ++c)
      EXPECT_TRUE(std::hypot(left[c].re - right[c].re, left[c].im - right[c].im) <=
                  100 * unit_roundoff<T> * size[c].re);
  }
}

TYPED_TEST(TwistedMass, IsSolvedThroughBothComplements) {
  using T = TypeParam;
  const twisted_system<T> system;
  const twisted_mass_operator<T> m(system.parts);
  const double tolerance = sizeof(T) == 4 ? 2e-6 : 1e-11, rounding = 200 * unit_roundoff<T>;
  for (const auto kind : {schur_kind::asymmetric, schur_kind::symmetric})
    for (const auto solver : {solver_kind::bicgstab, solver_kind::cgnr}) {
      const twisted_mass_schur<T> schur(system.parts, kind);
      random_batch<T> b(system.ctx, 2, 6);
      auto x = like(b.packed);
      zero(x);
      stopping_rule rule;
      rule.tolerance = tolerance;
      rule.limit = 2000;
      const schur_report report =
          schur_solve(schur, m, x, b.packed, rule, [&](const auto& a, auto& even, const auto& source, const auto& r) {
            return solve(solver, a, even, source, r, {});
          });
      ASSERT_TRUE(report.all_converged()) << report.columns[0].why;
      for (int c = 0; c < 2; ++c) {
        const auto image = formula(exported(system.geometry, x, c), system.links, system.action, false);
        EXPECT_TRUE(relative_distance(image, b.canonical[static_cast<std::size_t>(c)]) <= tolerance + rounding);
      }
    }
}

/// On free links |M e^ipx u|^2 = (m + W)^2 + sin^2 p + mu^2, whatever u is.
TEST(TwistedMassFreeField, HasTheKnownSingularValues) {
  const extents lattice{4, 4, 4, 8};
  const lattice_geometry geometry(lattice);
  const backend::context ctx = backend::context_with_threads(geometry, communicator(), 2);
  fermion_action action = fermion_action::isotropic(0.1, 0.0);
  action.boundary_phase = {};
  for (auto& phase : action.boundary_phase) phase = {1.0, 0.0};
  const auto wilson = std::make_shared<const backend::wilson_clover<double>>(ctx, unit_links(lattice), action);
  const twisted_mass_operator<double> m(twisted_mass_products<double>{wilson, mu});
  for (const std::array<int, 4> n : {std::array{0, 0, 0, 0}, std::array{1, 0, 3, 2}, std::array{2, 1, 1, 5}}) {
    spinor_configuration wave(geometry);
    double w = 0.0, s2 = 0.0;
    std::array<double, 4> p{};
    for (std::size_t i = 0; i < 4; ++i) {
      p[i] = 2.0 * std::numbers::pi * n[i] / lattice[static_cast<int>(i)];
      w += 1.0 - std::cos(p[i]);
      s2 += std::sin(p[i]) * std::sin(p[i]);
    }
    visit_sites(geometry, [&](const coordinate& x) {
      double angle = 0.0;
      for (std::size_t i = 0; i < 4; ++i) angle += p[i] * x[static_cast<int>(i)];
      for (int spin = 0; spin < spins; ++spin)
        for (int c = 0; c < colours; ++c)
          wave(x)(spin, c) = complex<double>{0.3 * spin - 0.4, 0.2 * c + 0.1 * spin} * unit_phase(angle);
    });
    backend::field<double> in(ctx, {spins, colours, site_subset::full, 1});
    import_column(in, 0, wave);
    auto out = like(in);
    m.apply(out, in);
    const double ratio = host_values(norm2(out))[0].re / host_values(norm2(in))[0].re;
    EXPECT_NEAR(ratio, (0.1 + w) * (0.1 + w) + s2 + mu * mu, 1e-12);
  }
}

}  // namespace
}  // namespace plaquette::validation
