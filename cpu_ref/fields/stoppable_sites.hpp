// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Loops over the sites of a large lattice that a run which is to stop leaves (stop_point.hpp).
#pragma once

#include <algorithm>

#include "common/stop_point.hpp"
#include "cpu_ref/fields/site_sum.hpp"

namespace plaquette::cpu {

/// Calls piece(first, end) for pieces of the rows [0, rows) in x, with a stop point before each. A lattice of no more
/// than 2^15 sites is one piece. Collective.
template <class Piece>
void for_pieces_of_rows(const lattice_geometry& geometry, Piece&& piece) {
  const std::int64_t length = geometry.local()[0], rows = geometry.local_volume() / length;
  const std::int64_t step = std::max<std::int64_t>((std::int64_t{1} << 15) / length, 1);
  for (std::int64_t first = 0; first < rows; first += step) {
    if (rows > step) stop_point();
    piece(first, std::min(first + step, rows));
  }
}

/// Does what for_each_site does. Collective.
template <class Visit>
void for_each_site_stoppably(const lattice_geometry& geometry, Visit&& visit) {
  const int length = geometry.local()[0];
  for_pieces_of_rows(geometry, [&](std::int64_t first, std::int64_t end) {
#pragma omp parallel for schedule(static)
    for (std::int64_t row = first; row < end; ++row) {
      coordinate x = geometry.local_coordinate(row * length);
      for (x[0] = 0; x[0] < length; ++x[0]) visit(x);
    }
  });
}

/// Returns the bits of sum_over_sites. Collective.
template <std::size_t Count, class Term>
std::array<double, Count> sum_over_sites_stoppably(const lattice_geometry& geometry, const communicator& comm,
                                                   Term&& term) {
  const int length = geometry.local()[0];
  std::vector<std::array<double, Count>> row_sums(static_cast<std::size_t>(geometry.local_volume() / length));
  for_pieces_of_rows(geometry, [&](std::int64_t first, std::int64_t end) {
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
  });
  std::array<double, Count> total{};
  for (const auto& sum : row_sums)
    for (std::size_t i = 0; i < Count; ++i) total[i] += sum[i];
  comm.sum(std::span<double>(total));
  return total;
}

}  // namespace plaquette::cpu
