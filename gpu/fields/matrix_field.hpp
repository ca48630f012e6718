// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Colour matrices on the device, in double: [parity][block of 32 sites][matrix][9 complex numbers][32 sites].
#pragma once

#include <memory>
#include <type_traits>

#include "common/algebra/su3.hpp"
#include "gpu/context.hpp"
#include "gpu/device/unroll.hpp"
#include "gpu/fields/storage.hpp"

namespace plaquette::gpu {

/// Bytes of one matrix at each of 32 sites.
inline constexpr std::int32_t matrix_bytes = colours * colours * chunk_stride;

/// Writes the last, padded block of each parity (with NaN): a copy of a whole field then reads nothing undefined.
inline void write_padding(const context& ctx, std::byte* begin, std::int64_t block_bytes) {
  const site_order& order = ctx.order();
  if (order.sites % lanes == 0) return;
  for (int parity = 0; parity < 2; ++parity)
    fill_bytes(ctx.queue(), begin + ((parity + 1) * std::int64_t{order.blocks()} - 1) * block_bytes, 0xff,
               static_cast<std::size_t>(block_bytes));
}

/// Matrices as kernels take them, `matrices` a site.
template <int matrices, class Byte>
struct matrix_pointer {
  Byte* begin = nullptr;
  std::int64_t parity_stride = 0;  ///< bytes from the even sites to the odd ones

  PLAQUETTE_HOST_DEVICE Byte* at(int parity, std::int32_t i, int which) const {
    return begin + parity * parity_stride + (static_cast<std::int64_t>(i / lanes) * matrices + which) * matrix_bytes +
           (i % lanes) * chunk_bytes;
  }
  PLAQUETTE_HOST_DEVICE su3<double> load(int parity, std::int32_t i, int which) const {
    const std::byte* const from = at(parity, i, which);
    su3<double> u;
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < colours * colours; ++k) {
      complex<double> z[1];
      unpack<double>(load_chunk(from + k * chunk_stride), 1.0F, z);
      u(k / colours, k % colours) = z[0];
    }
    return u;
  }
  PLAQUETTE_HOST_DEVICE void store(int parity, std::int32_t i, int which, const su3<double>& u) const {
    Byte* const to = at(parity, i, which);
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < colours * colours; ++k) {
      const complex<double> z[1] = {u(k / colours, k % colours)};
      store_chunk(to + k * chunk_stride, pack<double>(z, 1.0F));
    }
  }
};

/// A number of colour matrices at each site of the lattice. Copies share storage.
template <int matrices>
class matrix_field {
 public:
  using pointer = matrix_pointer<matrices, std::byte>;
  using const_pointer = matrix_pointer<matrices, const std::byte>;

  /// Undefined contents. Throws memory_error.
  explicit matrix_field(const context& ctx)
      : context_(ctx), storage_(ctx.workspace().take(static_cast<std::size_t>(2 * parity_bytes()))) {
    write_padding(ctx, storage_.get(), std::int64_t{matrices} * matrix_bytes);
  }

  const context& get_context() const { return context_; }
  /// Returns the bytes of the sites of one parity, the padding of the last block counted.
  std::int64_t parity_bytes() const { return std::int64_t{matrices} * matrix_bytes * context_.order().blocks(); }

  pointer sites() { return {storage_.get(), parity_bytes()}; }
  const_pointer sites() const { return {storage_.get(), parity_bytes()}; }

 private:
  context context_;
  std::shared_ptr<std::byte> storage_;
};

}  // namespace plaquette::gpu
