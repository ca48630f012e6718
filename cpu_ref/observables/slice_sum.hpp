// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums over the slices across one direction, with a plane wave.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "common/algebra/complex.hpp"
#include "common/comms/communicator.hpp"
#include "common/error.hpp"
#include "common/lattice/conjugate_wave.hpp"
#include "common/lattice/geometry.hpp"
#include "cpu_ref/fields/exact_sums.hpp"

namespace plaquette::cpu {

/// Returns, for each coordinate of the whole lattice along `direction`, the sum of term(x) over the slice across it. A
/// term is `Count` numbers. The sites of a row in x are summed first, then the rows in lexicographic order, then the
/// ranks; across x, rows do not come into it. The same bits on any process grid while exact_sums are on. Collective.
template <std::size_t Count, class Term>
std::vector<std::array<double, Count>> sum_over_slices(const lattice_geometry& geometry, const communicator& comm,
                                                       int direction, Term&& term) {
  if (direction < 0 || direction >= dimensions)
    throw input_error("a correlator's direction: expected 0 to 3 (x, y, z, t), found " + std::to_string(direction));
  const extents& local = geometry.local();
  const std::int64_t rows = geometry.local_volume() / local[0];
  const int pieces = direction == 0 ? local[0] : 1;  // of a row
  const auto length = static_cast<std::size_t>(geometry.global()[direction]);
  if (exact_sums::are_on()) {
    std::vector<exact_sum> exact(Count * length);
    for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
      const coordinate x = geometry.local_coordinate(site);
      const std::array<double, Count> value = term(x);
      const auto slice = static_cast<std::size_t>(geometry.to_global(x)[direction]);
      for (std::size_t i = 0; i < Count; ++i) exact[Count * slice + i].add(value[i]);
    }
    const std::vector<double> values = values_over_ranks(exact, comm);
    std::vector<std::array<double, Count>> slices(length);
    for (std::size_t k = 0; k < values.size(); ++k) slices[k / Count][k % Count] = values[k];
    return slices;
  }
  std::vector<std::array<double, Count>> sums(static_cast<std::size_t>(rows * pieces));
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < rows; ++row) {
    coordinate x = geometry.local_coordinate(row * local[0]);
    for (x[0] = 0; x[0] < local[0]; ++x[0]) {
      const std::array<double, Count> value = term(x);
      auto& sum = sums[static_cast<std::size_t>(row * pieces + (direction == 0 ? x[0] : 0))];
      for (std::size_t i = 0; i < Count; ++i) sum[i] += value[i];
    }
  }
  std::vector<std::array<double, Count>> slices(length);
  for (std::int64_t at = 0; at < rows * pieces; ++at) {
    const coordinate x = geometry.to_global(geometry.local_coordinate(at * (local[0] / pieces)));
    for (std::size_t i = 0; i < Count; ++i)
      slices[static_cast<std::size_t>(x[direction])][i] += sums[static_cast<std::size_t>(at)][i];
  }
  comm.sum(std::span<double>(slices.front().data(), slices.size() * Count));
  return slices;
}

/// Returns sum over each slice of exp(-i p x) term(x), term(x) a complex number. Collective.
template <class Term>
std::vector<complex<double>> fourier_sum_over_slices(const lattice_geometry& geometry, const communicator& comm,
                                                     int direction, const std::array<int, 3>& momentum, Term&& term) {
  const auto sums = sum_over_slices<2>(geometry, comm, direction, [&](const coordinate& x) {
    const complex<double> value =
        conjugate_wave(momentum, geometry.to_global(x), geometry.global(), direction) * term(x);
    return std::array{value.re, value.im};
  });
  std::vector<complex<double>> correlator;
  for (const auto& sum : sums) correlator.push_back({sum[0], sum[1]});
  return correlator;
}

}  // namespace plaquette::cpu
