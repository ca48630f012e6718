// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/correlator_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "common/algebra/gamma.hpp"
#include "common/algebra/largest.hpp"
#include "common/lattice/sum_rounding.hpp"

namespace plaquette {

void check_correlator(verification& checks, const std::string& name, const std::vector<double>& correlator) {
  double largest = 0.0, smallest = std::numeric_limits<double>::infinity();
  for (const double c : correlator)
    if (c > 0.0) largest = std::max(largest, c), smallest = std::min(smallest, c);
  // A heavy quark's solution is found before the Krylov space has reached all times; it is 0 at times beyond.
  const bool fades = smallest <= 0x1p-53 * largest;
  const auto bad = std::ranges::count_if(correlator, [fades](double c) {
    const bool is_faded = fades && c == 0.0;
    return !(c > 0.0 || is_faded) || !std::isfinite(c);
  });
  checks.add(name + " correlator is positive", static_cast<double>(bad), 0.0);
}

namespace {

/// A number of a spin matrix that is not zero.
struct matrix_entry {
  int row, column;
  complex<double> value;
};

std::vector<matrix_entry> entries_of(const spin_matrix& m) {
  std::vector<matrix_entry> entries;
  for (int row = 0; row < spins; ++row)
    for (int column = 0; column < spins; ++column)
      if (m(row, column).re != 0.0 || m(row, column).im != 0.0) entries.push_back({row, column, m(row, column)});
  return entries;
}

/// tr [ left S right S^+ ] at one site, where S(a c, d e) is spin a, colour c of column 3 d + e.
double trace(const std::vector<spinor_configuration>& columns, const coordinate& x,
             const std::vector<matrix_entry>& left, const std::vector<matrix_entry>& right) {
  double sum = 0.0;
  for (const matrix_entry& r : right)
    for (int e = 0; e < colours; ++e) {
      const spinor<double>& s = columns[static_cast<std::size_t>(colours * r.row + e)](x);
      const spinor<double>& adjoint = columns[static_cast<std::size_t>(colours * r.column + e)](x);
      for (const matrix_entry& l : left) {
        complex<double> of_colours{};
        for (int c = 0; c < colours; ++c) of_colours += s(l.column, c) * conj(adjoint(l.row, c));
        sum += (l.value * r.value * of_colours).re;
      }
    }
  return sum;
}

/// Pion and rho at each time.
std::array<std::vector<double>, 2> by_definition(const std::vector<spinor_configuration>& columns,
                                                 const communicator& comm) {
  const lattice_geometry& geometry = columns.front().geometry();
  const spin_matrix gamma5 = gamma_matrix(4);
  std::array<std::vector<matrix_entry>, 3> left, right;
  for (int i = 0; i < 3; ++i) {
    left[static_cast<std::size_t>(i)] = entries_of(gamma5 * gamma_matrix(i));
    right[static_cast<std::size_t>(i)] = entries_of(gamma_matrix(i) * gamma5);
  }
  const int length = geometry.local()[0];
  std::vector<std::array<double, 2>> of_rows(static_cast<std::size_t>(geometry.local_volume() / length));
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < std::ssize(of_rows); ++row) {
    std::array<double, 2> sum{};
    coordinate x = geometry.local_coordinate(row * length);
    for (x[0] = 0; x[0] < length; ++x[0]) {
      for (const spinor_configuration& column : columns)
        for (int a = 0; a < spins; ++a)
          for (int c = 0; c < colours; ++c) sum[0] += (column(x)(a, c) * conj(column(x)(a, c))).re;
      for (std::size_t i = 0; i < 3; ++i) sum[1] += trace(columns, x, left[i], right[i]) / 3.0;
    }
    of_rows[static_cast<std::size_t>(row)] = sum;
  }
  const std::vector<double> zeros(static_cast<std::size_t>(geometry.global()[3]));
  std::array<std::vector<double>, 2> sums{zeros, zeros};
  for (std::int64_t row = 0; row < std::ssize(of_rows); ++row) {
    const auto time = static_cast<std::size_t>(geometry.to_global(geometry.local_coordinate(row * length))[3]);
    for (std::size_t k = 0; k < 2; ++k) sums[k][time] += of_rows[static_cast<std::size_t>(row)][k];
  }
  for (std::vector<double>& sum : sums) comm.sum(std::span(sum));
  return sums;
}

}  // namespace

void check_correlators_by_definition(verification& checks, const std::vector<double>& pion,
                                     const std::vector<double>& rho, const std::vector<spinor_configuration>& columns,
                                     const communicator& comm) {
  const auto [expected_pion, expected_rho] = by_definition(columns, comm);
  double pion_apart = 0.0, rho_apart = 0.0;
  for (std::size_t t = 0; t < expected_pion.size(); ++t) {
    const auto share = [largest = expected_pion[t]](double found, double expected) {
      return found == expected ? 0.0 : std::abs(found - expected) / largest;
    };
    keep_largest(pion_apart, share(pion.at(t), expected_pion[t]));
    keep_largest(rho_apart, share(rho.at(t), expected_rho[t]));
  }
  // A term, on either side, is rounded some tens of times. The terms are summed over the sites in two orders. Terms of
  // the rho have both signs, and none is larger than the pion's.
  const double rounding = 128.0 * 0x1p-53 + sum_rounding(columns.front().geometry().global());
  checks.add("pion correlator against its definition", pion_apart, rounding);
  checks.add("rho correlator against its definition", rho_apart, rounding);
}

void print_correlators(const std::vector<double>& pion, const std::vector<double>& rho) {
  fmt::print("\n     t              pion               rho   (sum over space; t as on the lattice)\n");
  for (std::size_t t = 0; t < pion.size(); ++t) fmt::print("{:6}  {:16.10e}  {:16.10e}\n", t, pion[t], rho[t]);
}

void note_correlators(app_run& run, const std::vector<double>& pion, const std::vector<double>& rho, int source_time) {
  run.result.observables = {{"pion", pion}, {"rho", rho}, {"source_time", source_time}};
  check_correlator(run.result.checks, "pion", pion);
  if (run.is_root()) print_correlators(pion, rho);
}

}  // namespace plaquette
