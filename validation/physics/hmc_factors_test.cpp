// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The factors of the quarks' determinant, with twisted masses and without, against dense matrices: formulas, vectors,
/// heat bath, actions and forces.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "common/hmc/molecular_dynamics.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/gauge_force.hpp"
#include "cpu_ref/hmc/hmc_textbook.hpp"
#include "validation/support/dense_dirac.hpp"
#include "validation/support/hmc_backend.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette::validation {
namespace {

constexpr extents lattice{2, 2, 2, 2};
constexpr std::complex<double> i(0.0, 1.0);

/// Returns ln |det a|.
double log_determinant(const dense_matrix& a) {
  const Eigen::PartialPivLU<dense_matrix> lu(a);
  return lu.matrixLU().diagonal().array().abs().log().sum();
}

/// The matrices of hybrid_action.hpp on one set of links.
class dense_quarks {
 public:
  dense_quarks(const gauge_configuration& links, const quark_pairs& quarks) : quarks_(quarks) {
    const lattice_geometry& geometry = links.geometry();
    const Eigen::Index sites = geometry.local_volume();
    std::vector<int> rows[2];
    for (Eigen::Index k = 0; k < spins * colours * sites; ++k)
      rows[parity(geometry.local_coordinate(k / colours % sites))].push_back(static_cast<int>(k));
    const Eigen::Index half = std::ssize(rows[0]);
    gamma5_ = dense_matrix::Zero(half, half);
    for (Eigen::Index k = 0; k < half; ++k) gamma5_(k, k) = k < half / 2 ? 1.0 : -1.0;
    for (int k = 0; k < quarks.factors(); ++k) {
      m_.push_back(dense_dirac(links, quarks.action_of(k)));
      for (Eigen::Index n = 0; n < 2 * half; ++n) m_.back()(n, n) += (n < half ? i : -i) * quarks.twisted_mass;
      const auto part = [&](int p, int q) { return dense_matrix(m_.back()(rows[p], rows[q])); };
      odd_.push_back(part(1, 1));
      w_.push_back(part(0, 0) - part(0, 1) * odd_.back().inverse() * part(1, 0) + i * quarks.mu(k) * gamma5_);
    }
    even_rows_ = rows[0], odd_rows_ = rows[1];
  }

  const dense_matrix& m(int k) const { return m_[static_cast<std::size_t>(k)]; }
  const dense_matrix& w(int k) const { return w_[static_cast<std::size_t>(k)]; }
  const dense_matrix& gamma5() const { return gamma5_; }
  dense_vector even(const spinor_configuration& psi) const { return to_dense(psi)(even_rows_); }
  dense_vector odd_part(const dense_vector& psi) const { return psi(odd_rows_); }
  /// Returns ln det (A_oo^2 + mu^2).
  double log_determinant_of_odd_sites() const { return 2.0 * log_determinant(odd_[0]); }
  /// Returns W_k X.
  dense_vector source(int k, const dense_vector& phi) const {
    return quarks_.is_last(k) ? dense_vector(gamma5_ * phi) : dense_vector((w(k + 1) - w(k)) * phi);
  }
  dense_vector x(int k, const dense_vector& phi) const { return w(k).partialPivLu().solve(source(k, phi)); }
  /// Returns the vector whose square is the action.
  dense_vector of_action(int k, const dense_vector& phi) const {
    return quarks_.is_last(k) ? x(k, phi) : dense_vector(w(k).partialPivLu().solve(w(k + 1) * phi));
  }

