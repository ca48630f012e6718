// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all rungs of this ladder start from: a lattice of spinors cut into aggregates of 2^4 sites. Eight random
/// vectors, orthonormal on each aggregate and chirality, are the columns of P. The operator is both ways between the
/// lattices, c = P^+ x and y = P d, for four columns each. Null vectors of multigrid have the same shape.
#pragma once

#include "ladder/dirac-cpu/problem.hpp"
#include "ladder/transfer/aggregates.hpp"

namespace ladder::transfer {

inline constexpr int columns = dirac::problem::columns;

inline std::vector<vector> random_vectors(int count, std::size_t length, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<vector> all{std::size_t(count), vector(length)};
  for (vector& v : all)
    for (number& z : v) z = {normal(generator), normal(generator)};
  return all;
}

inline std::array<int, 4> extents_of(size s) { return {s == size::reference ? 8 : 4, 4, 4, s == size::nano ? 4 : 8}; }

/// A rung fills c from x, and y from d.
class transfer_rung : public rung {
 public:
  transfer_rung(size s, std::uint64_t seed)
      : blocks({extents_of(s), 12}, {2, 2, 2, 2}, random_vectors(8, grid{extents_of(s), 12}.size(), seed)),
        x(random_vectors(columns, blocks.fine.size(), seed + 1)),
        y(x),
        d(random_vectors(columns, blocks.coarse.size(), seed + 2)),
        c(d) {}
  std::vector<double> result() const override {
    std::vector<double> numbers;
    for (const auto* both : {&c, &y})
      for (const vector& v : *both)
        for (const number& z : v) numbers.insert(numbers.end(), {z.real(), z.imag()});
    return numbers;
  }

 protected:
  aggregates blocks;
  std::vector<vector> x, y, d, c;  // a column each
};

}  // namespace ladder::transfer
