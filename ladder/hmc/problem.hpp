// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all rungs of this ladder start from: links U, momenta A, and a pair of Wilson quarks. Their energy is
///   H = -sum tr A^2 + beta sum (1 - Re tr U_p / 3) + sum of |W^-1 phi|^2 or |W^-1 W' phi|^2, W = M + i mu gamma_5.
/// Links move by dU/dt = A U. A rung is an order of drifts and kicks.
#pragma once

#include <algorithm>
#include <cstdio>
#include <optional>

#include "ladder/hmc/matrix.hpp"
#include "ladder/solvers/problem.hpp"

namespace ladder::hmc {

using vector = solvers::vector<double>;
inline constexpr double tau = 0.5, beta = 5.6;
/// The quarks of tests are heavy: so dH is small for any random links.
inline double mass_of(size s) { return s == size::nano ? 0 : -0.35; }

/// A pseudofermion phi, of which the action is |W^-1 phi|^2, or |W^-1 W' phi|^2 with the W' of heavier quarks.
struct pseudofermion {
  double mu, heavier;  ///< of W and of W'; heavier = 0: there is no W'
  vector phi{};
};

inline dirac::problem problem_of(size s, std::uint64_t seed) {
  return {s == size::nano ? std::array{4, 2, 2, 2} : std::array{4, 4, 4, s == size::small ? 4 : 8}, seed, 0.25};
}

/// Links, momenta and pseudofermions; it counts products with M.
class state {
 public:
  state(size s, std::uint64_t seed, std::vector<pseudofermion> factors)
      : quarks(std::move(factors)), mass_(mass_of(s)), p_(problem_of(s, seed)), random_(seed + 1) {
    momenta_.resize(std::size_t(p_.sites) * 4);
    for (matrix& a : momenta_) {  // sum of a_k^2 / 2 = -tr A^2 for eight normal a_k
      matrix m{};
      for (number& v : m) v = {normal_(random_), normal_(random_)};
      a = traceless_antihermitian(m);
    }
    for (matrix& a : momenta_)
      for (number& v : a) v *= std::sqrt(0.5);
    for (pseudofermion& q : quarks) {  // |eta|^2 is the action that phi begins with
      vector eta(std::size_t(p_.sites) * 12);
      for (number& v : eta) v = {normal_(random_) * std::sqrt(0.5), normal_(random_) * std::sqrt(0.5)};
      q.phi = applied(eta, q.mu, false);
      if (q.heavier != 0) q.phi = applied(solved(q.phi, q.heavier), q.heavier, true);
    }
    start_links_ = p_.links, start_momenta_ = momenta_;
    energy_of_start_ = energy();
  }

  /// U = exp(step A) U.
  void drift(double step) {
    for (std::size_t l = 0; l < momenta_.size(); ++l) set_link(l, exponential(step, momenta_[l]) * link(l));
  }
  /// A -= step beta/6 TA(U S), S the six staples that close U to a plaquette.
  void kick_by_links(double step) {
    for (int x = 0; x < p_.sites; ++x)
      for (int mu = 0; mu < 4; ++mu)
        for (int nu = 0; nu < 4; ++nu) {
          if (nu == mu) continue;
          const int ahead = p_.neighbour(x, mu, 1), above = p_.neighbour(x, nu, 1), below = p_.neighbour(x, nu, -1);
          matrix staples = u(ahead, nu) * adjoint(u(above, mu)) * adjoint(u(x, nu));
          add_to(staples, 1, adjoint(u(below, mu) * u(p_.neighbour(ahead, nu, -1), nu)) * u(below, nu));
          add_to(momenta_[4 * x + mu], -step * beta / 6, traceless_antihermitian(u(x, mu) * staples));
        }
  }
  /// A += step/2 TA(U sum_spin [X(x+mu) Y(x)^+ (1 - gamma_mu) + (1 + gamma_mu) Y(x+mu) X(x)^+]), Y = (W W^+)^-1 W' phi
  /// and X = W^+ Y, less phi if there is a W'.
  void kick_by_quarks(int factor, double step) {
    const pseudofermion& q = quarks[factor];
    const vector y = solved(q.heavier != 0 ? applied(q.phi, q.heavier, false) : q.phi, q.mu);
    vector x = applied(y, q.mu, true);
    for (std::size_t i = 0; i < x.size() && q.heavier != 0; ++i) x[i] -= q.phi[i];
    for (int at = 0; at < p_.sites; ++at)
      for (int mu = 0; mu < 4; ++mu) {
        const std::size_t here = std::size_t(at) * 12, ahead = std::size_t(p_.neighbour(at, mu, 1)) * 12;
        matrix g{};
        for (int s = 0; s < 4; ++s)
          for (int r = 0; r < 4; ++r)
            for (int k = 0; k < 9; ++k)
              g[k] += minus(mu, r, s) * x[ahead + 3 * s + k / 3] * std::conj(y[here + 3 * r + k % 3]) +
                      plus(mu, r, s) * y[ahead + 3 * s + k / 3] * std::conj(x[here + 3 * r + k % 3]);
        add_to(momenta_[4 * at + mu], step / 2, traceless_antihermitian(u(at, mu) * g));
      }
  }
  void reverse() {
    for (matrix& a : momenta_) a = adjoint(a);
  }

