// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums over the slices across one direction, with a plane wave: the twin of cpu_ref/observables/slice_sum.hpp. For .cu
/// files only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/lattice/conjugate_wave.hpp"
#include "gpu/context.hpp"
#include "gpu/fields/host_sums.hpp"
#include "gpu/fields/lattice_sites.hpp"

namespace plaquette::gpu {

/// The sites of a slice across one direction, numbered: those of a parity follow each other, with x the fastest.
struct slice_sites {
  site_order order;
  int direction;
  std::int32_t sites_of_parity;  ///< of a slice; across x half of them, rounded down
  divisor rows_below;            ///< the product of the extents in y, z and t below the direction

  slice_sites(const site_order& of, int across) : order(of), direction(across) {
    sites_of_parity = order.sites / order.length[direction];
    std::int32_t rows = 1;
    for (int mu = 1; mu < direction; ++mu) rows *= order.length[mu];
    rows_below = divisor(rows);
  }
  /// Returns the number of sites of a slice.
  std::int64_t count() const { return 2 * std::int64_t{order.sites} / order.length[direction]; }
  /// \param slice  the local coordinate in the direction
  PLAQUETTE_HOST_DEVICE site_number site(std::int64_t n, int slice) const {
    const auto at = static_cast<std::int32_t>(n);
    if (direction == 0) {  // n numbers rows in x, and each has one site
      const std::int32_t plane = order.y.quotient(at), t = order.z.quotient(plane);
      const std::int32_t y = at - plane * order.length[1], z = plane - t * order.length[2];
      return {(slice + y + z + t) & 1, slice / 2 + order.half_x.value * at};
    }
    const bool odd = at >= sites_of_parity;
    const std::int32_t of_parity = odd ? at - sites_of_parity : at, row = order.half_x.quotient(of_parity);
    const std::int32_t above = rows_below.quotient(row), below = row - above * rows_below.value;
    const std::int32_t row_of_lattice = below + rows_below.value * (slice + order.length[direction] * above);
    return {odd ? 1 : 0, of_parity - row * order.half_x.value + order.half_x.value * row_of_lattice};
  }
};

/// exp(-i p x) term(site), a complex number of a site.
template <class Term>
struct sum_of_waves {
  Term term;
  slice_sites slices;
  global_order whole;
  lattice_momentum momentum;
  bool moves;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n, int slice, double (&sums)[2]) const {
    const site_number at = slices.site(n, slice);
    complex<double> value = term(at);
    if (moves) {
      const site_coordinate x = whole.coordinate_of(slices.order.coordinate_of(at.parity, at.index));
      value = conjugate_wave(momentum, x.x, whole.length, slices.direction) * value;
    }
    sums[0] += value.re;
    sums[1] += value.im;
  }
};

/// Returns, for each coordinate of the whole lattice along `direction`, the sum over the slice of exp(-i p x)
/// term(site), term(site) a complex number. In a fixed order. Collective; waits. Throws input_error for a direction
/// that is not 0 to 3.
template <class Term>
std::vector<complex<double>> fourier_sum_over_slices(const context& ctx, int direction,
                                                     const lattice_momentum& momentum, const Term& term) {
  if (direction < 0 || direction >= dimensions)
    throw input_error("a correlator's direction: expected 0 to 3 (x, y, z, t), found " + std::to_string(direction));
  const lattice_geometry& geometry = ctx.geometry();
  const sum_of_waves<Term> body{term, slice_sites(ctx.order(), direction), global_order(geometry), momentum,
                                !is_zero(momentum)};
  const std::vector<double> sums = host_sums<2>(ctx, body.slices.count(), ctx.order().length[direction], body);
  std::vector<complex<double>> correlator(static_cast<std::size_t>(geometry.global()[direction]));
  for (std::size_t k = 0; k < sums.size() / 2; ++k)
    correlator[static_cast<std::size_t>(geometry.origin()[direction]) + k] = {sums[2 * k], sums[2 * k + 1]};
  ctx.comm().sum(std::span<double>(&correlator.front().re, 2 * correlator.size()));
  return correlator;
}

}  // namespace plaquette::gpu
