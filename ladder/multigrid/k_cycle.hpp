// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 4 brings: the coarse system is not inverted. It is solved, about, by GCR around a cycle of a third grid.
#pragma once

#include "ladder/multigrid/problem.hpp"

namespace ladder::multigrid {

/// About Mc^-1 on the second grid. Null vectors are made of random ones there.
class k_cycle {
 public:
  k_cycle(const dense::matrix& mc, const transfer::grid& second, std::uint64_t seed) : mc_(mc) {
    constexpr int coarser_vectors = 6;
    std::mt19937_64 generator(seed + 2);
    std::normal_distribution<double> normal;
    std::vector<vector> from(coarser_vectors, vector(second.size()));
    const linear_map apply = [&](const vector& v) { return mc_ * v; };
    for (vector& v : from) {
      for (auto& number : v) number = {normal(generator), normal(generator)};
      vector error = v;
      gcr(v, apply(error), apply, identity, 12, 0);
      for (auto& number : v) number = -number;
      axpy(v, error);
    }
    blocks_ = std::make_unique<transfer::aggregates>(second, second.extent, from);
    inverse_ = dense::inverse(dense::matrix_of(
        [&](const vector& c) { return blocks_->restricted(mc_ * blocks_->prolonged(c)); }, blocks_->coarse.size()));
  }

  vector operator()(const vector& b) const {
    const linear_map apply = [&](const vector& v) { return mc_ * v; };
    const linear_map relax = [&](const vector& r) {
      vector x(r.size());
      gcr(x, r, apply, identity, steps, 0);
      return x;
    };
    const linear_map correct = [&](const vector& r) { return blocks_->prolonged(inverse_ * blocks_->restricted(r)); };
    vector x(b.size());
    gcr(x, b, apply, [&](const vector& r) { return cycle(r, apply, relax, correct); }, 4, 0.1);
    return x;
  }

 private:
  const dense::matrix& mc_;
  std::unique_ptr<transfer::aggregates> blocks_;
  dense::matrix inverse_;
};

}  // namespace ladder::multigrid
