// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all rungs of this ladder start from: the problem of the ladder force-cpu, in the memory of a GPU.
#pragma once

#include "ladder/dirac-gpu/problem.hpp"
#include "ladder/force-cpu/problem.hpp"

namespace ladder::force_gpu {

using namespace force;

/// Lattices that fill a GPU; the largest does not fit into its cache.
inline std::array<int, 4> extents_of(size s) {
  if (s == size::nano) return {4, 4, 4, 4};
  if (s == size::small) return {16, 16, 16, 16};
  return {32, 32, 16, 16};
}

/// Number k of a site follows number k - 1.
struct plain_order {
  LADDER_BOTH static int index(int site, int k, int numbers, int) { return site * numbers + k; }
};
/// Number k of a site follows that of the site before: a warp reads 32 numbers that lie together.
struct site_order {
  LADDER_BOTH static int index(int site, int k, int, int sites) { return k * sites + site; }
};

/// What formulas read, and what kernels write, in one of these orders.
template <class Order>
struct device_fields {
  dirac_gpu::lattice l;
  const complex *links, *spinors;  ///< X, then Y
  complex *leaves, *forces;

  LADDER_BOTH matrix link(int site, int mu) const { return load(links, site, 9 * mu, 36); }
  LADDER_BOTH matrix leaf(int site, int plane) const { return load(leaves, site, 9 * plane, 54); }
  LADDER_BOTH matrix force(int site, int mu) const { return load(forces, site, 9 * mu, 36); }
  LADDER_BOTH int neighbour(int site, int mu, int sign) const { return l.neighbour(site, mu, sign); }
  LADDER_BOTH spinor x(int site) const { return load_spinor(site, 0); }
  LADDER_BOTH spinor y(int site) const { return load_spinor(site, 12); }
  LADDER_BOTH void set_leaf(int site, int plane, const matrix& z) const { store(leaves, site, 9 * plane, 54, z); }
  LADDER_BOTH void set_force(int site, int mu, const matrix& f) const { store(forces, site, 9 * mu, 36, f); }

 private:
  LADDER_BOTH matrix load(const complex* from, int site, int first, int numbers) const {
    return matrix_of([&](int i, int j) { return from[Order::index(site, first + 3 * i + j, numbers, l.sites)]; });
  }
  LADDER_BOTH void store(complex* to, int site, int first, int numbers, const matrix& m) const {
    for (int k = 0; k < 9; ++k) to[Order::index(site, first + k, numbers, l.sites)] = m.at[k / 3][k % 3];
  }
  LADDER_BOTH spinor load_spinor(int site, int first) const {
    spinor psi;
    for (int k = 0; k < 12; ++k) psi.spin[k / 3][k % 3] = spinors[Order::index(site, first + k, 24, l.sites)];
    return psi;
  }
};

/// Returns the directions of a plane: mu < nu.
LADDER_BOTH constexpr int first_of(int plane) { return plane < 3 ? 0 : plane < 5 ? 1 : 2; }
LADDER_BOTH constexpr int second_of(int plane) { return plane < 3 ? plane + 1 : plane < 5 ? plane - 1 : 3; }

/// A rung whose numbers lie in an order.
template <class Order>
class gpu_rung : public force_rung {
 public:
  gpu_rung(size s, std::uint64_t seed)
      : force_rung(extents_of(s), seed),
        links_(in_order(36, [&](int site, int k) { return link(site, k / 9).at[k / 3 % 3][k % 3]; })),
        spinors_(in_order(24, [&](int site, int k) { return (k < 12 ? x(site) : y(site)).spin[k / 3 % 4][k % 3]; })),
        leaves_(in_order(54, [](int, int) { return complex{}; })),
        forces_(in_order(36, [](int, int) { return complex{}; })) {}
  /// Each kernel reads or writes each number once: leaves are written and read.
  double bytes() const override {
    return links_.bytes() + 2 * spinors_.bytes() + 2 * leaves_.bytes() + forces_.bytes();
  }
  std::vector<double> result() const override {
    const std::vector<complex> from = forces_.numbers();
    std::vector<double> to;
    for (int site = 0; site < p.sites; ++site)
      for (int k = 0; k < 36; ++k) {
        const complex& z = from[std::size_t(Order::index(site, k, 36, p.sites))];
        to.insert(to.end(), {z.re, z.im});
      }
    return to;
  }

 protected:
  device_fields<Order> fields() const {
    return {dirac_gpu::lattice(p), links_.data(), spinors_.data(), leaves_.data(), forces_.data()};
  }

 private:
  template <class Number>
  std::vector<complex> in_order(int numbers, const Number& number) const {
    std::vector<complex> to(std::size_t(p.sites) * std::size_t(numbers));
    for (int site = 0; site < p.sites; ++site)
      for (int k = 0; k < numbers; ++k) to[std::size_t(Order::index(site, k, numbers, p.sites))] = number(site, k);
    return to;
  }
  device_array<complex> links_, spinors_, leaves_, forces_;
};

}  // namespace ladder::force_gpu
