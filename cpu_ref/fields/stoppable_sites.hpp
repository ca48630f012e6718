// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Loops over the sites of a large lattice that a run which is to stop leaves (stop_point.hpp).
#pragma once

#include <algorithm>

#include "common/stop_point.hpp"
#include "cpu_ref/fields/site_sum.hpp"

namespace plaquette::cpu {

/// Calls piece(first, end) for pieces of the rows [0, rows) in x, with a stop point before each. A lattice of no more
/// than `sites` is one piece. Collective.
/// \param sites  of a piece
template <class Piece>
void for_pieces_of_rows(const lattice_geometry& geometry, Piece&& piece, std::int64_t sites = sites_between_stops) {
  const std::int64_t length = geometry.local()[0], rows = geometry.local_volume() / length;
  const std::int64_t step = std::max<std::int64_t>(sites / length, 1);
  for (std::int64_t first = 0; first < rows; first += step) {
    if (rows > step) stop_point();
    piece(first, std::min(first + step, rows));
  }
}

/// Does the same as for_each_site. Collective.
template <class Visit>
void for_each_site_stoppably(const lattice_geometry& geometry, Visit&& visit) {
  for_pieces_of_rows(geometry,
                     [&](std::int64_t first, std::int64_t end) { detail::visit_rows(geometry, first, end, visit); });
}

/// Returns the bits of sum_over_sites; without stop points while exact_sums are on. Collective.
/// \param sites  between stop points
template <std::size_t Count, class Term>
std::array<double, Count> sum_over_sites_stoppably(const lattice_geometry& geometry, const communicator& comm,
                                                   Term&& term, std::int64_t sites = sites_between_stops) {
  if (exact_sums::are_on()) return sum_over_sites<Count>(geometry, comm, term);
  std::vector<std::array<double, Count>> row_sums(
      static_cast<std::size_t>(geometry.local_volume() / geometry.local()[0]));
  for_pieces_of_rows(
      geometry, [&](std::int64_t first, std::int64_t end) { detail::sum_rows(row_sums, geometry, first, end, term); },
      sites);
  return detail::total_of_rows(row_sums, comm);
}

}  // namespace plaquette::cpu
