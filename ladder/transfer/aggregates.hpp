// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 2 brings: each column of P is zero outside one aggregate of sites and one chirality. So the numbers that
/// are not zero are kept alone. The first half of a site's numbers has chirality 0, the second half chirality 1.
#pragma once

#include <array>

#include "ladder/dense.hpp"

namespace ladder::transfer {

using dense::number, dense::vector;

struct grid {
  std::array<int, 4> extent;  ///< x is the fastest index
  int numbers;                ///< of a site

  int sites() const { return extent[0] * extent[1] * extent[2] * extent[3]; }
  std::array<int, 4> coordinates(int site) const {
    std::array<int, 4> x{};
    for (int mu = 0; mu < 4; ++mu) x[mu] = site % extent[mu], site /= extent[mu];
    return x;
  }
  int site(const std::array<int, 4>& x) const {
    return ((x[3] * extent[2] + x[2]) * extent[1] + x[1]) * extent[0] + x[0];
  }
  std::size_t size() const { return std::size_t(sites()) * std::size_t(numbers); }
};

class aggregates {
 public:
  /// Cuts vectors into aggregates of this shape and into chiralities, and makes the pieces orthonormal.
  aggregates(const grid& lattice, const std::array<int, 4>& shape, const std::vector<vector>& from)
      : fine(lattice), vectors(int(from.size())) {
    for (int mu = 0; mu < 4; ++mu) coarse.extent[mu] = fine.extent[mu] / shape[mu];
    coarse.numbers = 2 * vectors;
    members = fine.sites() / coarse.sites();
    rows = members * fine.numbers / 2;
    std::vector<std::vector<int>> of(std::size_t(coarse.sites()));
    for (int site = 0; site < fine.sites(); ++site) {
      std::array<int, 4> x = fine.coordinates(site);
      for (int mu = 0; mu < 4; ++mu) x[mu] /= shape[mu];
      coarse_site.push_back(coarse.site(x));
      member_of.push_back(int(of[std::size_t(coarse_site.back())].size()));
      of[std::size_t(coarse_site.back())].push_back(site);
    }
    for (const auto& sites : of) member.insert(member.end(), sites.begin(), sites.end());
    for (std::size_t k = 0; k < coarse.size(); ++k)
      for (int row = 0; row < rows; ++row) v.push_back(from[k % std::size_t(vectors)][place(k, row)]);
    for (std::size_t first = 0; first < coarse.size(); first += std::size_t(vectors)) orthonormalise(first);
  }

  /// Returns the numbers of column k of P, k = (coarse site * 2 + chirality) * vectors + vector.
  number* column(std::size_t k) { return &v[k * std::size_t(rows)]; }
  const number* column(std::size_t k) const { return &v[k * std::size_t(rows)]; }
  /// Returns where row `row` of column k lies in a fine vector.
  std::size_t place(std::size_t k, int row) const {
    const int half = fine.numbers / 2, chirality = int(k / std::size_t(vectors)) % 2;
    const int site = member[k / std::size_t(coarse.numbers) * std::size_t(members) + std::size_t(row / half)];
    return std::size_t(site * fine.numbers + chirality * half + row % half);
  }

  /// Returns P^+ x.
  vector restricted(const vector& x) const {
    vector c(coarse.size());
    for (std::size_t k = 0; k < c.size(); ++k)
      for (int row = 0; row < rows; ++row) c[k] += std::conj(column(k)[row]) * x[place(k, row)];
    return c;
  }
  /// Returns P c.
  vector prolonged(const vector& c) const {
    vector x(fine.size());
    for (std::size_t k = 0; k < c.size(); ++k)
      for (int row = 0; row < rows; ++row) x[place(k, row)] += column(k)[row] * c[k];
    return x;
  }

  grid fine, coarse{};
  int vectors, members, rows;               ///< rows: numbers of a column that are not zero
  std::vector<int> coarse_site, member_of;  ///< of a fine site: its aggregate, and which member it is
  std::vector<int> member;                  ///< [coarse site][member] fine site
  std::vector<number> v;                    ///< [coarse site][chirality][vector][member][number of the chirality]

 private:
  /// Gram and Schmidt, twice, for the vectors of an aggregate and chirality.
  void orthonormalise(std::size_t first) {
    for (std::size_t a = first; a < first + std::size_t(vectors); ++a) {
      for (int pass = 0; pass < 2; ++pass)
        for (std::size_t b = first; b < a; ++b) {
          number overlap = 0;
          for (int row = 0; row < rows; ++row) overlap += std::conj(column(b)[row]) * column(a)[row];
          for (int row = 0; row < rows; ++row) column(a)[row] -= overlap * column(b)[row];
        }
      double length = 0;
      for (int row = 0; row < rows; ++row) length += std::norm(column(a)[row]);
      for (int row = 0; row < rows; ++row) column(a)[row] /= std::sqrt(length);
    }
  }
};

}  // namespace ladder::transfer
