// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Products of the matrices of coarse sites with the numbers of these and of their neighbours. The coarse operator and
/// its red-black parts are made of them.
#pragma once

#include "common/operators/coarse_matrices.hpp"
#include "gpu/coarse/coarse_field.hpp"
#include "gpu/coarse/matrix_tiles.hpp"
#include "gpu/halo/ghost_zones.hpp"

namespace plaquette::gpu {

/// out(x) = start(x) + factor sum_m A_m(x) in(x_m). Eight matrices of a site belong to its eight neighbours; nine begin
/// with the matrix of the site itself; one belongs to the site alone. start may be absent.
template <class T>
struct coarse_products {
  tile_pointer matrices;
  coarse_pointer<complex<T>> out;
  coarse_pointer<const complex<T>> in, start;
  const std::int32_t* neighbours = nullptr;   ///< of the lattice, [site][8]
  std::int64_t first_site = 0, first_in = 0;  ///< numbers in the lattice of the first sites of `out` and `in`
  std::int32_t sites = 0;                     ///< of `out`
  std::int32_t columns = 0;
  T factor = 1;
  ghost_zones ghosts{};                            ///< messages, [site][column][n]; none if no direction is cut
  std::int32_t first_ghosts[hop_directions] = {};  ///< of each message

  PLAQUETTE_HOST_DEVICE bool has_own() const { return matrices.order.matrices % 8 == 1; }
  /// Returns the vector that matrix m of a site is multiplied with: the n numbers of column 0; the next column follows.
  /// Null if they are in a message.
  PLAQUETTE_HOST_DEVICE const complex<T>* input(std::int64_t site, std::int32_t m) const {
    const std::int32_t d = m - (has_own() ? 1 : 0);
    if (d < 0) return in.at(site - first_in, 0);
    const std::int32_t y = neighbours[site * hop_directions + d];
    return y >= 0 ? in.at(y - first_in, 0) : nullptr;
  }
};

/// How products are made: by the pure gather, or by the fastest kernel for the shape. Host builds gather.
enum class product_kernel { gather, fastest };

/// Queues the products. T is double or float; double is gathered. Call it once before a graph records it.
template <class T>
void queue_products(const queue& q, const coarse_products<T>& p, product_kernel kernel = product_kernel::fastest);

}  // namespace plaquette::gpu
