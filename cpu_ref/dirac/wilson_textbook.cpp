// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dirac/wilson_textbook.hpp"

#include <array>
#include <cstddef>

#include "common/algebra/gamma.hpp"

namespace plaquette::cpu::textbook {
namespace {

/// 1 - s gamma_mu of a hop: [mu][s > 0].
constexpr std::array<std::array<spin_matrix, 2>, dimensions> projectors = [] {
  std::array<std::array<spin_matrix, 2>, dimensions> all;
  for (int mu = 0; mu < dimensions; ++mu)
    for (const int s : {-1, +1})
      all[static_cast<std::size_t>(mu)][s > 0 ? 1 : 0] =
          spin_matrix::identity() - complex<double>{static_cast<double>(s), 0.0} * gamma_matrix(mu);
  return all;
}();

/// Returns the boundary phase of a hop from x to x + sign mu; 1 within the lattice.
complex<double> phase_of_hop(const coordinate& x, int mu, int sign, const lattice_geometry& geometry,
                             const fermion_action& action) {
  const int at = geometry.to_global(x)[mu];
  if (sign > 0 && at == geometry.global()[mu] - 1) return action.boundary_phase[mu];
  if (sign < 0 && at == 0) return conj(action.boundary_phase[mu]);
  return {1.0, 0.0};
}

}  // namespace

spinor<double> hop(const coordinate& x, int mu, int sign, const spinor_configuration& psi,
                   const gauge_configuration& links, const fermion_action& action, bool dagger) {
  const coordinate y = shifted(x, mu, sign);
  const su3<double> transport = sign > 0 ? links(x)[mu] : adjoint(links(y)[mu]);
  const spin_matrix& projector = projectors[static_cast<std::size_t>(mu)][(dagger ? -sign : sign) > 0 ? 1 : 0];
  const complex<double> factor = action.hop_coefficient(mu) * phase_of_hop(x, mu, sign, psi.geometry(), action);
  return factor * (projector * (transport * psi(y)));
}

spinor<double> wilson_at_site(const coordinate& x, const spinor_configuration& psi, const gauge_configuration& links,
                              const fermion_action& action, bool dagger) {
  spinor<double> result = action.diagonal() * psi(x);
  for (int mu = 0; mu < dimensions; ++mu)
    for (int sign : {+1, -1}) result -= 0.5 * hop(x, mu, sign, psi, links, action, dagger);
  return result;
}

}  // namespace plaquette::cpu::textbook
