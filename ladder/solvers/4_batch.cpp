// SPDX-License-Identifier: BSD-3-Clause
// ladder/solvers/4_batch.cpp: like 3_reliable_updates, but all columns go through an iteration together, so that a link
// serves all of them. Each column has its own alpha, beta and omega. A column that is done waits with steps of length
// 0.
#include <algorithm>

#include "ladder/solvers/problem.hpp"

namespace ladder::solvers {
namespace {

constexpr int columns = dirac::problem::columns;
using number = std::complex<float>;
using scalars = std::array<std::complex<double>, columns>;  // one a column

/// Calls f(i, column) for each number i of all columns: [site][column][12].
template <class F>
void each(std::size_t length, const F& f) {
  for (std::size_t i = 0; i < length; i += 12 * columns)
    for (int column = 0; column < columns; ++column)
      for (int k = 0; k < 12; ++k) f(i + 12 * std::size_t(column) + std::size_t(k), column);
}
template <class R>
scalars dots(const vector<R>& a, const vector<R>& b) {
  scalars sums{};
  each(a.size(),
       [&](std::size_t i, int c) { sums[c] += std::conj(std::complex<double>(a[i])) * std::complex<double>(b[i]); });
  return sums;
}

void bicgstab(const wilson<double>& m, const wilson<float>& inner, vector<double>& x, const vector<double>& b) {
  vector<double> exact = b, mx = b;
  vector<float> r(b.begin(), b.end()), p = r, v = r, t = r, y(r.size());
  const vector<float> shadow = r;
  for (auto& number : x) number = 0;
  const scalars bb = dots(b, b);
  scalars rho = dots(shadow, r), rr = bb;
  double last = 1;  // the largest |r| / |b| of a column when x was updated
  bool done[columns] = {};
  const auto worst = [&] {
    double w = 0;
    for (int c = 0; c < columns; ++c) w = std::max(w, std::sqrt(rr[c].real() / bb[c].real()));
    return w;
  };
  for (int k = 0; k < 2000 && !std::all_of(done, done + columns, [](bool d) { return d; }); ++k) {
    inner.apply(v, p);
    const scalars sv = dots(shadow, v);
    std::array<number, columns> alpha{}, omega{}, beta{};
    for (int c = 0; c < columns; ++c) alpha[c] = done[c] ? 0 : number(rho[c] / sv[c]);
    each(r.size(), [&](std::size_t i, int c) { r[i] -= alpha[c] * v[i]; });
    inner.apply(t, r);
    const scalars tr = dots(t, r), tt = dots(t, t);
    for (int c = 0; c < columns; ++c) omega[c] = done[c] ? 0 : number(tr[c] / tt[c]);
    each(r.size(), [&](std::size_t i, int c) {
      y[i] += alpha[c] * p[i] + omega[c] * r[i];
      r[i] -= omega[c] * t[i];
    });
    rr = dots(r, r);
    if (worst() <= 0.1 * last || worst() <= tolerance) {
      each(x.size(), [&](std::size_t i, int) { x[i] += std::complex<double>(y[i]), y[i] = 0; });
      m.apply(mx, x);
      each(x.size(), [&](std::size_t i, int) { r[i] = number(exact[i] = b[i] - mx[i]); });
      rr = dots(exact, exact), last = worst();
      for (int c = 0; c < columns; ++c) done[c] = rr[c].real() <= tolerance * tolerance * bb[c].real();
    }
    const scalars rho_new = dots(shadow, r);
    for (int c = 0; c < columns; ++c) beta[c] = done[c] ? 0 : number(rho_new[c] / rho[c]) * (alpha[c] / omega[c]);
    each(r.size(), [&](std::size_t i, int c) { p[i] = r[i] + beta[c] * (p[i] - omega[c] * v[i]); });
    rho = rho_new;
  }
}

class rung_4 : public solver_rung {
 public:
  rung_4(size s, std::uint64_t seed) : solver_rung(s, seed), m_(p), inner_(p), b_(p.in.size()), x_(p.in.size()) {
    each(b_.size(), [&](std::size_t i, int c) { b_[i] = b[c][i / (12 * columns) * 12 + i % 12]; });
  }
  void run() override {
    m_.applications = inner_.applications = 0;
    bicgstab(m_, inner_, x_, b_);
    applied = columns * (m_.applications + inner_.applications);
    each(b_.size(), [&](std::size_t i, int c) { x[c][i / (12 * columns) * 12 + i % 12] = x_[i]; });
  }

 private:
  wilson<double> m_;
  wilson<float> inner_;
  vector<double> b_, x_;
};

const add<rung_4> here("solvers", 4, "batch", 3e-9, "like 3, but a link serves all columns");

}  // namespace
}  // namespace ladder::solvers
