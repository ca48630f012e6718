// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The field strength of a site from the links around it, and the clover term's block from the field strength; on host
/// and device. Sheikholeslami and Wohlert, Nucl. Phys. B 259 (1985) 572.
#pragma once

#include "common/algebra/hermitian_6x6.hpp"
#include "common/algebra/su3.hpp"

namespace plaquette {

/// Returns the four plaquettes of plane (mu, nu) that start and end at a site, all turning from mu to nu.
/// \param link  link(a, b, direction) is the link of that direction at the site a steps along mu and b along nu away
template <class Link>
PLAQUETTE_HOST_DEVICE constexpr su3<double> sum_of_leaves(const Link& link, int mu, int nu) {
  return (link(0, 0, mu) * link(1, 0, nu)) * adjoint(link(0, 0, nu) * link(0, 1, mu)) +
         link(0, 0, nu) * adjoint(link(-1, 0, nu) * link(-1, 1, mu)) * link(-1, 0, mu) +
         adjoint(link(-1, -1, nu) * link(-1, 0, mu)) * (link(-1, -1, mu) * link(0, -1, nu)) +
         adjoint(link(0, -1, nu)) * (link(0, -1, mu) * link(1, -1, nu)) * adjoint(link(0, 0, mu));
}

/// Returns i Fhat, a Hermitian matrix: Fhat = (Q - Q^+) / 8 with its trace, Q the sum of the leaves.
PLAQUETTE_HOST_DEVICE constexpr su3<double> i_field_strength(const su3<double>& leaves) {
  return complex<double>{0.0, 0.125} * (leaves - adjoint(leaves));
}

/// Returns sum_k sigma_k (x) a_k with the Pauli matrices sigma_k, for Hermitian a_k.
PLAQUETTE_HOST_DEVICE constexpr hermitian_6x6 pauli_sum(const su3<double>& a_1, const su3<double>& a_2,
                                                        const su3<double>& a_3) {
  hermitian_6x6 block;
  const su3<double> below = a_1 + complex<double>{0.0, 1.0} * a_2;  // rows of spin 1, columns of spin 0
  for (int i = 0; i < colours; ++i) {
    block.diagonal[i] = a_3(i, i).re;
    block.diagonal[colours + i] = -a_3(i, i).re;
    for (int j = 0; j < i; ++j) {
      block.lower[hermitian_6x6::lower_index(i, j)] = a_3(i, j);
      block.lower[hermitian_6x6::lower_index(colours + i, colours + j)] = -a_3(i, j);
    }
    for (int j = 0; j < colours; ++j) block.lower[hermitian_6x6::lower_index(colours + i, j)] = below(i, j);
  }
  return block;
}

/// Returns -1/2 sum_{mu<nu} c_munu sigma_munu (-i Fhat_munu), where half_c_times_if(mu, nu) = c_munu i Fhat_munu / 2.
/// In the DeGrand-Rossi basis gamma_k = [[0, i s_k], [-i s_k, 0]] with s = (sigma_1, -sigma_2, sigma_3), and
/// gamma_t = [[0, 1], [1, 0]]. Hence sigma_munu (-i Fhat) = gamma_mu gamma_nu Fhat, with
/// gamma_x gamma_y = -i sigma_3, gamma_x gamma_z = -i sigma_2, gamma_y gamma_z = -i sigma_1 in both chiralities and
/// gamma_k gamma_t = +i s_k in the first, -i s_k in the second.
template <class HalfCTimesIF>
PLAQUETTE_HOST_DEVICE constexpr clover_block clover_block_of(const HalfCTimesIF& half_c_times_if) {
  constexpr int t = 3;
  const su3<double> magnetic_1 = half_c_times_if(1, 2), magnetic_2 = half_c_times_if(0, 2),
                    magnetic_3 = half_c_times_if(0, 1);
  const su3<double> electric_1 = half_c_times_if(0, t), electric_2 = -1.0 * half_c_times_if(1, t),
                    electric_3 = half_c_times_if(2, t);
  return {{pauli_sum(magnetic_1 - electric_1, magnetic_2 - electric_2, magnetic_3 - electric_3),
           pauli_sum(magnetic_1 + electric_1, magnetic_2 + electric_2, magnetic_3 + electric_3)}};
}

}  // namespace plaquette
