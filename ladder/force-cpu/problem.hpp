// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all rungs of this ladder start from: random links U, and two random spinor fields X and Y on a periodic
/// lattice. The action is -2 Re Y^+ M X, M = 4 + m + C - D/2, C the clover term. Its force on a link is TA(G) / 2 with
///   G_mu(x) = U_mu(x) sum_spin [X(x+mu) Y(x)^+ (1 - gamma_mu) + (1 + gamma_mu) Y(x+mu) X(x)^+]   of the hops D
///           + the loops of the clover term: of each plaquette that begins with U_mu(x), the sum over its four corners
///             of the loop with the leaf Z of the corner put in.
/// TA is the traceless anti-Hermitian part. A leaf of the plane (mu, nu) is Z = c_sw/8 (L - L^+) with
///   L(x) = sum_spin X(x) Y(x)^+ gamma_mu gamma_nu.
#pragma once

#include "ladder/dirac-cpu/problem.hpp"
#include "ladder/force-cpu/matrix.hpp"

namespace ladder::force {

inline constexpr double c_sw = 1.5;

/// Returns the number of the plane (mu, nu): xy, xz, xt, yz, yt, zt.
LADDER_BOTH constexpr int plane(int mu, int nu) {
  const int low = mu < nu ? mu : nu, high = mu < nu ? nu : mu;
  return low == 0 ? high - 1 : low + high;
}
/// Returns Z, given L.
LADDER_BOTH inline matrix leaf_of(const matrix& l) { return c_sw / 8 * (l - adjoint(l)); }

/// It holds a plain copy of the input. Its result are the forces of all links, [site][mu][row][column].
class force_rung : public rung {
 public:
  force_rung(size s, std::uint64_t seed) : force_rung(dirac::problem::extents_of(s), seed) {}
  force_rung(const std::array<int, 4>& extents, std::uint64_t seed)
      : input_(shared_input<dirac::problem>(extents, seed, double(INFINITY))),
        p(*input_),
        links(std::size_t(p.sites) * 4),
        leaves(std::size_t(p.sites) * 6),
        forces(std::size_t(p.sites) * 4),
        spinors_(std::size_t(p.sites) * 2) {
    for (std::size_t k = 0; k < p.links.size(); ++k) links[k / 9].at[k / 3 % 3][k % 3] = plain(p.links[k]);
    for (int site = 0; site < p.sites; ++site)
      for (int k = 0; k < 8; ++k) neighbours_.push_back(p.neighbour(site, k / 2, k % 2 == 0 ? +1 : -1));
    for (std::size_t k = 0; k < 12 * spinors_.size(); ++k) spinors_[k / 12].spin[k / 3 % 4][k % 3] = plain(p.in[k]);
  }
  std::vector<double> result() const override {
    std::vector<double> to;
    for (const matrix& f : forces)
      for (int k = 0; k < 9; ++k) to.insert(to.end(), {f.at[k / 3][k % 3].re, f.at[k / 3][k % 3].im});
    return to;
  }

  // What formulas read.
  const matrix& link(int site, int mu) const { return links[4 * std::size_t(site) + mu]; }
  const matrix& leaf(int site, int plane) const { return leaves[6 * std::size_t(site) + plane]; }
  int neighbour(int site, int mu, int sign) const { return neighbours_[8 * site + 2 * mu + (sign < 0)]; }
  const spinor& x(int site) const { return spinor_at(site); }
  const spinor& y(int site) const { return spinor_at(p.sites + site); }

 private:
  std::shared_ptr<const dirac::problem> input_;

 protected:
  const dirac::problem& p;
  std::vector<matrix> links, leaves, forces;

 private:
  static complex plain(const dirac::number& z) { return {z.real(), z.imag()}; }
  const spinor& spinor_at(int n) const { return spinors_[std::size_t(n)]; }
  std::vector<int> neighbours_;
  std::vector<spinor> spinors_;
};

}  // namespace ladder::force