  /// Returns H now less H at the start.
  double change_of_energy() { return energy() - energy_of_start_; }
  /// Returns the largest difference of a link now and at the start.
  double distance_from_start() const {
    double most = 0;
    for (std::size_t i = 0; i < start_links_.size(); ++i)
      most = std::max(most, std::abs(p_.links[i] - start_links_[i]));
    return most;
  }
  /// Puts links and momenta of the start back.
  void restart() {
    p_.links = start_links_, momenta_ = start_momenta_;
    m_.reset();
  }

  std::vector<pseudofermion> quarks;
  int products = 0;

 private:
  matrix link(std::size_t l) const {
    matrix u;
    std::copy_n(&p_.links[9 * l], 9, u.begin());
    return u;
  }
  matrix u(int x, int mu) const { return link(4 * std::size_t(x) + mu); }
  void set_link(std::size_t l, const matrix& u) {
    std::copy(u.begin(), u.end(), &p_.links[9 * l]);
    m_.reset();
  }
  static number gamma(int mu, int row, int column) {
    const number powers[] = {1, {0, 1}, -1, {0, -1}};
    for (int a : {0, 1}) {
      if (row == a && column == dirac::lower[mu][a]) return powers[dirac::power[mu][a]];
      if (column == a && row == dirac::lower[mu][a]) return std::conj(powers[dirac::power[mu][a]]);
    }
    return 0;
  }
  static number minus(int mu, int row, int column) { return double(row == column) - gamma(mu, row, column); }
  static number plus(int mu, int row, int column) { return double(row == column) + gamma(mu, row, column); }

  /// Returns W v or W^+ v, W = M + i mu gamma_5.
  vector applied(const vector& v, double mu, bool daggered) {
    vector w(v.size());
    if (!m_) m_.emplace(p_, mass_);
    m_->apply(w, v, daggered), ++products;
    for (std::size_t i = 0; i < v.size(); ++i) w[i] += number(0, (i % 12 < 6) != daggered ? mu : -mu) * v[i];
    return w;
  }
  /// Returns (W W^+)^-1 b by conjugate gradients, from zero: a forecast could not be reversed.
  vector solved(const vector& b, double mu) {
    vector x(b.size()), r = b, p = b;
    double rr = solvers::norm2(r);
    for (const double end = rr * 1e-20; rr > end;) {
      const vector ap = applied(applied(p, mu, true), mu, false);
      const double alpha = rr / solvers::dot(p, ap).real();
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += alpha * p[i], r[i] -= alpha * ap[i];
      const double next = solvers::norm2(r);
      for (std::size_t i = 0; i < x.size(); ++i) p[i] = r[i] + next / rr * p[i];
      rr = next;
    }
    return x;
  }
  double energy() {
    double h = 0;
    for (int x = 0; x < p_.sites; ++x)
      for (int mu = 0; mu < 4; ++mu) {
        h -= real_trace(momenta_[4 * x + mu] * momenta_[4 * x + mu]);
        for (int nu = 0; nu < mu; ++nu)
          h += beta * (1 - real_trace(u(x, mu) * u(p_.neighbour(x, mu, 1), nu) *
                                      adjoint(u(x, nu) * u(p_.neighbour(x, nu, 1), mu))) /
                               3);
      }
    for (const pseudofermion& q : quarks)
      h += solvers::norm2(applied(solved(q.heavier != 0 ? applied(q.phi, q.heavier, false) : q.phi, q.mu), q.mu, true));
    return h;
  }

  double mass_;
  dirac::problem p_;
  std::vector<matrix> momenta_, start_momenta_;
  std::vector<number> start_links_;
  std::optional<solvers::wilson<double>> m_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  double energy_of_start_ = 0;
};

/// A rung says how a trajectory moves a state. Its result is 1 + dH, and 1 + 1e8 times how far from the start the way
/// back ends: with these right a chain is right, whatever the steps.
class hmc_rung : public rung {
 public:
  hmc_rung(size s, std::uint64_t seed, std::vector<pseudofermion> factors) : at(s, seed, std::move(factors)) {}
  virtual void trajectory() = 0;
  void run() override {
    at.restart();
    at.products = 0;
    trajectory();
    products_ = at.products;
    dh_ = at.change_of_energy();
    if (way_back_ < 0) at.reverse(), trajectory(), way_back_ = at.distance_from_start();
  }
  std::vector<double> result() const override { return {1 + dh_, 1 + 1e8 * way_back_}; }
  std::string remark() const override {
    char text[80];
    std::snprintf(text, sizeof text, "dH %.4f, %d products with M", dh_, products_);
    return text;
  }

 protected:
  state at;

 private:
  int products_ = 0;
  double dh_ = 0, way_back_ = -1;
};

}  // namespace ladder::hmc
