// SPDX-License-Identifier: BSD-3-Clause
// The proton's contraction of cpu_ref/observables/baryons.cpp, in another order. For colours b at the sink and b' at
// the source of the down quark, the 4 permutations of the others are two pairs (X, Y) of blocks of the up quark:
// (U_aa', U_cc') with the sign +, and (U_ac', U_ca') with the sign -. Each adds
//   tr [ Q^T X ] tr [ Y P ] + tr [ Q^T Y ] tr [ X P ] + tr [ Q^T (X P Y + Y P X) ],  Q = Q_bb' = -G D_bb' G.
#include "gpu/observables/baryons.hpp"

#include <string>

#include "common/algebra/gamma.hpp"
#include "common/error.hpp"
#include "common/lattice/same_lattice.hpp"
#include "gpu/fields/dirac_spinors.hpp"
#include "gpu/observables/correlators.hpp"
#include "gpu/observables/slice_sum.hpp"

namespace plaquette::gpu {
namespace {

/// S(sink spin, source spin) of two colours.
struct spin_block {
  complex<double> e[spins][spins];
};

/// tr [ q^T x ]
PLAQUETTE_HOST_DEVICE inline complex<double> trace_of_transpose(const spin_block& q, const spin_block& x) {
  complex<double> sum;
  PLAQUETTE_GPU_UNROLL
  for (int i = 0; i < spins; ++i) PLAQUETTE_GPU_UNROLL
  for (int j = 0; j < spins; ++j) sum += q.e[i][j] * x.e[i][j];
  return sum;
}

/// tr [ P <N Nbar> ] of a site, P = (1 + parity gamma_t) / 2. gamma_t exchanges spin k and spin k + 2.
struct proton {
  spinor_pointer<const double> up[2], down[2];
  double parity;

  /// Returns the block of colour c at the sink and e at the source, in the DeGrand-Rossi basis.
  PLAQUETTE_HOST_DEVICE static spin_block block(const spinor_pointer<const double>& s, std::int32_t i, int c, int e) {
    constexpr double factor = 0.70710678118654752440;  // of rotate_spin_basis
    spin_block x;
    PLAQUETTE_GPU_UNROLL
    for (int d = 0; d < spins; ++d) {
      const std::byte* const at = s.site(i, colours * d + e);
      complex<double> numbers[spins];
      PLAQUETTE_GPU_UNROLL
      for (int a = 0; a < spins; ++a) {
        complex<double> z[numbers_of_chunk<double>];
        unpack<double>(load_chunk(at + (colours * a + c) * chunk_stride), 1.0F, z);
        numbers[a] = z[0];
      }
      PLAQUETTE_GPU_UNROLL
      for (int a = 0; a < 2; ++a) {
        x.e[a][d] = factor * (numbers[a] + numbers[a + 2]);
        x.e[a + 2][d] = factor * (numbers[a] - numbers[a + 2]);
      }
    }
    return x;
  }

  /// G x G, G = gamma_y gamma_t gamma_5, which has one real entry in each row and column.
  PLAQUETTE_HOST_DEVICE static spin_block between(const spin_block& x) {
    constexpr spin_matrix g = gamma_matrix(1) * gamma_matrix(3) * gamma_matrix(4);
    spin_block product;
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < spins; ++k) PLAQUETTE_GPU_UNROLL
    for (int i = 0; i < spins; ++i) PLAQUETTE_GPU_UNROLL
    for (int j = 0; j < spins; ++j) PLAQUETTE_GPU_UNROLL
    for (int l = 0; l < spins; ++l)
      if (g(k, i).re != 0.0 && g(j, l).re != 0.0) product.e[k][l] = g(k, i).re * g(j, l).re * x.e[i][j];
    return product;
  }

  /// 2 tr [ x P ]
  PLAQUETTE_HOST_DEVICE complex<double> projected_trace(const spin_block& x) const {
    complex<double> sum;
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < spins; ++k) sum += x.e[k][k] + parity * x.e[(k + 2) % spins][k];
    return sum;
  }
  /// 2 tr [ q^T x P y ]
  PLAQUETTE_HOST_DEVICE complex<double> exchange(const spin_block& q, const spin_block& x, const spin_block& y) const {
    complex<double> sum;
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < 2; ++k) {
      complex<double> right[spins];
      PLAQUETTE_GPU_UNROLL
      for (int j = 0; j < spins; ++j) right[j] = y.e[k][j] + parity * y.e[k + 2][j];
      PLAQUETTE_GPU_UNROLL
      for (int i = 0; i < spins; ++i) {
        const complex<double> left = x.e[i][k] + parity * x.e[i][k + 2];
        complex<double> row;
        PLAQUETTE_GPU_UNROLL
        for (int j = 0; j < spins; ++j) row += q.e[i][j] * right[j];
        sum += left * row;
      }
    }
    return sum;
  }

  PLAQUETTE_HOST_DEVICE complex<double> operator()(const site_number& site) const {
    const spinor_pointer<const double> u = site.parity == 0 ? up[0] : up[1], d = site.parity == 0 ? down[0] : down[1];
    const std::int32_t i = site.index;
    complex<double> sum;
#pragma unroll 1
    for (int pair = 0; pair < 2 * colours * colours; ++pair) {
      const int sign = pair & 1, sink = pair / 2 / colours, source = pair / 2 % colours;
      const int a = (sink + 2) % colours, c = (sink + 1) % colours;
      const int a_source = (source + 2 - sign) % colours, c_source = (source + 1 + sign) % colours;
      const spin_block q = between(block(d, i, sink, source));
      const spin_block x = block(u, i, a, a_source), y = block(u, i, c, c_source);
      const complex<double> both = trace_of_transpose(q, x) * projected_trace(y) +
                                   trace_of_transpose(q, y) * projected_trace(x) + exchange(q, x, y) +
                                   exchange(q, y, x);
      sum += sign == 0 ? -both : both;
    }
    return 0.5 * sum;
  }
};

}  // namespace

std::vector<complex<double>> nucleon_correlator(const field<double>& up, const field<double>& down, int parity,
                                                const lattice_momentum& momentum) {
  require_propagator(up);
  require_propagator(down);
  require_same_lattice(up.get_context().geometry(), down.get_context().geometry(), "the up quark of a nucleon",
                       "the down quark on ");
  if (parity != 1 && parity != -1)
    throw input_error("a nucleon's parity: expected 1 or -1, found " + std::to_string(parity));
  const proton term{{up.sites(0), up.sites(1)}, {down.sites(0), down.sites(1)}, 1.0 * parity};
  return fourier_sum_over_slices(up.get_context(), 3, momentum, term);
}

}  // namespace plaquette::gpu
