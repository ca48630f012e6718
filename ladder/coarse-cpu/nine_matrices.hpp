// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 2 brings: the hops of M join neighbouring aggregates alone. So P^+ M P is nine n x n matrices a coarse
/// site: X within the aggregate, and one Y for each of the eight hops that leave it. They are computed once.
#pragma once

#include "ladder/coarse-cpu/problem.hpp"

namespace ladder::coarse {

struct nine_matrices {
  int sites = 0;
  std::vector<int> neighbours;  ///< [coarse site][X, +x, -x, +y, ...]; that of X is the site itself
  std::vector<number> numbers;  ///< [coarse site][the same][row][column]

  number* matrix(int site, int which) { return &numbers[std::size_t(site * (1 + hops) + which) * n * n]; }
  const number* matrix(int site, int which) const { return const_cast<nine_matrices*>(this)->matrix(site, which); }

  /// \param diagonal  4 + m of the Wilson operator
  nine_matrices(const dirac::problem& p, const transfer::aggregates& blocks, double diagonal)
      : sites(blocks.coarse.sites()), numbers(std::size_t(sites) * (1 + hops) * n * n) {
    for (int site = 0; site < sites; ++site) {
      neighbours.push_back(site);
      for (int k = 0; k < hops; ++k) {
        auto x = blocks.coarse.coordinates(site);
        const int extent = blocks.coarse.extent[std::size_t(k / 2)];
        x[std::size_t(k / 2)] = (x[std::size_t(k / 2)] + (k % 2 == 0 ? 1 : extent - 1)) % extent;
        neighbours.push_back(blocks.coarse.site(x));
      }
      for (int i = 0; i < n; ++i) matrix(site, 0)[i * n + i] = diagonal;  // P^+ P = 1
    }
    const auto* links = reinterpret_cast<const dirac::link<double>*>(p.links.data());
    for (int x = 0; x < p.sites; ++x)
      dirac::for_each_hop([&]<int mu, int sign>() {
        const int y = p.neighbour(x, mu, sign);
        const int to = blocks.coarse_site[std::size_t(x)], from = blocks.coarse_site[std::size_t(y)];
        number* part = matrix(to, to == from ? 0 : 1 + 2 * mu + (sign < 0));
        for (int j = 0; j < n; ++j) {
          dirac::spinor<double> psi{}, image{};
          for (int row = 0; row < 6; ++row) {
            const number z = of(blocks, from, j, y)[row];
            psi[j / (n / 2) * 2 + row / 3][row % 3] = {z.real(), z.imag()};
          }
          dirac::add_hop<mu, sign>(image, links[4 * (sign > 0 ? x : y) + mu], psi);
          for (int i = 0; i < n; ++i)
            for (int row = 0; row < 6; ++row) {
              const auto& z = image[i / (n / 2) * 2 + row / 3][row % 3];
              part[i * n + j] -= 0.5 * std::conj(of(blocks, to, i, x)[row]) * number(z.re, z.im);
            }
        }
      });
  }

 private:
  /// Returns the 6 numbers that column k of P of a coarse site has on one of its fine sites.
  static const number* of(const transfer::aggregates& blocks, int coarse, int k, int fine) {
    return blocks.column(std::size_t(coarse * n + k)) + blocks.member_of[std::size_t(fine)] * 6;
  }
};

}  // namespace ladder::coarse
