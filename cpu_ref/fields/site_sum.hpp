// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Loops over the sites of a canonical field: in parallel, and summed in an order that no number of threads changes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "common/comms/communicator.hpp"
#include "common/lattice/geometry.hpp"
#include "cpu_ref/fields/exact_sums.hpp"

namespace plaquette::cpu {

namespace detail {

/// Calls visit(x) for the sites of the rows [first, end) in x, in parallel by rows.
template <class Visit>
void visit_rows(const lattice_geometry& geometry, std::int64_t first, std::int64_t end, Visit&& visit) {
  const int length = geometry.local()[0];
#pragma omp parallel for schedule(static)
  for (std::int64_t row = first; row < end; ++row) {
    coordinate x = geometry.local_coordinate(row * length);
    for (x[0] = 0; x[0] < length; ++x[0]) visit(x);
  }
}

/// Sums term(x) over each of the rows [first, end), in parallel by rows.
template <std::size_t Count, class Term>
void sum_rows(std::vector<std::array<double, Count>>& row_sums, const lattice_geometry& geometry, std::int64_t first,
              std::int64_t end, Term&& term) {
  const int length = geometry.local()[0];
#pragma omp parallel for schedule(static)
  for (std::int64_t row = first; row < end; ++row) {
    coordinate x = geometry.local_coordinate(row * length);
    std::array<double, Count> sum{};
    for (x[0] = 0; x[0] < length; ++x[0]) {
      const std::array<double, Count> value = term(x);
      for (std::size_t i = 0; i < Count; ++i) sum[i] += value[i];
    }
    row_sums[static_cast<std::size_t>(row)] = sum;
  }
}

/// Returns the sum of the rows, then of the ranks. Collective.
template <std::size_t Count>
std::array<double, Count> total_of_rows(const std::vector<std::array<double, Count>>& row_sums,
                                        const communicator& comm) {
  std::array<double, Count> total{};
  for (const auto& sum : row_sums)
    for (std::size_t i = 0; i < Count; ++i) total[i] += sum[i];
  comm.sum(std::span<double>(total));
  return total;
}

}  // namespace detail

/// Calls visit(x) for every local site, given by its local coordinate, with the threads of OpenMP. Which thread sees
/// which site is not defined, so visit(x) writes only data that belongs to x.
template <class Visit>
void for_each_site(const lattice_geometry& geometry, Visit&& visit) {
  detail::visit_rows(geometry, 0, geometry.local_volume() / geometry.local()[0], visit);
}

/// Sums of Count numbers over all sites of all ranks: the numbers of a site come from term(x), a std::array. The sites
/// of one row in x are summed first, then the rows in lexicographic order, then the ranks. So it has the same bits for
/// any number of threads; process grids agree to rounding, or to the bit while exact_sums are on. Collective.
template <std::size_t Count, class Term>
std::array<double, Count> sum_over_sites(const lattice_geometry& geometry, const communicator& comm, Term&& term) {
  const extents& local = geometry.local();
  const std::int64_t rows = geometry.local_volume() / local[0];
  if (exact_sums::are_on()) {
    std::array<exact_sum, Count> sums;
#pragma omp parallel
    {
      std::array<exact_sum, Count> mine;
#pragma omp for schedule(static) nowait
      for (std::int64_t row = 0; row < rows; ++row) {
        coordinate x = geometry.local_coordinate(row * local[0]);
        for (x[0] = 0; x[0] < local[0]; ++x[0]) {
          const std::array<double, Count> value = term(x);
          for (std::size_t i = 0; i < Count; ++i) mine[i].add(value[i]);
        }
      }
#pragma omp critical(plaquette_exact_sum_over_sites)
      for (std::size_t i = 0; i < Count; ++i) sums[i] += mine[i];
    }
    std::array<double, Count> total{};
    std::ranges::copy(values_over_ranks(sums, comm), total.begin());
    return total;
  }
  std::vector<std::array<double, Count>> row_sums(static_cast<std::size_t>(rows));
  detail::sum_rows(row_sums, geometry, 0, rows, term);
  return detail::total_of_rows(row_sums, comm);
}

}  // namespace plaquette::cpu
