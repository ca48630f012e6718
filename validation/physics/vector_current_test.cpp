// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Conservation of the point-split vector current on solved propagators. For any psi and chi,
///   sum_mu [J_mu(x) - J_mu(x-mu)] = chi^+(x) (M psi)(x) - (M^+ chi)^+(x) psi(x),
///   J_mu(x) = c_mu/2 [ chi^+(x+mu) (1 + gamma_mu) U_mu(x)^+ psi(x) - chi^+(x) (1 - gamma_mu) U_mu(x) psi(x+mu) ],
/// and with psi = M^-1 b and chi = M^-+ a the current is conserved but for the sites of the sources b and a.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <vector>

#include "common/algebra/gamma.hpp"
#include "validation/support/actions.hpp"
#include "validation/support/operator_under_test.hpp"
#include "validation/support/test_fields.hpp"
#include "validation/support/test_solver.hpp"

namespace plaquette::validation {
namespace {

using current = site_field<std::array<complex<double>, dimensions>>;

current vector_current(spinor_configuration chi, spinor_configuration psi, const gauge_configuration& links,
                       const fermion_action& action) {
  exchange_ghosts(chi, communicator());
  exchange_ghosts(psi, communicator());
  current j(links.geometry());
  visit_sites(links.geometry(), [&](const coordinate& x) {
    for (int mu = 0; mu < dimensions; ++mu) {
      const coordinate ahead = shifted(x, mu, +1);
      const bool crosses = ahead[mu] == links.geometry().global()[mu];
      const complex<double> phase = crosses ? action.boundary_phase[mu] : complex<double>{1.0, 0.0};
      const spin_matrix one = spin_matrix::identity(), gamma = gamma_matrix(mu);
      const spinor<double> back = (one + gamma) * (adjoint(links(x)[mu]) * psi(x));
      const spinor<double> forward = (one - gamma) * (links(x)[mu] * psi(ahead));
      j(x)[mu] =
          0.5 * action.hop_coefficient(mu) * (conj(phase) * dot(chi(ahead), back) - phase * dot(chi(x), forward));
    }
  });
  exchange_ghosts(j, communicator());
  return j;
}

class vector_current_of : public testing::TestWithParam<std::tuple<operator_under_test, named_action>> {
 protected:
  const operator_under_test& op() const { return std::get<0>(GetParam()); }
  const fermion_action& action() const { return std::get<1>(GetParam()).action; }
};

double absolute(const complex<double>& z) { return std::sqrt(norm2(z)); }

TEST_P(vector_current_of, a_solved_propagator_is_conserved_away_from_the_sources) {
  const extents lattice{4, 2, 6, 8};
  const coordinate from{1, 0, 2, 1}, to{3, 1, 5, 5};
  const gauge_configuration links = weak_links(lattice, 0.3, 41);
  const dirac_operator m = op().make(links, action());
  const dirac_operator adjoint_m = [&](spinor_configuration& out, const spinor_configuration& in, bool dagger) {
    m(out, in, !dagger);
  };
  const test_solution psi = solve(m, point_source(lattice, from, 1, 2), 1e-13);
  const test_solution chi = solve(adjoint_m, point_source(lattice, to, 3, 0), 1e-13);
  ASSERT_TRUE(psi.residual <= 1e-11 && chi.residual <= 1e-11) << psi.residual << " " << chi.residual;
  const current j = vector_current(chi.x, psi.x, links, action());

  // The remainders of b - M psi and of a - M^+ chi, and the rounding of eight terms.
  const double allowed =
      (chi.residual + 10 * op().rounding) * norm(psi.x) + (psi.residual + 10 * op().rounding) * norm(chi.x);
  double largest_current = 0.0;
  visit_sites(lattice_geometry(lattice), [&](const coordinate& x) {
    complex<double> divergence;
    for (int mu = 0; mu < dimensions; ++mu) {
      divergence += j(x)[mu] - j(shifted(x, mu, -1))[mu];
      largest_current = std::max(largest_current, absolute(j(x)[mu]));
    }
    complex<double> expected;
    if (x == from) expected += conj(chi.x(from)(1, 2));
    if (x == to) expected -= psi.x(to)(3, 0);
    ASSERT_TRUE(absolute(divergence - expected) <= allowed)
        << absolute(divergence - expected) << " allowed " << allowed;
  });
  EXPECT_TRUE(largest_current > 1e6 * allowed);  // there is a current to conserve

  // The charge on a time slice: the same on all slices between the sources; b adds to it, a takes it away.
  std::vector<complex<double>> charge(static_cast<std::size_t>(lattice[3]));
  visit_sites(lattice_geometry(lattice),
              [&](const coordinate& x) { charge[static_cast<std::size_t>(x[3])] += j(x)[3]; });
  const double slice = 12.0 * allowed * std::sqrt(volume(lattice));
  for (std::size_t t = 0; t < charge.size(); ++t) {
    const bool between = t >= 1 && t < 5;
    EXPECT_TRUE(absolute(charge[t] - charge[between ? 1 : 0]) <= slice) << t;
  }
  EXPECT_TRUE(absolute(charge[1] - charge[0] - conj(chi.x(from)(1, 2))) <= slice);
}

INSTANTIATE_TEST_SUITE_P(all, vector_current_of,
                         testing::Combine(testing::ValuesIn(double_precision_operators()),
                                          testing::ValuesIn(typical_actions())),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace plaquette::validation
