// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/observables/correlators.hpp"

#include <array>
#include <string>

#include "common/algebra/monomial.hpp"
#include "common/error.hpp"
#include "cpu_ref/observables/slice_sum.hpp"
#include "cpu_ref/sources/sources.hpp"

namespace plaquette::cpu {

void require_propagator(std::span<const spinor_configuration> columns) {
  if (columns.size() != spin_colours)
    throw input_error("a correlator needs the 12 columns of a propagator, found " + std::to_string(columns.size()));
  for (const spinor_configuration& column : columns)
    if (!(column.geometry() == columns.front().geometry()))
      throw input_error("a correlator needs columns on one lattice and process grid, found two");
}

namespace {

/// Sum over space of term(x), for each time of the whole lattice.
template <class Term>
std::vector<double> sum_over_space(const lattice_geometry& geometry, const communicator& comm, Term&& term) {
  const auto sums = sum_over_slices<1>(geometry, comm, 3, [&](const coordinate& x) { return std::array{term(x)}; });
  std::vector<double> correlator;
  for (const auto& [sum] : sums) correlator.push_back(sum);
  return correlator;
}

/// tr [ left S right S^+ ] at one site; S(a c, d e) is spin a, colour c of column 3 d + e.
complex<double> contraction(std::span<const spinor_configuration> columns, const coordinate& x, const monomial& left,
                            const monomial& right) {
  complex<double> sum;
  for (int d = 0; d < spins; ++d)
    for (int e = 0; e < colours; ++e) {
      const spinor<double>& from = columns[static_cast<std::size_t>(colours * d + e)](x);
      const spinor<double>& to = columns[static_cast<std::size_t>(colours * right.column[d] + e)](x);
      for (int a = 0; a < spins; ++a) {
        complex<double> overlap;
        for (int c = 0; c < colours; ++c) overlap += from(left.column[a], c) * conj(to(a, c));
        sum += left.entry[a] * right.entry[d] * overlap;
      }
    }
  return sum;
}

}  // namespace

std::vector<double> meson_correlator(std::span<const spinor_configuration> columns, const spin_matrix& gamma,
                                     const communicator& comm) {
  require_propagator(columns);
  const spin_matrix gamma5 = gamma_matrix(4);
  const monomial left = monomial_of(gamma5 * gamma), right = monomial_of(gamma * gamma5);
  return sum_over_space(columns.front().geometry(), comm,
                        [&](const coordinate& x) { return contraction(columns, x, left, right).re; });
}

std::vector<complex<double>> momentum_correlator(std::span<const spinor_configuration> columns,
                                                 const meson_gammas& gammas, const std::array<int, 3>& momentum,
                                                 const communicator& comm, int direction) {
  require_propagator(columns);
  const spin_matrix gamma5 = gamma_matrix(4);
  const monomial left = monomial_of(gamma5 * gammas.sink), right = monomial_of(gammas.source * gamma5);
  return fourier_sum_over_slices(columns.front().geometry(), comm, direction, momentum,
                                 [&](const coordinate& x) { return contraction(columns, x, left, right); });
}

std::vector<double> pion_correlator(std::span<const spinor_configuration> columns, const communicator& comm) {
  require_propagator(columns);
  return sum_over_space(columns.front().geometry(), comm, [&](const coordinate& x) {
    double sum = 0.0;
    for (const spinor_configuration& column : columns) sum += norm2(column(x));
    return sum;
  });
}

std::vector<double> rho_correlator(std::span<const spinor_configuration> columns, const communicator& comm) {
  std::vector<double> average;
  for (int i = 0; i < 3; ++i) {
    const std::vector<double> one = meson_correlator(columns, gamma_matrix(i), comm);
    average.resize(one.size());
    for (std::size_t t = 0; t < one.size(); ++t) average[t] += one[t] / 3.0;
  }
  return average;
}

}  // namespace plaquette::cpu
