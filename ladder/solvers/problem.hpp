// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all rungs of this ladder start from: M x = b for four right-hand sides b, where M = 4 + m - D/2 has the hopping
/// term D of rung 3 of dirac-cpu. Random links and m = -1.3. A solver sees vectors and `apply`, and no lattice.
#pragma once

#include "ladder/dirac-cpu/half_spinor.hpp"
#include "ladder/dirac-cpu/problem.hpp"

namespace ladder::solvers {

/// Solvers end at |b - M x| <= tolerance |b|.
inline constexpr double tolerance = 1e-10;

template <class R>
using vector = std::vector<std::complex<R>>;

/// Returns the sum of conj(a) b, in double precision.
template <class R>
std::complex<double> dot(const vector<R>& a, const vector<R>& b) {
  std::complex<double> sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::conj(std::complex<double>(a[i])) * std::complex<double>(b[i]);
  return sum;
}
/// Returns |a|^2.
template <class R>
double norm2(const vector<R>& a) {
  return dot(a, a).real();
}

/// M for vectors [site][column][spin][colour] of any number of columns, in precision R.
template <class R>
class wilson {
 public:
  explicit wilson(const dirac::problem& p, double mass = -1.3)
      : diagonal_(R(4 + mass)), sites_(p.sites), links_(std::size_t(p.sites) * 4) {
    for (int x = 0; x < p.sites; ++x)
      for (int k = 0; k < 8; ++k) neighbours_.push_back(p.neighbour(x, k / 2, k % 2 == 0 ? +1 : -1));
    for (std::size_t k = 0; k < p.links.size(); ++k)
      links_[k / 9].u[k / 3 % 3][k % 3] = {R(p.links[k].real()), R(p.links[k].imag())};
  }

  /// out = M in, or M^+ in = gamma_5 M gamma_5 in.
  void apply(vector<R>& out, const vector<R>& in, bool daggered = false) const {
    const int columns = int(in.size() / 12) / sites_;
    const auto* from = reinterpret_cast<const dirac::spinor<R>*>(in.data());
    auto* to = reinterpret_cast<dirac::spinor<R>*>(out.data());
    ++applications;
    for (int x = 0; x < sites_; ++x)
      for (int column = 0; column < columns; ++column) {
        const auto place = [&](int site) { return std::size_t(site) * columns + column; };
        dirac::spinor<R> sum{};
        dirac::for_each_hop([&]<int mu, int sign>() {
          const int y = neighbours_[8 * x + 2 * mu + (sign < 0)];
          const dirac::link<R>& u = links_[4 * std::size_t(sign > 0 ? x : y) + mu].u;
          if (daggered)
            add_daggered_hop<mu, sign>(sum, u, from[place(y)]);
          else
            dirac::add_hop<mu, sign>(sum, u, from[place(y)]);
        });
        for (int k = 0; k < 12; ++k) {
          const auto& psi = from[place(x)][k / 3][k % 3];
          const auto& d = sum[k / 3][k % 3];
          to[place(x)][k / 3][k % 3] = {diagonal_ * psi.re - d.re / 2, diagonal_ * psi.im - d.im / 2};
        }
      }
  }

  mutable int applications = 0;

 private:
  struct one_link {
    dirac::link<R> u;
  };
  /// The spin matrix of M^+ has the other sign, the link is the same.
  template <int mu, int sign>
  static void add_daggered_hop(dirac::spinor<R>& sum, const dirac::link<R>& u, const dirac::spinor<R>& psi) {
    dirac::half_spinor<R> h, g;
    dirac::project<mu, -sign>(h, psi);
    dirac::transport<sign>(g, u, h);
    dirac::add_reconstructed<mu, -sign>(sum, g);
  }

  R diagonal_;
  int sites_;
  std::vector<int> neighbours_;
  std::vector<one_link> links_;
};

/// A rung fills x from b; both are a vector a column.
class solver_rung : public rung {
 public:
  solver_rung(size s, std::uint64_t seed) : p(s, seed) {
    const std::size_t length = std::size_t(p.sites) * 12;
    for (int column = 0; column < p.columns; ++column)
      b.emplace_back(p.in.begin() + long(column * length), p.in.begin() + long((column + 1) * length));
    x = b;
  }
  std::vector<double> result() const override {
    std::vector<double> numbers;
    for (const auto& column : x)
      for (const dirac::number& v : column) numbers.insert(numbers.end(), {v.real(), v.imag()});
    return numbers;
  }
  std::string remark() const override { return std::to_string(applied / p.columns) + " products with M a column"; }

 protected:
  dirac::problem p;
  std::vector<vector<double>> b, x;
  int applied = 0;  ///< products with M in the last run, summed over columns
};

}  // namespace ladder::solvers
