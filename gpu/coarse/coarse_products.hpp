// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Products of the matrices of coarse sites with the numbers of these and of their neighbours: what the coarse operator
/// and its red-black parts are made of. For .cu files only.
#pragma once

#include "gpu/coarse/coarse_field.hpp"
#include "gpu/device/launch.hpp"

namespace plaquette::gpu {

/// out(x) = start(x) + factor (D(x) in(x) + sum_d Y_d(x) in(x + d)); D, Y or start may be absent.
template <class T>
struct coarse_products {
  coarse_pointer<complex<T>> out;
  coarse_pointer<const complex<T>> in, start;
  const complex<T>* ghosts = nullptr;        ///< [ghost][column][n]
  const complex<float>* diagonal = nullptr;  ///< of site x at x * diagonal_stride, [row][column]
  const complex<float>* links = nullptr;     ///< of site x at x * links_stride, [8][row][column]
  std::int64_t diagonal_stride = 0, links_stride = 0;
  const std::int32_t* neighbours = nullptr;   ///< of the lattice, [site][8]
  std::int64_t first_site = 0, first_in = 0;  ///< numbers in the lattice of the first sites of `out` and `in`
  std::int32_t sites = 0;                     ///< of `out`
  std::int32_t columns = 0;
  T factor = 1;
};

/// One row of a site and column: the formula.
template <class T>
struct gather_row {
  coarse_products<T> p;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int32_t n = p.out.n;
    const std::int64_t rest = index / n, s = rest / p.columns, site = p.first_site + s;
    const auto row = static_cast<std::int32_t>(index - rest * n),
               column = static_cast<std::int32_t>(rest - s * p.columns);
    complex<T> sum{};
    if (p.diagonal != nullptr)
      add_product(sum, p.diagonal + site * p.diagonal_stride + static_cast<std::int64_t>(row) * n,
                  p.in.at(site - p.first_in, column), n);
    if (p.links != nullptr)
      for (int d = 0; d < hop_directions; ++d) {
        const std::int32_t y = p.neighbours[site * hop_directions + d];
        const complex<T>* const x =
            y >= 0 ? p.in.at(y - p.first_in, column) : p.ghosts + (std::int64_t{-1 - y} * p.columns + column) * n;
        add_product(sum, p.links + site * p.links_stride + (static_cast<std::int64_t>(d) * n + row) * n, x, n);
      }
    sum = p.factor * sum;
    if (p.start.begin != nullptr) sum += p.start.at(s, column)[row];
    p.out.at(s, column)[row] = sum;
  }

 private:
  PLAQUETTE_HOST_DEVICE static void add_product(complex<T>& sum, const complex<float>* row, const complex<T>* x,
                                                std::int32_t n) {
    for (std::int32_t k = 0; k < n; ++k) {
      const complex<T> m = complex_cast<T>(row[k]);
      sum.re += m.re * x[k].re - m.im * x[k].im;
      sum.im += m.re * x[k].im + m.im * x[k].re;
    }
  }
};

/// Queues the products by the pure gather.
template <class T>
void queue_gathered(const queue& q, const coarse_products<T>& p) {
  for_each_index(q, std::int64_t{p.sites} * p.columns * p.out.n, gather_row<T>{p});
}

}  // namespace plaquette::gpu
