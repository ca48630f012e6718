// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dirac/clover_term.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <complex>
#include <cstdint>
#include <string>

#include "common/algebra/field_strength.hpp"
#include "common/error.hpp"
#include "common/lattice/ghosts.hpp"
#include "common/lattice/same_lattice.hpp"

namespace plaquette::cpu {
namespace {

using dense_6x6 = Eigen::Matrix<std::complex<double>, chiral_rows, chiral_rows>;

clover_block clover_of_site(const gauge_configuration& links, const fermion_action& action, const coordinate& x) {
  return clover_block_of([&](int mu, int nu) {
    const su3<double> leaves = sum_of_leaves(
        [&](int steps_mu, int steps_nu, int direction) -> const su3<double>& {
          return links(shifted(shifted(x, mu, steps_mu), nu, steps_nu))[direction];
        },
        mu, nu);
    return 0.5 * action.clover_coefficient(mu, nu) * i_field_strength(leaves);
  });
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

/// Returns false if the block has no inverse.
bool invert(hermitian_6x6& inverse, const hermitian_6x6& block) {
  const Eigen::FullPivLU<dense_6x6> decomposition(to_dense(block));
  if (!decomposition.isInvertible()) return false;
  const dense_6x6 m = decomposition.inverse();
  if (!m.allFinite()) return false;
  inverse = from_dense(m);
  return true;
}

/// Makes C.
void make_blocks(clover_configuration& term, const gauge_configuration& links, const fermion_action& action) {
  require_own_ghosts(links, "make_clover_term");
  require_same_lattice(term.geometry(), links.geometry(), "clover blocks", "links on ");
  const std::int64_t sites = links.geometry().local_volume();
#pragma omp parallel for
  for (std::int64_t site = 0; site < sites; ++site)
    term.at_site(site) = clover_of_site(links, action, links.geometry().local_coordinate(site));
}

}  // namespace

clover_configuration make_clover_term(const gauge_configuration& links, const fermion_action& action) {
  clover_configuration term(links.geometry());
  make_blocks(term, links, action);
  return term;
}

void make_site_diagonal(clover_configuration& a, const gauge_configuration& links, const fermion_action& action) {
  make_blocks(a, links, action);
  add_to_diagonal(a, action.diagonal());
}

void add_to_diagonal(clover_configuration& term, double shift) {
  const std::int64_t sites = term.geometry().local_volume();
#pragma omp parallel for
  for (std::int64_t site = 0; site < sites; ++site)
    for (hermitian_6x6& block : term.at_site(site).chirality)
      for (double& d : block.diagonal) d += shift;
}

clover_configuration inverse(const clover_configuration& term, const communicator& comm) {
  clover_configuration result(term.geometry());
  invert(result, term, comm);
  return result;
}

void invert(clover_configuration& result, const clover_configuration& term, const communicator& comm) {
  const lattice_geometry& geometry = term.geometry();
  require_same_lattice(result.geometry(), geometry, "clover blocks");
  std::int64_t first = geometry.global_volume();  // singular site; an exception must not leave a parallel region
#pragma omp parallel for reduction(min : first)
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    for (int chirality = 0; chirality < 2; ++chirality)
      if (!invert(result.at_site(site).chirality[chirality], term.at_site(site).chirality[chirality]))
        first = std::min(first, geometry.global_index(geometry.local_coordinate(site)));
  double behind = -static_cast<double>(first);  // of numbers below 2^53: doubles hold them
  comm.maximum({&behind, 1});
  first = static_cast<std::int64_t>(-behind);
  if (first < geometry.global_volume()) {
    const coordinate x = coordinate_of(first, geometry.global());
    throw input_error(
        "clover term: expected an invertible matrix at every site, found a singular one at (x, y, z, t) = (" +
        std::to_string(x[0]) + ", " + std::to_string(x[1]) + ", " + std::to_string(x[2]) + ", " + std::to_string(x[3]) +
        ")");
  }
}

clover_configuration commuting_product(const clover_configuration& a, const clover_configuration& b) {
  require_same_lattice(a.geometry(), b.geometry(), "clover blocks");
  clover_configuration result(a.geometry());
  const std::int64_t sites = a.geometry().local_volume();
#pragma omp parallel for
  for (std::int64_t site = 0; site < sites; ++site)
    for (int chirality = 0; chirality < 2; ++chirality)
      result.at_site(site).chirality[chirality] =
          plaquette::commuting_product(a.at_site(site).chirality[chirality], b.at_site(site).chirality[chirality]);
  return result;
}

}  // namespace plaquette::cpu
