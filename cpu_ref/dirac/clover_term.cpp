// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dirac/clover_term.hpp"

#include <Eigen/LU>
#include <complex>
#include <cstdint>
#include <string>

#include "common/error.hpp"

namespace plaquette::cpu {
namespace {

using dense_6x6 = Eigen::Matrix<std::complex<double>, chiral_rows, chiral_rows>;

/// The four plaquettes of plane (mu, nu) that start and end at x, all turning from mu to nu.
su3<double> sum_of_leaves(const gauge_configuration& links, const coordinate& x, int mu, int nu) {
  const coordinate ahead = shifted(x, mu, +1), up = shifted(x, nu, +1), behind = shifted(x, mu, -1),
                   down = shifted(x, nu, -1);
  const coordinate up_behind = shifted(up, mu, -1), down_behind = shifted(down, mu, -1),
                   down_ahead = shifted(down, mu, +1);
  const su3<double>& here_mu = links(x)[mu];
  const su3<double>& here_nu = links(x)[nu];
  const su3<double>& from_behind = links(behind)[mu];
  const su3<double>& from_below = links(down)[nu];
  return (here_mu * links(ahead)[nu]) * adjoint(here_nu * links(up)[mu]) +
         here_nu * adjoint(links(behind)[nu] * links(up_behind)[mu]) * from_behind +
         adjoint(links(down_behind)[nu] * from_behind) * (links(down_behind)[mu] * from_below) +
         adjoint(from_below) * (links(down)[mu] * links(down_ahead)[nu]) * adjoint(here_mu);
}

/// i Fhat_munu(x), a Hermitian matrix.
su3<double> i_field_strength(const gauge_configuration& links, const coordinate& x, int mu, int nu) {
  const su3<double> q = sum_of_leaves(links, x, mu, nu);
  return complex<double>{0.0, 0.125} * (q - adjoint(q));
}

/// sum_k sigma_k (x) a_k with the Pauli matrices sigma_k, for Hermitian a_k.
hermitian_6x6 pauli_sum(const su3<double>& a_1, const su3<double>& a_2, const su3<double>& a_3) {
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

/// In the DeGrand-Rossi basis gamma_k = [[0, i s_k], [-i s_k, 0]] with s = (sigma_1, -sigma_2, sigma_3), and
/// gamma_t = [[0, 1], [1, 0]]. Hence sigma_munu (-i Fhat) = gamma_mu gamma_nu Fhat, with
/// gamma_x gamma_y = -i sigma_3, gamma_x gamma_z = -i sigma_2, gamma_y gamma_z = -i sigma_1 in both chiralities and
/// gamma_k gamma_t = +i s_k in the first, -i s_k in the second.
clover_block clover_of_site(const gauge_configuration& links, const fermion_action& action, const coordinate& x) {
  constexpr int t = 3;
  const auto half_c_times_if = [&](int mu, int nu) {
    return 0.5 * action.clover_coefficient(mu, nu) * i_field_strength(links, x, mu, nu);
  };
  const su3<double> magnetic_1 = half_c_times_if(1, 2), magnetic_2 = half_c_times_if(0, 2),
                    magnetic_3 = half_c_times_if(0, 1);
  const su3<double> electric_1 = half_c_times_if(0, t), electric_2 = -1.0 * half_c_times_if(1, t),
                    electric_3 = half_c_times_if(2, t);
  return {{pauli_sum(magnetic_1 - electric_1, magnetic_2 - electric_2, magnetic_3 - electric_3),
           pauli_sum(magnetic_1 + electric_1, magnetic_2 + electric_2, magnetic_3 + electric_3)}};
}

dense_6x6 to_dense(const hermitian_6x6& block) {
  dense_6x6 m;
  for (int i = 0; i < chiral_rows; ++i)
    for (int j = 0; j < chiral_rows; ++j) m(i, j) = {block(i, j).re, block(i, j).im};
  return m;
}

hermitian_6x6 from_dense(const dense_6x6& m) {
  hermitian_6x6 block;
  for (int i = 0; i < chiral_rows; ++i) {
    block.diagonal[i] = m(i, i).real();
    for (int j = 0; j < i; ++j) {
      const std::complex<double> mean = 0.5 * (m(i, j) + std::conj(m(j, i)));
      block.lower[hermitian_6x6::lower_index(i, j)] = {mean.real(), mean.imag()};
    }
  }
  return block;
}

/// False where the block has no inverse.
bool invert(hermitian_6x6& inverse, const hermitian_6x6& block) {
  const Eigen::FullPivLU<dense_6x6> decomposition(to_dense(block));
  if (!decomposition.isInvertible()) return false;
  const dense_6x6 m = decomposition.inverse();
  if (!m.allFinite()) return false;
  inverse = from_dense(m);
  return true;
}

}  // namespace

clover_configuration make_clover_term(const gauge_configuration& links, const fermion_action& action) {
  clover_configuration term(links.geometry());
  const std::int64_t sites = links.geometry().local_volume();
#pragma omp parallel for
  for (std::int64_t site = 0; site < sites; ++site)
    term.at_site(site) = clover_of_site(links, action, links.geometry().local_coordinate(site));
  return term;
}

void add_to_diagonal(clover_configuration& term, double shift) {
  const std::int64_t sites = term.geometry().local_volume();
#pragma omp parallel for
  for (std::int64_t site = 0; site < sites; ++site)
    for (hermitian_6x6& block : term.at_site(site).chirality)
      for (double& d : block.diagonal) d += shift;
}

clover_configuration inverse(const clover_configuration& term) {
  clover_configuration result(term.geometry());
  const std::int64_t sites = term.geometry().local_volume();
  std::int64_t singular = sites;  // the first singular site; an exception must not leave a parallel region
#pragma omp parallel for reduction(min : singular)
  for (std::int64_t site = 0; site < sites; ++site)
    for (int chirality = 0; chirality < 2; ++chirality)
      if (!invert(result.at_site(site).chirality[chirality], term.at_site(site).chirality[chirality]))
        singular = site < singular ? site : singular;
  if (singular < sites) {
    const coordinate x = term.geometry().to_global(term.geometry().local_coordinate(singular));
    throw input_error(
        "clover term: expected an invertible matrix at every site, found a singular one at (x, y, z, t) = (" +
        std::to_string(x[0]) + ", " + std::to_string(x[1]) + ", " + std::to_string(x[2]) + ", " + std::to_string(x[3]) +
        ")");
  }
  return result;
}

}  // namespace plaquette::cpu
