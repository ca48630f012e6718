// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/observables/correlators.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "common/algebra/monomial.hpp"
#include "common/error.hpp"
#include "cpu_ref/sources/sources.hpp"

namespace plaquette::cpu {
namespace {

void require_propagator(std::span<const spinor_configuration> columns) {
  if (columns.size() != spin_colours)
    throw input_error("a correlator needs the 12 columns of a propagator, found " + std::to_string(columns.size()));
}

/// Sum over space of term(x), for each time of the whole lattice. The sites of a row in x are summed first, then the
/// rows in lexicographic order, then the ranks.
template <class Term>
std::vector<double> sum_over_space(const lattice_geometry& geometry, const communicator& comm, Term&& term) {
  const extents& local = geometry.local();
  const std::int64_t rows = geometry.local_volume() / local[0];
  std::vector<double> row_sums(static_cast<std::size_t>(rows));
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < rows; ++row) {
    coordinate x = geometry.local_coordinate(row * local[0]);
    double sum = 0.0;
    for (x[0] = 0; x[0] < local[0]; ++x[0]) sum += term(x);
    row_sums[static_cast<std::size_t>(row)] = sum;
  }
  std::vector<double> correlator(static_cast<std::size_t>(geometry.global()[3]));
  for (std::int64_t row = 0; row < rows; ++row) {
    const coordinate x = geometry.to_global(geometry.local_coordinate(row * local[0]));
    correlator[static_cast<std::size_t>(x[3])] += row_sums[static_cast<std::size_t>(row)];
  }
  comm.sum(std::span<double>(correlator));
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
                                                 const spin_matrix& gamma, const std::array<int, 3>& momentum,
                                                 const communicator& comm) {
  require_propagator(columns);
  const lattice_geometry& geometry = columns.front().geometry();
  const spin_matrix gamma5 = gamma_matrix(4);
  const monomial left = monomial_of(gamma5 * gamma), right = monomial_of(gamma * gamma5);
  const auto term = [&](const coordinate& local) {
    const coordinate x = geometry.to_global(local);
    double angle = 0.0;  // of exp(-i p x), p_i = 2 pi n_i / L_i
    for (std::size_t i = 0; i < 3; ++i) {
      const int length = geometry.global()[i];
      angle -= 2.0 * std::numbers::pi * static_cast<double>((std::int64_t{momentum[i]} * x[i]) % length) / length;
    }
    return complex<double>{std::cos(angle), std::sin(angle)} * contraction(columns, local, left, right);
  };
  const std::vector<double> re = sum_over_space(geometry, comm, [&](const coordinate& x) { return term(x).re; });
  const std::vector<double> im = sum_over_space(geometry, comm, [&](const coordinate& x) { return term(x).im; });
  std::vector<complex<double>> correlator;
  for (std::size_t t = 0; t < re.size(); ++t) correlator.push_back({re[t], im[t]});
  return correlator;
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
