// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all rungs of this ladder start from: a periodic lattice, random links and random spinors, as plain arrays of
/// complex numbers in double precision. The operator is the hopping term
///   out(x) = sum_mu [ (1 - gamma_mu) U_mu(x) in(x + mu) + (1 + gamma_mu) U_mu(x - mu)^+ in(x - mu) ].
#pragma once

#include <array>
#include <cmath>
#include <complex>

#include "ladder/ladder.hpp"

namespace ladder::dirac {

using number = std::complex<double>;

struct problem {
  std::array<int, 4> extent;  ///< in x, y, z, t; x is the fastest index
  int sites;
  static constexpr int columns = 4;  ///< right-hand sides: all rungs compute these
  std::vector<number> links;         ///< [site][mu][row][column]
  std::vector<number> in;            ///< [column][site][spin][colour]

  problem(size s, std::uint64_t seed) : problem(extents_of(s), seed, INFINITY) {}
  /// \param roughness  of links: 0 makes them one, infinity random
  problem(const std::array<int, 4>& extents, std::uint64_t seed, double roughness) : extent(extents) {
    sites = extent[0] * extent[1] * extent[2] * extent[3];
    std::mt19937_64 generator(seed);
    std::normal_distribution<double> normal;
    const auto random = [&] { return number(normal(generator), normal(generator)); };
    links.resize(static_cast<std::size_t>(sites) * 4 * 9);
    for (std::size_t i = 0; i < links.size(); i += 9)
      make_su3(&links[i], random, roughness == INFINITY ? 0 : 1 / roughness);
    in.resize(static_cast<std::size_t>(columns) * sites * 12);
    for (number& v : in) v = random();
  }

  static std::array<int, 4> extents_of(size s) {
    const int l = s == size::nano ? 4 : s == size::small ? 8 : 16;
    return {l, l, l, s == size::small ? 2 * l : l};
  }
  std::array<int, 4> coordinates(int site) const {
    std::array<int, 4> x{};
    for (int mu = 0; mu < 4; ++mu) x[mu] = site % extent[mu], site /= extent[mu];
    return x;
  }
  int site(const std::array<int, 4>& x) const {
    return ((x[3] * extent[2] + x[2]) * extent[1] + x[1]) * extent[0] + x[0];
  }
  /// Returns the site one step along mu, forwards (+1) or backwards (-1).
  int neighbour(int at, int mu, int step) const {
    std::array<int, 4> x = coordinates(at);
    x[mu] = (x[mu] + step + extent[mu]) % extent[mu];
    return site(x);
  }
  int parity(int at) const {
    const std::array<int, 4> x = coordinates(at);
    return (x[0] + x[1] + x[2] + x[3]) % 2;
  }

 private:
  /// Two random rows, to which those of `order` times the unit matrix are added, made orthonormal (Gram and Schmidt);
  /// the third is the conjugate of their cross product.
  template <class Random>
  static void make_su3(number* u, const Random& random, double order) {
    for (int i = 0; i < 6; ++i) u[i] = random() + (i % 4 == 0 ? order : 0);
    const auto normalise = [](number* row) {
      const double length = std::sqrt(std::norm(row[0]) + std::norm(row[1]) + std::norm(row[2]));
      for (int i = 0; i < 3; ++i) row[i] /= length;
    };
    normalise(u);
    number overlap = 0;
    for (int i = 0; i < 3; ++i) overlap += std::conj(u[i]) * u[3 + i];
    for (int i = 0; i < 3; ++i) u[3 + i] -= overlap * u[i];
    normalise(u + 3);
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      u[6 + i] = std::conj(u[j] * u[3 + k] - u[k] * u[3 + j]);
    }
  }
};

/// A rung keeps the problem it was made from; `out` has the order of `problem::in`.
class dirac_rung : public rung {
 public:
  dirac_rung(size s, std::uint64_t seed) : dirac_rung(problem::extents_of(s), seed) {}
  dirac_rung(const std::array<int, 4>& extents, std::uint64_t seed)
      : input(shared_input<problem>(extents, seed, double(INFINITY))), p(*input), out(p.in.size()) {}
  std::vector<double> result() const override {
    std::vector<double> numbers;
    for (const number& v : out) numbers.insert(numbers.end(), {v.real(), v.imag()});
    return numbers;
  }

 protected:
  std::shared_ptr<const problem> input;
  const problem& p;
  std::vector<number> out;
};

}  // namespace ladder::dirac
