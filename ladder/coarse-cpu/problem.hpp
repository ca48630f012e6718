// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all rungs of this ladder start from. M is the Wilson operator of the ladder `solvers` on random links, P that
/// of the ladder `transfer`. There are four random vectors of the coarse lattice. The operator is out = P^+ M P in. A
/// coarse site has n = 16 numbers: 8 vectors of both chiralities.
#pragma once

#include "ladder/solvers/problem.hpp"
#include "ladder/transfer/problem.hpp"

namespace ladder::coarse {

using dense::number, dense::vector, transfer::columns;
inline constexpr int n = 16, hops = 8;
inline constexpr double mass = -1.3, diagonal = 4 + mass;  ///< of the Wilson operator

class coarse_rung : public rung {
 public:
  coarse_rung(size s, std::uint64_t seed)
      : p(transfer::extents_of(s), seed, INFINITY),
        m(p, mass),
        blocks({p.extent, 12}, {2, 2, 2, 2}, transfer::random_vectors(n / 2, std::size_t(p.sites) * 12, seed + 1)),
        in(transfer::random_vectors(columns, blocks.coarse.size(), seed + 2)),
        out(in) {}
  std::vector<double> result() const override {
    std::vector<double> numbers;
    for (const vector& v : out)
      for (const number& z : v) numbers.insert(numbers.end(), {z.real(), z.imag()});
    return numbers;
  }

 protected:
  dirac::problem p;
  solvers::wilson<double> m;
  transfer::aggregates blocks;
  std::vector<vector> in, out;  // a column each
};

}  // namespace ladder::coarse
