// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all rungs of this ladder start from: nine random matrices of 16 x 16 numbers a coarse site, and four
/// random vectors, all in single precision. (Rung 2 of coarse-cpu makes such matrices of M and P.) The operator is
///   out(x) = X(x) in(x) + the sum over eight hops of Y(x) in(the neighbour).
#pragma once

#include <array>
#include <cmath>

#include "ladder/device.hpp"
#include "ladder/dirac-cpu/half_spinor.hpp"
#include "ladder/ladder.hpp"
#include "ladder/transfer/aggregates.hpp"

namespace ladder::coarse_gpu {

using number = dirac::complex<float>;
inline constexpr int n = 16, matrices = 9, columns = 4;
inline constexpr int of_matrix = n * n, of_site = matrices * of_matrix;

inline transfer::grid lattice_of(size s) {
  if (s == size::nano) return {{4, 4, 4, 2}, n};
  return s == size::small ? transfer::grid{{8, 8, 4, 4}, n} : transfer::grid{{16, 8, 8, 8}, n};
}

/// What a kernel takes.
struct arrays {
  int sites;
  const int* neighbours;  ///< [site][X, +x, -x, +y, ...]; that of X is the site itself
  const number* a;        ///< [site][X, +x, -x, +y, ...], then [row][column] or [column][row]
  const number* in;       ///< [column of the batch][site][n]
  number* out;

  LADDER_BOTH const number* matrix(int site, int k) const { return a + site * of_site + k * of_matrix; }
  /// Returns the n numbers that matrix k of a site is multiplied with.
  LADDER_BOTH const number* vector(int batch, int site, int k) const {
    return in + (batch * sites + neighbours[site * matrices + k]) * n;
  }
  LADDER_BOTH number& result(int batch, int site, int row) const { return out[(batch * sites + site) * n + row]; }
};

/// How the numbers of a matrix lie.
enum class order { by_rows, by_columns };

struct random_numbers {
  std::vector<number> matrices, vectors;

  random_numbers(std::size_t sites, std::uint64_t seed) : matrices(sites * of_site), vectors(sites * n * columns) {
    std::mt19937_64 generator(seed);
    std::normal_distribution<float> normal;
    for (auto* numbers : {&matrices, &vectors})
      for (number& z : *numbers) z.re = normal(generator), z.im = normal(generator);
  }
};

inline namespace LADDER_PLACE {

template <order by>
class coarse_rung : public rung {
 public:
  coarse_rung(size s, std::uint64_t seed)
      : lattice(lattice_of(s)),
        sites(lattice.sites()),
        input(shared_input<random_numbers>(std::size_t(sites), seed)),
        matrices_of_sites(input->matrices),
        neighbours_(neighbours()),
        a_(by == order::by_rows ? matrices_of_sites : transposed(matrices_of_sites)),
        in_(input->vectors),
        out_(std::vector<number>(lattice.size() * columns)) {}
  std::vector<double> result() const override {
    std::vector<double> to;
    for (const number& z : out_.numbers()) to.insert(to.end(), {z.re, z.im});
    return to;
  }
  double bytes() const override { return neighbours_.bytes() + a_.bytes() + in_.bytes() + out_.bytes(); }

 protected:
  arrays pointers() const { return {sites, neighbours_.data(), a_.data(), in_.data(), out_.data()}; }

  transfer::grid lattice;
  int sites;
  std::shared_ptr<const random_numbers> input;
  const std::vector<number>& matrices_of_sites;  // by rows
  device_array<int> neighbours_;
  device_array<number> a_, in_, out_;

 private:
  static std::vector<number> transposed(const std::vector<number>& from) {
    std::vector<number> to(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) to[i - i % of_matrix + i % n * n + i % of_matrix / n] = from[i];
    return to;
  }
  std::vector<int> neighbours() const {
    std::vector<int> to;
    for (int site = 0; site < sites; ++site)
      for (int k = 0; k < matrices; ++k) {
        auto x = lattice.coordinates(site);
        const std::size_t mu = k == 0 ? 0 : std::size_t(k - 1) / 2;
        const int step = k == 0 ? 0 : k % 2 == 1 ? 1 : lattice.extent[mu] - 1;
        x[mu] = (x[mu] + step) % lattice.extent[mu];
        to.push_back(lattice.site(x));
      }
    return to;
  }
};

}  // namespace LADDER_PLACE

}  // namespace ladder::coarse_gpu
