// SPDX-License-Identifier: BSD-3-Clause
// ladder/solvers/3_reliable_updates.cpp: like 2_bicgstab, but iterates in single precision. Where |r| has fallen to a
// tenth of what it was, x moves to a sum in double, and r becomes b - M x by the operator in double. The directions
// stay (Sleijpen and van der Vorst 1996), which is what a restart would lose.
#include <algorithm>

#include "ladder/solvers/problem.hpp"

namespace ladder::solvers {
namespace {

constexpr double fall = 0.1;  // single precision has 7 digits; one is used between two updates

void bicgstab(const wilson<double>& m, const wilson<float>& inner, vector<double>& x, const vector<double>& b) {
  using number = std::complex<float>;
  vector<double> exact = b, mx = b;                                       // b - M x of the sum x
  vector<float> r(b.begin(), b.end()), p = r, v = r, t = r, y(r.size());  // y: what comes to x at the next update
  const vector<float> shadow = r;
  for (auto& number : x) number = 0;
  std::complex<double> rho = dot(shadow, r);
  const double small = tolerance * tolerance * norm2(b);
  double rr = norm2(r), largest = rr;
  for (int k = 0; k < 2000 && !(rr <= small); ++k) {
    inner.apply(v, p);
    const auto alpha = rho / dot(shadow, v);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] -= number(alpha) * v[i];
    inner.apply(t, r);
    const auto omega = dot(t, r) / norm2(t);
    for (std::size_t i = 0; i < r.size(); ++i) {
      y[i] += number(alpha) * p[i] + number(omega) * r[i];
      r[i] -= number(omega) * t[i];
    }
    rr = norm2(r), largest = std::max(largest, rr);
    if (rr <= fall * fall * largest || rr <= small) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += std::complex<double>(y[i]), y[i] = 0;
      m.apply(mx, x);
      for (std::size_t i = 0; i < x.size(); ++i) r[i] = number(exact[i] = b[i] - mx[i]);
      rr = largest = norm2(exact);  // what decides is the residual in double
    }
    const auto rho_new = dot(shadow, r), beta = rho_new / rho * (alpha / omega);
    for (std::size_t i = 0; i < r.size(); ++i) p[i] = r[i] + number(beta) * (p[i] - number(omega) * v[i]);
    rho = rho_new;
  }
}

class rung_3 : public solver_rung {
 public:
  rung_3(size s, std::uint64_t seed) : solver_rung(s, seed), m_(p), inner_(p) {}
  void run() override {
    m_.applications = inner_.applications = 0;
    for (int column = 0; column < p.columns; ++column) bicgstab(m_, inner_, x[column], b[column]);
    applied = m_.applications + inner_.applications;
  }
  std::string remark() const override {
    return solver_rung::remark() + ", " + std::to_string(m_.applications / p.columns) + " of them in double";
  }

 private:
  wilson<double> m_;
  wilson<float> inner_;
};

const add<rung_3> here("solvers", 3, "reliable updates", 3e-9, "like 2, but iterates in single precision");

}  // namespace
}  // namespace ladder::solvers
