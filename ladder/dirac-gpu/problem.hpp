// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all rungs of this ladder start from: the problem of the ladder dirac-cpu, in the memory of a GPU.
#pragma once

#include "ladder/device.hpp"
#include "ladder/dirac-cpu/half_spinor.hpp"
#include "ladder/dirac-cpu/problem.hpp"

namespace ladder::dirac_gpu {

using dirac::complex, dirac::link, dirac::number, dirac::spinor;
inline constexpr int columns = dirac::problem::columns;

/// Lattices that fill a GPU; the largest does not fit into its cache.
inline std::array<int, 4> extents_of(size s) {
  if (s == size::nano) return {4, 4, 4, 4};
  if (s == size::small) return {16, 16, 16, 16};
  return {32, 32, 16, 16};
}
class gpu_rung : public dirac::dirac_rung {
 public:
  gpu_rung(size s, std::uint64_t seed) : dirac_rung(extents_of(s), seed) {}
};

struct lattice {
  int extent[4];  ///< x is the fastest index
  int sites;

  explicit lattice(const dirac::problem& p) : sites(p.sites) {
    for (int mu = 0; mu < 4; ++mu) extent[mu] = p.extent[std::size_t(mu)];
  }
  /// Returns the site one step along mu, forwards (+1) or backwards (-1).
  LADDER_BOTH int neighbour(int site, int mu, int sign) const {
    int stride = 1;
    for (int nu = 0; nu < mu; ++nu) stride *= extent[nu];
    const int x = site / stride % extent[mu], y = (x + sign + extent[mu]) % extent[mu];
    return site + (y - x) * stride;
  }
};

/// Returns what lies as [part][site][number] as [part][number][site]: threads of neighbouring sites then read
/// neighbouring numbers.
template <class R>
std::vector<complex<R>> by_number(const std::vector<number>& from, int sites, int numbers) {
  std::vector<complex<R>> to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t n = std::size_t(numbers), site = i / n % std::size_t(sites), part = i / n / std::size_t(sites);
    to[(part * n + i % n) * std::size_t(sites) + site] = {R(from[i].real()), R(from[i].imag())};
  }
  return to;
}

/// A rung whose result is [column][number][site] in precision R.
template <class R>
class site_order_rung : public gpu_rung {
 public:
  site_order_rung(size s, std::uint64_t seed)
      : gpu_rung(s, seed), order(p), result_(std::vector<complex<R>>(p.in.size())) {}
  std::vector<double> result() const override {
    const auto from = result_.numbers();
    std::vector<double> to(2 * from.size());
    for (int column = 0; column < columns; ++column)
      for (int site = 0; site < p.sites; ++site)
        for (int k = 0; k < 12; ++k) {
          const complex<R>& z = from[std::size_t((column * 12 + k) * p.sites + site)];
          const std::size_t i = std::size_t((column * p.sites + site) * 12 + k);
          to[2 * i] = z.re, to[2 * i + 1] = z.im;
        }
    return to;
  }

 protected:
  lattice order;
  device_array<complex<R>> result_;
};

}  // namespace ladder::dirac_gpu
