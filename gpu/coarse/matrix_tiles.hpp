// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How the matrices of coarse sites lie for the fast kernels: as the tiles that tensor cores multiply. A thread
/// takes 16 bytes straight into its registers, for one right-hand side as for many.
#pragma once

#include <cstdint>
#include <memory>

#include "common/algebra/complex.hpp"
#include "gpu/coarse/coarse_lattice.hpp"
#include "gpu/device/unroll.hpp"
#include "gpu/fields/half_bits.hpp"

namespace plaquette::gpu {

/// The numbers that store matrices: single precision, or 16-bit floats (11 bits of mantissa), which suffice for the
/// coarse operator of a preconditioner.
enum class coarse_storage { single, half };

/// The order of a site's n x n matrices: [matrix][step][tile of 16 rows][32 lanes][16 bytes]. A step has 4 columns in
/// single precision and 8 in half. Lane 4 g + t has the rows g and g + 8 of the tile, and column t: re and im of row g,
/// then of row g + 8; in half of column t + 4 too. Numbers beyond n are zero.
struct tile_order {
  std::int32_t n = 0, matrices = 0;  ///< numbers of a site; matrices of a site
  coarse_storage storage = coarse_storage::single;

  static constexpr std::int32_t tile_rows = 16, chunk = 16, lanes_of_tile = 32;

  PLAQUETTE_HOST_DEVICE std::int32_t columns_of_step() const { return storage == coarse_storage::single ? 4 : 8; }
  PLAQUETTE_HOST_DEVICE std::int32_t steps() const { return (n + columns_of_step() - 1) / columns_of_step(); }
  PLAQUETTE_HOST_DEVICE std::int32_t row_tiles() const { return (n + tile_rows - 1) / tile_rows; }
  /// Returns the chunks of 16 bytes of a step, of a matrix, of a site.
  PLAQUETTE_HOST_DEVICE std::int64_t step_chunks() const { return std::int64_t{row_tiles()} * lanes_of_tile; }
  PLAQUETTE_HOST_DEVICE std::int64_t matrix_chunks() const { return steps() * step_chunks(); }
  PLAQUETTE_HOST_DEVICE std::int64_t site_chunks() const { return matrices * matrix_chunks(); }

  /// Returns the bytes from the first of a site's to number (row, column) of one of its matrices: the real part; the
  /// imaginary one follows.
  PLAQUETTE_HOST_DEVICE std::int64_t offset(std::int32_t matrix, std::int32_t row, std::int32_t column) const {
    const std::int32_t step = column / columns_of_step(), within = column - step * columns_of_step();
    const std::int32_t tile = row / tile_rows, r = row - tile * tile_rows, t = within % 4;
    const std::int64_t first =
        (matrix * matrix_chunks() + step * step_chunks() + tile * lanes_of_tile + 4 * (r % 8) + t) * chunk;
    const std::int32_t number = r / 8 + 2 * (within / 4);
    return first + number * (storage == coarse_storage::single ? 8 : 4);
  }
};

/// Matrices of sites as kernels take them. Numbers are stored times a power of two, so that they and what rounding to
/// 11 bits leaves of them are in the range of 16 bits.
struct tile_pointer {
  const std::byte* begin = nullptr;  ///< of site 0
  tile_order order;
  float back = 1.0F;  ///< times a stored number is the number

  PLAQUETTE_HOST_DEVICE complex<float> number(std::int64_t site, std::int32_t matrix, std::int32_t row,
                                              std::int32_t column) const {
    return back * stored(site, matrix, row, column);
  }
  PLAQUETTE_HOST_DEVICE complex<float> stored(std::int64_t site, std::int32_t matrix, std::int32_t row,
                                              std::int32_t column) const {
    const std::byte* const at =
        begin + site * order.site_chunks() * tile_order::chunk + order.offset(matrix, row, column);
    if (order.storage == coarse_storage::single) return *reinterpret_cast<const complex<float>*>(at);
    const std::uint32_t word = *reinterpret_cast<const std::uint32_t*>(at);
    return {float_of_half(word & 0xffffU), float_of_half(word >> 16)};
  }
};

/// `matrices` matrices at each of `sites` sites. Copies share storage.
class tiled_matrices {
 public:
  tiled_matrices() = default;
  /// \param from  of the device, of site 0: [matrix][row][column]; that of site s begins s * stride later
  /// Waits.
  tiled_matrices(const execution& on, coarse_storage storage, int n, int matrices, std::int64_t sites,
                 const complex<float>* from, std::int64_t stride);

  bool empty() const { return begin_ == nullptr; }
  tile_pointer pointer() const { return {begin_.get(), order_, back_}; }
  std::int64_t bytes() const { return sites_ * order_.site_chunks() * tile_order::chunk; }

 private:
  tile_order order_;
  std::int64_t sites_ = 0;
  std::shared_ptr<std::byte> begin_;
  float back_ = 1.0F;
};

}  // namespace plaquette::gpu
