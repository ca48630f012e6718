// SPDX-License-Identifier: BSD-3-Clause
// ladder/solvers/1_conjugate_gradients.cpp: conjugate gradients (Hestenes and Stiefel 1952). They need a matrix that is
// Hermitian and positive. M is not, but M^+ M is: solve M^+ M x = M^+ b. Two products with M or M^+ an iteration.
#include "ladder/solvers/problem.hpp"

namespace ladder::solvers {
namespace {

/// Solves M x = b from x = 0. Nothing here knows that there is a lattice.
void conjugate_gradients(const wilson<double>& m, vector<double>& x, const vector<double>& b) {
  vector<double> r = b, s = b, p = b, mp = b;  // r = b - M x; s = M^+ r, the residual of the normal equations
  for (auto& v : x) v = 0;
  m.apply(s, r, true);
  p = s;
  double ss = norm2(s);
  const double small = tolerance * tolerance * norm2(b);
  for (int k = 0; k < 2000 && !(norm2(r) <= small); ++k) {
    m.apply(mp, p);
    const double alpha = ss / norm2(mp);  // <p, M^+ M p> = |M p|^2
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] += alpha * p[i];
      r[i] -= alpha * mp[i];
    }
    m.apply(s, r, true);
    const double ss_new = norm2(s), beta = ss_new / ss;
    for (std::size_t i = 0; i < x.size(); ++i) p[i] = s[i] + beta * p[i];
    ss = ss_new;
  }
}

class rung_1 : public solver_rung {
 public:
  rung_1(size s, std::uint64_t seed) : solver_rung(s, seed), m_(p) {}
  void run() override {
    m_.applications = 0;
    for (int column = 0; column < p.columns; ++column) conjugate_gradients(m_, x[column], b[column]);
    applied = m_.applications;
  }

 private:
  wilson<double> m_;
};

double columns_of_run(size) { return dirac::problem::columns; }
const describe ladder("solvers", "M x = b for the Wilson operator M, four right-hand sides, residual 1e-10", "solve",
                      columns_of_run, 0);
const add<rung_1> here("solvers", 1, "conjugate gradients", 0, "on the normal equations; 30 lines without a lattice");

}  // namespace
}  // namespace ladder::solvers
