// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How blocks of the clover term are packed for the kernels of operators: as `loaded_clover` (hopping_site.hpp) reads
/// them. For .cu files only.
#pragma once

#include "common/algebra/hermitian_6x6.hpp"
#include "gpu/dirac/hopping_site.hpp"
#include "gpu/fields/host_maximum.hpp"
#include "gpu/fields/packed_numbers.hpp"
#include "gpu/lattice/site_order.hpp"

namespace plaquette::gpu {

/// Writes a chiral block of site i.
/// \param begin  of the blocks of the site's parity
template <class T>
PLAQUETTE_HOST_DEVICE void pack_clover(std::byte* begin, std::int32_t i, int chirality, const hermitian_6x6& block) {
  constexpr int count = chiral_rows * chiral_rows;
  std::byte* const at = begin + static_cast<std::int64_t>(i / lanes * 2 + chirality) * chiral_block_bytes<T>;
  const int lane = i % lanes;
  const auto number = [&](int k) {
    if (k < chiral_rows) return block.diagonal[k];
    const complex<double>& z = block.lower[(k - chiral_rows) / 2];
    return k % 2 == 0 ? z.re : z.im;
  };
  if constexpr (is_half<T>) {
    double largest = 0.0;
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < count; ++k) {
      const double size = number(k) < 0.0 ? -number(k) : number(k);
      largest = larger(largest, size);
    }
    *reinterpret_cast<float*>(at + count * 2 * lanes + 4 * lane) = static_cast<float>(largest / 32767.0);
    const double inverse = largest > 0.0 ? 32767.0 / largest : 0.0;
    store_packed<count>(at, lane, [&](int k) {
      const double q = number(k) * inverse + 32768.5;  // positive: cutting off rounds to the nearest
      return static_cast<std::uint16_t>(q > 1.0 && q < 65536.0 ? q : 32768.0);
    });
  } else {
    store_packed<count>(at, lane, [&](int k) { return static_cast<real_of<T>>(number(k)); });
  }
}

}  // namespace plaquette::gpu
