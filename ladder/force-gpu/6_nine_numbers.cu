// SPDX-License-Identifier: BSD-3-Clause
// ladder/force-gpu/6_nine_numbers.cu: like 5_plaquette_once, but leaves and forces are kept as what they are,
// anti-Hermitian: nine real numbers for 18. A matrix that carries one takes 144 multiplications for 216, and the
// registers of a thread hold more of them.
#include "ladder/force-cpu/problem.hpp"
#include "ladder/force-gpu/parts.hpp"

namespace ladder::force_gpu {
namespace {

struct antihermitian {
  double of[9];  ///< imaginary parts of the diagonal, then (1, 0), (2, 0), (2, 1)

  LADDER_BOTH complex operator()(int i, int j) const {
    if (i == j) return {0, of[i]};
    const int k = 3 + 2 * (i + j - 1);
    return i > j ? complex{of[k], of[k + 1]} : complex{-of[k], of[k + 1]};
  }
  LADDER_BOTH friend antihermitian operator+(antihermitian a, const antihermitian& b) {
    for (int k = 0; k < 9; ++k) a.of[k] += b.of[k];
    return a;
  }
  LADDER_BOTH friend antihermitian operator-(antihermitian a, const antihermitian& b) {
    for (int k = 0; k < 9; ++k) a.of[k] -= b.of[k];
    return a;
  }
};
/// Returns half of m - m^+.
template <class M>
LADDER_BOTH antihermitian part_of(const M& m) {
  const complex a = m(1, 0) - conj(m(0, 1)), b = m(2, 0) - conj(m(0, 2)), c = m(2, 1) - conj(m(1, 2));
  return {{m(0, 0).im, m(1, 1).im, m(2, 2).im, a.re / 2, a.im / 2, b.re / 2, b.im / 2, c.re / 2, c.im / 2}};
}
template <class A, class B>
LADDER_BOTH complex number_of_product(const A& a, const B& b, int i, int j) {
  complex sum = a(i, 0) * b(0, j);
  dirac::add_product(sum, a(i, 1), b(1, j));
  dirac::add_product(sum, a(i, 2), b(2, j));
  return sum;
}
/// Returns half of [a, b].
LADDER_BOTH inline antihermitian half_commutator(const antihermitian& a, const antihermitian& b) {
  return part_of([&](int i, int j) { return number_of_product(a, b, i, j); });
}
/// Returns u z u^+.
LADDER_BOTH inline antihermitian carried(const matrix& u, const antihermitian& z) {
  const auto of_u = [&](int i, int j) { return u.at[i][j]; };
  const auto adjoint_of_u = [&](int i, int j) { return conj(u.at[j][i]); };
  const matrix product = matrix_of([&](int i, int j) { return number_of_product(of_u, z, i, j); });
  const auto of_product = [&](int i, int j) { return product.at[i][j]; };
  return part_of([&](int i, int j) { return number_of_product(of_product, adjoint_of_u, i, j); });
}

struct nine_numbers {
  static constexpr int numbers = 9;

  /// As for_links_of_plaquette.
  template <class Take>
  LADDER_BOTH static void for_links(const device_fields<site_order>& f, int x, int mu, int nu, const Take& take) {
    const int ahead = f.neighbour(x, mu, +1), above = f.neighbour(x, nu, +1), number = plane(mu, nu);
    const auto leaf = [&](int site) {
      const matrix z = f.leaf(site, number);
      return part_of([&](int i, int j) { return z.at[i][j]; });
    };
    const matrix u = f.link(x, mu), v = f.link(x, nu), corner = u * f.link(ahead, nu);
    const matrix p = corner * adjoint(v * f.link(above, mu));
    const auto of_p = [&](int i, int j) { return p.at[i][j]; };
    const antihermitian p_a = part_of(of_p), twice_p_a = p_a + p_a, z1 = leaf(x), z2 = carried(u, leaf(ahead)),
                        z3 = carried(corner, leaf(f.neighbour(ahead, nu, +1))), z4 = carried(v, leaf(above)),
                        all = z1 + z2 + z3 + z4;
    const antihermitian f3 = part_of([&](int i, int j) { return number_of_product(all, of_p, i, j); }),
                        f4 = f3 - half_commutator(z4, twice_p_a), f1 = f4 - half_commutator(z1, twice_p_a),
                        f2 = f1 - half_commutator(z2, twice_p_a);
    take(1, f1), take(2, carried(adjoint(u), f2)), take(3, carried(adjoint(v), f3)), take(4, f4);
  }
  LADDER_BOTH static matrix load(const double* from, int sites) {
    antihermitian a;
    for (int k = 0; k < 9; ++k) a.of[k] = from[k * sites];
    return matrix_of([&](int i, int j) { return a(i, j); });
  }
  LADDER_BOTH static void store(double* to, int sites, const antihermitian& a) {
    for (int k = 0; k < 9; ++k) to[k * sites] = a.of[k];
  }
};

const add<parts_rung<nine_numbers>> rung_6("force-gpu", 6, "nine numbers", 4e-15,
                                           "like 5, but nine real numbers of an anti-Hermitian matrix");

}  // namespace
}  // namespace ladder::force_gpu
