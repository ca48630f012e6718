// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all rungs of this ladder start from: M x = b for the Wilson operator M close to its critical mass, on a lattice
/// so small that M fits into memory as a matrix. Null vectors are shared by all rungs but the last; finding them is not
/// timed. All solve by flexible GCR (Eisenstat, Elman, Schultz 1983) around a cycle; they differ in the cycle.
#pragma once

#include <functional>

#include "ladder/solvers/problem.hpp"
#include "ladder/transfer/aggregates.hpp"

namespace ladder::multigrid {

using dense::vector, solvers::dot, solvers::norm2;
using linear_map = std::function<vector(const vector&)>;
inline constexpr double tolerance = 1e-10, mass = -0.48;
inline constexpr int vectors = 8;  ///< null vectors: columns of P an aggregate and chirality
inline constexpr int steps = 4;    ///< of a relaxation
/// A solve that needs more has failed: without a coarse correction it would.
inline constexpr int most_iterations = 20;

/// x += a y.
inline void axpy(vector& x, const vector& y, std::complex<double> a = 1) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += a * y[i];
}

/// Solves A x = b from x = 0, with K about A^-1: K may change from step to step. Returns the number of steps.
inline int gcr(vector& x, const vector& b, const linear_map& a, const linear_map& k, int most, double small) {
  vector r = b;
  std::vector<vector> q, aq;  // directions, and their images, which are orthonormal
  std::fill(x.begin(), x.end(), 0);
  const double end = small * small * norm2(b);
  while (int(q.size()) < most && !(norm2(r) <= end)) {
    q.push_back(k(r)), aq.push_back(a(q.back()));
    for (std::size_t l = 0; l + 1 < q.size(); ++l) {
      const auto overlap = dot(aq[l], aq.back());
      axpy(q.back(), q[l], -overlap), axpy(aq.back(), aq[l], -overlap);
    }
    const double length = std::sqrt(norm2(aq.back()));
    for (auto& v : q.back()) v /= length;
    for (auto& v : aq.back()) v /= length;
    const auto alpha = dot(aq.back(), r);
    axpy(x, q.back(), alpha), axpy(r, aq.back(), -alpha);
  }
  return int(q.size());
}
inline const linear_map identity = [](const vector& r) { return r; };

/// Returns about A^-1 b: relaxation, correction by the coarser lattice, relaxation. (Brandt 1977)
inline vector cycle(const vector& b, const linear_map& a, const linear_map& relax, const linear_map& correct) {
  const auto residual = [&](const vector& x) {
    vector r = b;
    axpy(r, a(x), -1);
    return r;
  };
  vector x = relax(b);
  axpy(x, correct(residual(x)));
  axpy(x, relax(residual(x)));
  return x;
}

inline dirac::problem problem_of(size s, std::uint64_t seed) {
  return {s == size::nano ? std::array{4, 4, 2, 2} : std::array{4, 4, 4, s == size::small ? 2 : 4}, seed, 0.25};
}

/// A rung says what A is as a map, what relaxes and what corrects. Then `run` is the same for all.
class multigrid_rung : public rung {
 public:
  multigrid_rung(size s, std::uint64_t seed)
      : p(problem_of(s, seed)), m(p, mass), hops([this](const vector& x) {
          vector y(x.size());
          m.apply(y, x);
          return y;
        }) {
    const auto column = [&](int c) { return p.in.begin() + long(p.sites) * 12 * c; };
    b = vector(column(0), column(1)), x = b;
    // A null vector: what 16 steps of GCR from zero leave of a random v, when they solve M x = M v.
    std::mt19937_64 generator(seed + 1);
    std::normal_distribution<double> normal;
    std::vector<vector> from(vectors, b);
    for (vector& v : from) {
      for (auto& number : v) number = {normal(generator), normal(generator)};
      for (int pass = 0; pass < 3; ++pass) {
        vector error = v;
        gcr(v, hops(error), hops, identity, 16, 0);
        for (auto& number : v) number = -number;
        axpy(v, error);
      }
    }
    blocks = std::make_unique<transfer::aggregates>(transfer::grid{p.extent, 12}, std::array{2, 2, 2, 2}, from);
    coarse = dense::matrix_of([&](const vector& c) { return blocks->restricted(hops(blocks->prolonged(c))); },
                              blocks->coarse.size());
  }

  void run() override {
    applied = 0;
    const linear_map counted = [this](const vector& v) { return ++applied, fine(v); };
    iterations = gcr(
        x, b, counted, [&](const vector& r) { return cycle(r, counted, relax, correct); }, most_iterations, tolerance);
  }
  std::vector<double> result() const override {
    const auto* first = reinterpret_cast<const double*>(x.data());
    return {first, first + 2 * x.size()};
  }
  std::string remark() const override {
    return std::to_string(iterations) + " iterations, " + std::to_string(applied) + " products with M";
  }

 protected:
  /// Returns x after some steps of GCR on M x = r, and counts their products.
  vector relaxed_by_gcr(const vector& r) {
    vector x(r.size());
    applied += gcr(x, r, fine, identity, steps, 0);
    return x;
  }

  dirac::problem p;
  solvers::wilson<double> m;
  linear_map hops;                               // M, hop by hop
  std::unique_ptr<transfer::aggregates> blocks;  // the columns of P
  dense::matrix coarse;                          // P^+ M P
  vector b, x;
  linear_map fine, relax, correct;
  int iterations = 0, applied = 0;
};

}  // namespace ladder::multigrid
