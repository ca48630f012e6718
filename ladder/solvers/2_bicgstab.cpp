// SPDX-License-Identifier: BSD-3-Clause
// ladder/solvers/2_bicgstab.cpp: like 1_conjugate_gradients, but for M itself (van der Vorst 1992): the condition
// number is not squared. There is no promise that it converges; for the Wilson operator it does.
#include "ladder/solvers/problem.hpp"

namespace ladder::solvers {
namespace {

void bicgstab(const wilson<double>& m, vector<double>& x, const vector<double>& b) {
  vector<double> r = b, p = b, v = b, t = b;
  const vector<double> shadow = b;  // any vector that is not orthogonal to r
  for (auto& number : x) number = 0;
  std::complex<double> rho = dot(shadow, r);
  const double small = tolerance * tolerance * norm2(b);
  for (int k = 0; k < 2000 && !(norm2(r) <= small); ++k) {
    m.apply(v, p);
    const auto alpha = rho / dot(shadow, v);  // makes r - alpha v orthogonal to the shadow
    for (std::size_t i = 0; i < x.size(); ++i) r[i] -= alpha * v[i];
    m.apply(t, r);
    const auto omega = dot(t, r) / norm2(t);  // makes r - omega t as short as can be
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] += alpha * p[i] + omega * r[i];
      r[i] -= omega * t[i];
    }
    const auto rho_new = dot(shadow, r), beta = rho_new / rho * (alpha / omega);
    for (std::size_t i = 0; i < x.size(); ++i) p[i] = r[i] + beta * (p[i] - omega * v[i]);
    rho = rho_new;
  }
}

class rung_2 : public solver_rung {
 public:
  rung_2(size s, std::uint64_t seed) : solver_rung(s, seed), m_(p) {}
  void run() override {
    m_.applications = 0;
    for (int column = 0; column < p.columns; ++column) bicgstab(m_, x[column], b[column]);
    applied = m_.applications;
  }

 private:
  wilson<double> m_;
};

const add<rung_2> here("solvers", 2, "BiCGstab", 3e-9, "like 1, but for M itself, not for M^+ M");

}  // namespace
}  // namespace ladder::solvers
