// SPDX-License-Identifier: BSD-3-Clause
// ladder/multigrid/1_two_grids.cpp: two grids, all by dense matrices: M, P, and Mc = P^+ M P with its inverse. What
// relaxes is Richardson's iteration, x += w (b - M x). (Babich et al., arXiv:1005.3043)
#include "ladder/multigrid/problem.hpp"

namespace ladder::multigrid {
namespace {

constexpr double w = 0.85 / (4 + mass);

class two_grids : public multigrid_rung {
 public:
  two_grids(size s, std::uint64_t seed)
      : multigrid_rung(s, seed),
        m_(dense::matrix_of(hops, b.size())),
        p_(dense::matrix_of([&](const vector& c) { return blocks->prolonged(c); }, coarse.rows)),
        inverse_(dense::inverse(coarse)) {
    fine = [this](const vector& v) { return m_ * v; };
    relax = [this](const vector& r) {
      vector y(r.size());
      axpy(y, r, w);
      for (int k = 1; k < steps; ++k, ++applied) {
        const vector my = m_ * y;
        for (std::size_t i = 0; i < y.size(); ++i) y[i] += w * (r[i] - my[i]);
      }
      return y;
    };
    correct = [this](const vector& r) { return p_ * (inverse_ * p_.adjoint_times(r)); };
  }

 private:
  dense::matrix m_, p_, inverse_;
};

double one_solve(size) { return 1; }
const describe ladder("multigrid", "M x = b close to the critical mass, residual 1e-10, by cycles of several grids",
                      "solve", one_solve, 0);
const add<two_grids> rung_1("multigrid", 1, "two grids", 0, "matrices: M, P, P^+ M P and its inverse");

}  // namespace
}  // namespace ladder::multigrid