 private:
  quark_pairs quarks_;
  std::vector<dense_matrix> m_, odd_, w_;
  dense_matrix gamma5_;
  std::vector<int> even_rows_, odd_rows_;
};

struct factor_case {
  std::string name;
  quark_pairs quarks;
  factor_solver::kind method = factor_solver::kind::cg;
};

std::vector<factor_case> factor_cases() {
  const auto of = [](double csw, double twisted_mass, std::vector<double> masses) {
    quark_pairs quarks{fermion_action::isotropic(0.3, csw)};
    quarks.twisted_mass = twisted_mass;
    quarks.twisted_masses = std::move(masses);
    return quarks;
  };
  using enum factor_solver::kind;
  quark_pairs four = of(1.1, 0.3, {0.0, 0.5});
  four.pairs = 2;
  const auto shifted = [&of](double csw, double twisted_mass, std::vector<double> shifts) {
    quark_pairs quarks = of(csw, twisted_mass, std::vector<double>(shifts.size(), 0.0));
    quarks.mass_shifts = std::move(shifts);
    return quarks;
  };
  return {{"shifted_wilson", shifted(0.0, 0.0, {0.0, 0.4})},
          {"shifted_clover", shifted(1.3, 0.0, {0.0, 0.2, 0.6})},
          {"shifted_twisted_clover_bicgstab", shifted(1.3, 0.3, {0.0, 0.2, 0.6}), bicgstab},
          {"shifted_twisted_wilson", shifted(0.0, 0.3, {0.0, 0.2})},
          {"wilson", of(0.0, 0.0, {0.0, 0.4})},
          {"clover", of(1.3, 0.0, {0.0, 0.2, 0.6})},
          {"clover_bicgstab", of(1.3, 0.0, {0.0, 0.2, 0.6}), bicgstab},
          {"twisted_wilson", of(0.0, 0.3, {0.0, 0.4})},
          {"twisted_clover", of(1.3, 0.3, {0.0, 0.2, 0.6})},
          {"twisted_clover_bicgstab", of(1.3, 0.3, {0.0, 0.2, 0.6}), bicgstab},
          {"twisted_alone", of(1.3, 0.05, {0.0})},
          {"twisted_four_flavours", four}};
}

class hmc_factors : public testing::TestWithParam<factor_case> {
 protected:
  const quark_pairs& quarks() const { return GetParam().quarks; }
  hybrid_action action() const {
    hybrid_action all;
    all.quarks = quarks();
    all.solvers.assign(static_cast<std::size_t>(quarks().factors()), {GetParam().method});
    all.cg_force_tolerance = all.force_tolerance = all.action_tolerance = 1e-14;
    return all;
  }
  std::unique_ptr<molecular_dynamics> begun() const {
    auto state = make_molecular_dynamics(ctx, links, action());
    state->refresh(3);
    return state;
  }
  spinor_configuration vectors(const molecular_dynamics& state, int k, factor_vectors which, int pair = 0) const {
    spinor_configuration psi(geometry);
    state.get(k, which, pair, psi);
    return psi;
  }
  gauge_configuration moved(double step) const {
    gauge_configuration there = links;
    cpu::move_links(there, direction, step, alone);
    return there;
  }
  /// Returns the action of a factor at fixed pseudofermions, summed over pairs.
  double action_of(const dense_quarks& dense, const molecular_dynamics& state, int k) const {
    double sum = 0.0;
    for (int pair = 0; pair < quarks().pairs; ++pair)
      sum += dense.of_action(k, dense.even(vectors(state, k, factor_vectors::pseudofermion, pair))).squaredNorm();
    return sum;
  }

