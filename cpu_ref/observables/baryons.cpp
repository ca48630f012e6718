// SPDX-License-Identifier: BSD-3-Clause
// The proton's contraction. With G = C gamma_5 = gamma_y gamma_t gamma_5, G^T = -G and gamma_t G^+ gamma_t = -G,
//   Nbar_g' = -epsilon_a'b'c' ubar_c'g' (dbar_b' G ubar_a'^T).
// The u quarks of N find the u quarks of Nbar in two ways. The exchange has the sign of the permutation.
//   <N_g Nbar_g'> = epsilon_abc epsilon_a'b'c' Q_bb'(alpha,alpha')
//                   [ U_aa'(alpha,alpha') U_cc'(g,g') - U_ac'(alpha,g') U_ca'(g,alpha') ].
// Here Q = -G D G.
#include "cpu_ref/observables/baryons.hpp"

#include <string>

#include "common/algebra/monomial.hpp"
#include "common/error.hpp"
#include "cpu_ref/observables/correlators.hpp"
#include "cpu_ref/observables/slice_sum.hpp"

namespace plaquette::cpu {
namespace {

/// S(sink, source) as a spin matrix for each pair of colours.
using colour_blocks = std::array<std::array<spin_matrix, colours>, colours>;

colour_blocks blocks_at(std::span<const spinor_configuration> columns, const coordinate& x) {
  colour_blocks s;
  for (int d = 0; d < spins; ++d)
    for (int e = 0; e < colours; ++e) {
      const spinor<double>& column = columns[static_cast<std::size_t>(colours * d + e)](x);
      for (int a = 0; a < spins; ++a)
        for (int c = 0; c < colours; ++c)
          s[static_cast<std::size_t>(c)][static_cast<std::size_t>(e)](a, d) = column(a, c);
    }
  return s;
}

/// tr [ a^T b ]
complex<double> trace_of_transpose(const spin_matrix& a, const spin_matrix& b) {
  complex<double> sum;
  for (int i = 0; i < spins; ++i)
    for (int j = 0; j < spins; ++j) sum += a(i, j) * b(i, j);
  return sum;
}

struct permutation {
  std::size_t a, b, c;
  double sign;
};
constexpr permutation permutations[] = {{0, 1, 2, 1.0},  {1, 2, 0, 1.0},  {2, 0, 1, 1.0},
                                        {0, 2, 1, -1.0}, {2, 1, 0, -1.0}, {1, 0, 2, -1.0}};

/// tr [ P <N Nbar> ] of quarks u, and q = -G D G.
complex<double> proton(const colour_blocks& u, const colour_blocks& q, const spin_matrix& projector) {
  colour_blocks projected;  // u P
  std::array<std::array<complex<double>, colours>, colours> traces;
  for (std::size_t i = 0; i < colours; ++i)
    for (std::size_t j = 0; j < colours; ++j) {
      projected[i][j] = u[i][j] * projector;
      traces[i][j] = complex<double>{};
      for (int s = 0; s < spins; ++s) traces[i][j] += projected[i][j](s, s);
    }
  complex<double> sum;
  for (const permutation& sink : permutations)
    for (const permutation& source : permutations) {
      const spin_matrix& diquark = q[sink.b][source.b];
      const complex<double> direct = trace_of_transpose(diquark, u[sink.a][source.a]) * traces[sink.c][source.c];
      const complex<double> exchange = trace_of_transpose(diquark, projected[sink.a][source.c] * u[sink.c][source.a]);
      sum += (sink.sign * source.sign) * (direct - exchange);
    }
  return sum;
}

}  // namespace

std::vector<complex<double>> nucleon_correlator(std::span<const spinor_configuration> up,
                                                std::span<const spinor_configuration> down, int parity,
                                                const std::array<int, 3>& momentum, const communicator& comm) {
  require_propagator(up);
  require_propagator(down);
  if (!(up.front().geometry() == down.front().geometry()))
    throw input_error("a nucleon needs two quarks on one lattice and process grid, found two");
  if (parity != 1 && parity != -1)
    throw input_error("a nucleon's parity: expected 1 or -1, found " + std::to_string(parity));
  const spin_matrix g = gamma_matrix(1) * gamma_matrix(3) * gamma_matrix(4);
  const spin_matrix projector =
      complex<double>{0.5, 0.0} * (spin_matrix::identity() + complex<double>{1.0 * parity, 0.0} * gamma_matrix(3));
  return fourier_sum_over_slices(up.front().geometry(), comm, 3, momentum, [&](const coordinate& x) {
    colour_blocks q = blocks_at(down, x);
    for (auto& row : q)
      for (spin_matrix& d : row) d = complex<double>{-1.0, 0.0} * (g * d * g);
    return proton(blocks_at(up, x), q, projector);
  });
}

}  // namespace plaquette::cpu
