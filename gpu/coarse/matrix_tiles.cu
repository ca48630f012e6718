// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/coarse/matrix_tiles.hpp"

#include "gpu/coarse/largest_number.hpp"
#include "gpu/device/launch.hpp"

namespace plaquette::gpu {

namespace {

/// An index is a number of the padded matrices: site, matrix, row, column.
struct pack_number {
  std::byte* to;
  tile_order order;
  const complex<float>* from;
  std::int64_t stride;
  float scale;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int32_t columns = order.steps() * order.columns_of_step(),
                       rows = order.row_tiles() * tile_order::tile_rows;
    const std::int64_t by_row = index / columns, by_matrix = by_row / rows, site = by_matrix / order.matrices;
    const auto column = static_cast<std::int32_t>(index - by_row * columns);
    const auto row = static_cast<std::int32_t>(by_row - by_matrix * rows);
    const auto matrix = static_cast<std::int32_t>(by_matrix - site * order.matrices);
    complex<float> z{};
    if (row < order.n && column < order.n)
      z = scale * from[site * stride + (std::int64_t{matrix} * order.n + row) * order.n + column];
    std::byte* const at = to + site * order.site_chunks() * tile_order::chunk + order.offset(matrix, row, column);
    if (order.storage == coarse_storage::single)
      *reinterpret_cast<complex<float>*>(at) = z;
    else
      *reinterpret_cast<std::uint32_t*>(at) = half_bits(z.re) | (static_cast<std::uint32_t>(half_bits(z.im)) << 16);
  }
};

}  // namespace

tiled_matrices::tiled_matrices(const execution& on, coarse_storage storage, int n, int matrices, std::int64_t sites,
                               const complex<float>* from, std::int64_t stride)
    : order_{n, matrices, storage}, sites_(sites), begin_(on.workspace().take(static_cast<std::size_t>(bytes()))) {
  const std::int64_t numbers =
      sites * matrices * order_.steps() * order_.columns_of_step() * order_.row_tiles() * tile_order::tile_rows;
  const float scale = scale_of_16_bits(largest_number(on, from, sites, std::int64_t{matrices} * n * n, stride));
  back_ = 1.0F / scale;
  for_each_index(on.queue(), numbers, pack_number{begin_.get(), order_, from, stride, scale});
}

}  // namespace plaquette::gpu