  const communicator alone{};
  const lattice_geometry geometry{lattice};
  const backend::context ctx{geometry, alone};
  const gauge_configuration links = random_links(lattice, 5), direction = cpu::textbook::momenta(geometry, 6, 0, alone);
  const dense_quarks dense{links, quarks()};
};

void expect_near(const dense_vector& found, const dense_vector& expected, double tolerance, const std::string& what) {
  EXPECT_TRUE((found - expected).norm() <= tolerance * expected.norm())
      << what << ": " << (found - expected).norm() / expected.norm();
}

TEST_P(hmc_factors, have_the_determinant_as_their_product) {
  double product = dense.log_determinant_of_odd_sites();
  for (int k = 0; k < quarks().factors(); ++k) {
    product += 2.0 * log_determinant(dense.w(k));
    if (!quarks().is_last(k)) product -= 2.0 * log_determinant(dense.w(k + 1));
  }
  EXPECT_NEAR(product, 2.0 * log_determinant(dense.m(0)), 1e-10);
}

TEST_P(hmc_factors, have_the_vectors_of_dense_matrices) {
  const auto state = begun();
  for (int k = 0; k < quarks().factors(); ++k) {
    const int last_pair = quarks().pairs - 1;
    const dense_vector phi = dense.even(vectors(*state, k, factor_vectors::pseudofermion, last_pair));
    state->force(first_factor_term(action()) + k, 0.0);
    const spinor_configuration start = vectors(*state, k, factor_vectors::start, last_pair),
                               force_x = vectors(*state, k, factor_vectors::force_x, last_pair),
                               force_y = vectors(*state, k, factor_vectors::force_y, last_pair);
    const dense_vector x = dense.x(k, phi), y = dense.w(k).adjoint().partialPivLu().solve(dense.of_action(k, phi));
    expect_near(dense.even(start), x, 1e-11, "X");
    const bool has_heavier = quarks().has_mass_shifts() && !quarks().is_last(k);
    expect_near(dense.even(force_x), has_heavier ? dense_vector(phi + x) : x, 1e-10, "X of the force");
    expect_near(dense.even(force_y), y, 1e-10, "Y");
    EXPECT_LE(dense.odd_part(dense.m(k) * to_dense(force_x)).norm(), 1e-12 * x.norm());
    EXPECT_LE(dense.odd_part(dense.m(k).adjoint() * to_dense(force_y)).norm(), 1e-12 * y.norm());
    if (!has_heavier) continue;
    spinor_configuration heavier_x = vectors(*state, k, factor_vectors::heavier_x, last_pair),
                         heavier_y = vectors(*state, k, factor_vectors::heavier_y, last_pair);
    expect_near(dense.even(heavier_x), -phi, 1e-15, "X of the heavier one");
    expect_near(dense.even(heavier_y), dense.even(force_y), 1e-15, "Y of the heavier one");
    const cpu::textbook::factor_operator heavier = cpu::textbook::operator_of(quarks(), k + 1);
    EXPECT_LE(dense.odd_part(dense.m(k + 1) * to_dense(heavier_x)).norm(), 1e-12 * phi.norm());
    EXPECT_LE(dense.odd_part(dense.m(k + 1).adjoint() * to_dense(heavier_y)).norm(), 1e-12 * y.norm());
    EXPECT_LE(cpu::textbook::odd_part(heavier_x, links, heavier, false, alone), 1e-13);
    EXPECT_LE(cpu::textbook::odd_part(heavier_y, links, heavier, true, alone), 1e-13);
    EXPECT_GT(cpu::textbook::odd_part(heavier_y, links, cpu::textbook::operator_of(quarks(), k), true, alone), 1e-4);
  }
}

TEST_P(hmc_factors, are_drawn_with_the_noise_as_the_vector_of_their_action) {
  const auto state = begun();
  for (int k = 0; k < quarks().factors(); ++k)
    for (int pair = 0; pair < quarks().pairs; ++pair) {
      const dense_vector phi = dense.even(vectors(*state, k, factor_vectors::pseudofermion, pair)),
                         eta = std::sqrt(0.5) *
                               dense.even(cpu::random_spinor(geometry, action().seed, noise_index(3, k, pair), alone));
      expect_near(dense.of_action(k, phi), eta, 1e-11, "eta");
    }
}

TEST_P(hmc_factors, change_by_what_dense_matrices_say) {
  const auto state = begun();
  const gauge_configuration there = moved(0.1);
  const dense_quarks dense_there(there, quarks());
  state->set_links(there);
  const energy_change change = state->change_of_energy();
  const int first = first_factor_term(action());
  for (int k = 0; k < quarks().factors(); ++k) {
    const double before = action_of(dense, *state, k), after = action_of(dense_there, *state, k);
    EXPECT_NEAR(change.terms[static_cast<std::size_t>(first + k)], after - before, 1e-10 * before);
  }
  if (first == 2) {
    const double expected = dense_there.log_determinant_of_odd_sites() - dense.log_determinant_of_odd_sites();
    EXPECT_NEAR(change.terms[1], -quarks().pairs * expected, 1e-10);
  }
}

TEST_P(hmc_factors, have_the_differences_of_their_actions_as_forces) {
  const auto state = begun();
  constexpr double e = 1e-3;
  std::vector<dense_quarks> at;
  for (const double step : {e, -e, 2.0 * e, -2.0 * e}) at.emplace_back(moved(step), quarks());
  const auto difference = [&](auto&& value) {
    return (8.0 * (value(at[0]) - value(at[1])) - (value(at[2]) - value(at[3]))) / (12.0 * e);
  };
  for (int term = 1; term < std::ssize(term_names(action())); ++term) {
    const gauge_configuration force = state->force(term, 0.0);
    double slope = 0.0;
    for (std::int64_t n = 0; n < geometry.local_volume(); ++n)
      for (std::size_t mu = 0; mu < dimensions; ++mu)
        slope += 2.0 * trace(direction.at_site(n)[mu] * force.at_site(n)[mu]).re;
    const int k = term - first_factor_term(action());
    const double expected =
        k < 0 ? -quarks().pairs * difference([](const dense_quarks& of) { return of.log_determinant_of_odd_sites(); })
              : difference([&](const dense_quarks& of) { return action_of(of, *state, k); });
    EXPECT_NEAR(slope, expected, 1e-7 * std::max(1.0, std::abs(expected)))
        << term_names(action())[static_cast<std::size_t>(term)];
  }
}

/// Neither solves nor forces depend on how operators came to their links. So a chain that goes on from its store has
/// the bits of one that was not stopped, and a trajectory made again has the bits of the first one.
TEST_P(hmc_factors, depend_on_their_links_alone) {
  hybrid_action usual = action();
  usual.cg_force_tolerance = usual.force_tolerance = 1e-7;
  for (factor_solver& solver : usual.solvers) solver.inner = precision::half;
  const auto force_of = [&](molecular_dynamics& state) {
    state.refresh(3);
    std::vector<gauge_configuration> all;
    for (int term = 0; term < std::ssize(term_names(usual)); ++term) all.push_back(state.force(term, 0.0));
    return all;
  };
  const auto made = make_molecular_dynamics(ctx, links, usual), moves = make_molecular_dynamics(ctx, moved(0.1), usual);
  moves->refresh(2);
  moves->set_links(links);
  const std::vector<gauge_configuration> expected = force_of(*made), found = force_of(*moves);
  for (std::size_t term = 0; term < found.size(); ++term)
    EXPECT_EQ(cpu::rms_distance(found[term], expected[term], alone), 0.0) << term_names(usual)[term];
}

/// W_k psi by the textbook, whose odd sites are solved site by site.
TEST_P(hmc_factors, have_the_textbooks_operators) {
  for (int k = 0; k < quarks().factors(); ++k) {
    spinor_configuration psi = random_spinor(lattice, 7);
    const dense_vector in = dense.even(psi);
    const spinor_configuration out =
        cpu::textbook::even_product(psi, links, cpu::textbook::operator_of(quarks(), k), alone);
    expect_near(dense.even(out), dense.w(k) * in, 1e-13, "W psi");
    expect_near(dense.even(cpu::textbook::source_of_action(psi, quarks(), k, links, alone)), dense.source(k, in), 1e-13,
                "source");
  }
}

/// The cycle of a factor with mu has a twist. Without it the factor needs many more iterations for the same vectors.
/// The factor with mu = 0 has the cycle without one.
TEST(hmc_multigrid, of_a_factor_has_its_twist) {
  const communicator alone{};
  const lattice_geometry geometry{extents{4, 4, 4, 8}};
  const backend::context ctx{geometry, alone};
  const gauge_configuration links = cpu::weak_field_configuration(geometry, 0.35, 3, alone);
  struct result {
    std::vector<long> iterations{};
    std::vector<gauge_configuration> forces{};
  };
  const auto run = [&](precision inner, double twisted_mass, const cycle_twist& least) {
    hybrid_action action;
    action.quarks = quark_pairs{fermion_action::isotropic(-0.2, 1.0)};
    action.quarks->twisted_mass = twisted_mass;
    action.quarks->twisted_masses = {0.0, 0.5};
    action.solvers.assign(2, {factor_solver::kind::multigrid, inner});
    action.least_twist = least;
    const auto state = make_molecular_dynamics(ctx, links, action);
    state->refresh(3);
    result of;
    for (int k = 0; k < 2; ++k) {
      of.forces.push_back(state->force(first_factor_term(action) + k, 0.0));
      of.iterations.push_back(state->work()[static_cast<std::size_t>(k)].forces.iterations);
      EXPECT_EQ(state->work()[static_cast<std::size_t>(k)].forces.repeated, 0);
    }
    return of;
  };
  const cycle_twist usual = hybrid_action().least_twist, none{1e9, 1e9};
  for (const precision inner : {precision::single, precision::half}) {
    const result with = run(inner, 0.0, usual), without = run(inner, 0.0, none);
    EXPECT_EQ(with.iterations[0], without.iterations[0]);
    // Solves with W_2 made phi, so that even this force has other bits. All forces were solved to 1e-7.
    EXPECT_LE(cpu::rms_distance(with.forces[0], without.forces[0], alone), 1e-6);
    EXPECT_LE(with.iterations[1], 0.7 * static_cast<double>(without.iterations[1])) << without.iterations[1];
    const double distance = cpu::rms_distance(with.forces[1], without.forces[1], alone);
    EXPECT_LE(distance, 1e-6);  // both were solved to 1e-7
    EXPECT_GT(distance, 0.0);
  }
  const result with = run(precision::single, 0.1, usual), without = run(precision::single, 0.1, none);
  for (const std::size_t k : {0U, 1U}) {
    EXPECT_LE(with.iterations[k], without.iterations[k]);
    EXPECT_LE(cpu::rms_distance(with.forces[k], without.forces[k], alone), 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(all, hmc_factors, testing::ValuesIn(factor_cases()),
                         [](const testing::TestParamInfo<factor_case>& info) { return info.param.name; });

}  // namespace
}  // namespace plaquette::validation
