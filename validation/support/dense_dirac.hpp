// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The Wilson-clover operator as a dense matrix, built straight from the formula with Kronecker products of spin
/// matrices and of covariant shift matrices. There is no loop over hops, no index of a neighbour, nothing from the
/// library's operators or from its gamma matrices. For lattices of a few hundred components.
#pragma once

#include <Eigen/Dense>
#include <Eigen/SparseCore>
#include <complex>
#include <cstdint>

#include "common/lattice/fermion_action.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::validation {

using dense_matrix = Eigen::MatrixXcd;
using dense_vector = Eigen::VectorXcd;
using sparse_matrix = Eigen::SparseMatrix<std::complex<double>>;

inline dense_matrix kronecker(const dense_matrix& a, const dense_matrix& b) {
  dense_matrix r(a.rows() * b.rows(), a.cols() * b.cols());
  for (Eigen::Index i = 0; i < a.rows(); ++i)
    for (Eigen::Index j = 0; j < a.cols(); ++j) r.block(i * b.rows(), j * b.cols(), b.rows(), b.cols()) = a(i, j) * b;
  return r;
}

/// Returns the DeGrand-Rossi matrices from Pauli's: gamma_k = -sigma_2 (x) s_k with s = (sigma_1, -sigma_2, sigma_3),
/// gamma_t = sigma_1 (x) 1; mu = 4 is gamma_5 = sigma_3 (x) 1.
inline dense_matrix dense_gamma(int mu) {
  const std::complex<double> i(0.0, 1.0);
  dense_matrix one = dense_matrix::Identity(2, 2), sigma_1(2, 2), sigma_2(2, 2), sigma_3(2, 2);
  sigma_1 << 0, 1, 1, 0;
  sigma_2 << 0, -i, i, 0;
  sigma_3 << 1, 0, 0, -1;
  switch (mu) {
    case 0:
      return -kronecker(sigma_2, sigma_1);
    case 1:
      return kronecker(sigma_2, sigma_2);
    case 2:
      return -kronecker(sigma_2, sigma_3);
    case 3:
      return kronecker(sigma_1, one);
    default:
      return kronecker(sigma_3, one);
  }
}

/// Returns (T_mu chi)(x) = U_mu(x) chi(x + mu) on colour vectors, the boundary phase included; index site * 3 + colour.
inline sparse_matrix covariant_shift(const gauge_configuration& links, const fermion_action& action, int mu) {
  const lattice_geometry& geometry = links.geometry();
  const Eigen::Index n = colours * geometry.local_volume();
  sparse_matrix shift(n, n);
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    coordinate y = geometry.local_coordinate(site);
    const bool crosses = ++y[mu] == geometry.global()[mu];
    if (crosses) y[mu] = 0;
    const std::complex<double> phase =
        crosses ? std::complex<double>(action.boundary_phase[mu].re, action.boundary_phase[mu].im) : 1.0;
    for (int a = 0; a < colours; ++a)
      for (int b = 0; b < colours; ++b) {
        const complex<double> u = links.at_site(site)[mu](a, b);
        shift.insert(colours * site + a, colours * geometry.local_index(y) + b) =
            phase * std::complex<double>(u.re, u.im);
      }
  }
  return shift;
}

/// Returns M as a matrix of 12 V rows; index (spin * V + site) * 3 + colour, as `to_dense` orders a spinor.
inline dense_matrix dense_dirac(const gauge_configuration& links, const fermion_action& action) {
  const std::complex<double> i(0.0, 1.0);
  const Eigen::Index n = colours * links.geometry().local_volume();
  const dense_matrix unit_spin = dense_matrix::Identity(spins, spins);
  sparse_matrix shift[dimensions], back[dimensions];
  dense_matrix gamma[dimensions];
  for (int mu = 0; mu < dimensions; ++mu) {
    shift[mu] = covariant_shift(links, action, mu);
    back[mu] = shift[mu].adjoint();
    gamma[mu] = dense_gamma(mu);
  }
  const double wilson = action.nu / action.anisotropy;  // weight of spatial hops
  dense_matrix m = (1.0 + 3.0 * wilson + action.mass) * dense_matrix::Identity(spins * n, spins * n);
  for (int mu = 0; mu < dimensions; ++mu)
    m -= (mu == 3 ? 0.5 : 0.5 * wilson) * (kronecker(unit_spin - gamma[mu], dense_matrix(shift[mu])) +
                                           kronecker(unit_spin + gamma[mu], dense_matrix(back[mu])));
  for (int mu = 0; mu < dimensions; ++mu)
    for (int nu = mu + 1; nu < dimensions; ++nu) {
      const double c = nu == 3 ? action.clover_temporal : action.clover_spatial / action.anisotropy;
      if (c == 0.0) continue;
      const sparse_matrix mu_nu = shift[mu] * shift[nu], back_mu_nu = back[mu] * back[nu];
      const sparse_matrix nu_back_mu = shift[nu] * back[mu], back_nu_mu = back[nu] * shift[mu];
      const sparse_matrix q = sparse_matrix(mu_nu * back_mu_nu) + sparse_matrix(nu_back_mu * back_nu_mu) +
                              sparse_matrix(back_mu_nu * mu_nu) + sparse_matrix(back_nu_mu * nu_back_mu);
      const dense_matrix leaves(q);
      const dense_matrix field_strength = (leaves - leaves.adjoint()) / 8.0;
      const dense_matrix sigma = 0.5 * i * (gamma[mu] * gamma[nu] - gamma[nu] * gamma[mu]);
      m -= 0.5 * c * kronecker(sigma, -i * field_strength);
    }
  return m;
}

inline dense_vector to_dense(const spinor_configuration& psi) {
  const std::int64_t sites = psi.geometry().local_volume();
  dense_vector v(spins * colours * sites);
  for (int s = 0; s < spins; ++s)
    for (std::int64_t site = 0; site < sites; ++site)
      for (int c = 0; c < colours; ++c) {
        const complex<double> z = psi.at_site(site)(s, c);
        v((s * sites + site) * colours + c) = {z.re, z.im};
      }
  return v;
}

inline spinor_configuration from_dense(const dense_vector& v, const lattice_geometry& geometry) {
  spinor_configuration psi(geometry);
  const std::int64_t sites = geometry.local_volume();
  for (int s = 0; s < spins; ++s)
    for (std::int64_t site = 0; site < sites; ++site)
      for (int c = 0; c < colours; ++c) {
        const std::complex<double> z = v((s * sites + site) * colours + c);
        psi.at_site(site)(s, c) = {z.real(), z.imag()};
      }
  return psi;
}

}  // namespace plaquette::validation
