// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Dirac spinors of a rank's sites and of those one step outside. For .cu files only.
#pragma once

#include <memory>

#include "gpu/device/launch.hpp"
#include "gpu/fields/dirac_spinors.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/gauge/ghost_exchange.hpp"
#include "gpu/gauge/links_with_ghosts.hpp"

namespace plaquette::gpu {

/// A site of a column of a field into the box with ghosts.
struct copy_into_box {
  spinor_pointer<double> to[2];  ///< by parity of this rank's sites
  spinor_pointer<const double> from[2];
  box_with_ghosts box;
  site_order order;
  batch_order batch;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const batch_site s = batch.site(n);
    if (batch.is_padding(s)) return;
    const std::int32_t in_box = box.order.index(box.coordinate_of(order.coordinate_of(s.part, s.index)));
    const std::byte* const here = (s.part == 0 ? from[0] : from[1]).site(s.index, s.column);
    std::byte* const there = (s.part == 0 ? to[0] : to[1]).site(in_box, s.column);
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < spinor_components; ++k)
      store_chunk(there + k * chunk_stride, load_chunk(here + k * chunk_stride));
  }
};

/// Spinors of the box with ghosts: formulas read them on a process grid.
class spinors_with_ghosts {
 public:
  spinors_with_ghosts(const context& ctx, int columns)
      : context_(ctx),
        box_(ctx.geometry()),
        columns_(columns),
        storage_(ctx.workspace().take(static_cast<std::size_t>(2 * parity_bytes()))),
        exchange_(ctx, box_) {}

  /// Of a parity in the box.
  spinor_pointer<double> sites(int parity) const {
    constexpr std::int32_t column = column_bytes<double>(spinor_components);
    return {storage_.get() + parity * parity_bytes(), std::int64_t{column} * columns_, column};
  }
  /// Of a parity of this rank's sites.
  spinor_pointer<double> own_sites(int parity) const { return sites(box_.parity_of(parity)); }

  void copy_from(const field<double>& psi) {
    const batch_order batch(context_.order(), 2, columns_);
    for_each_index(
        context_.queue(), batch.count(),
        copy_into_box{{own_sites(0), own_sites(1)}, {psi.sites(0), psi.sites(1)}, box_, context_.order(), batch}, 128);
  }
  /// Fills the ghosts along the first directions: x, y, ... Collective.
  void exchange(int directions) const {
    const int chunks = columns_ * spinor_components;
    exchange_({storage_.get(), chunks}, {.first = 0, .count = chunks, .directions = directions});
  }

 private:
  std::int64_t parity_bytes() const {
    return std::int64_t{column_bytes<double>(spinor_components)} * columns_ * box_.order.blocks();
  }

  context context_;
  box_with_ghosts box_;
  int columns_;
  std::shared_ptr<std::byte> storage_;
  ghost_exchange exchange_;
};

/// Spinors as formulas of common read them, by a site of the box; in the basis of the field.
struct spinor_reader {
  spinor_pointer<const double> of[2];  ///< by parity in the box

  PLAQUETTE_HOST_DEVICE spinor<double> operator()(const box_site& x, int column) const {
    complex<double> numbers[spinor_components];
    load_site<double, spinor_components>(x.parity == 0 ? of[0] : of[1], x.index, column, numbers);
    spinor<double> psi;
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < spinor_components; ++k) psi(k / colours, k % colours) = numbers[k];
    return psi;
  }
};

}  // namespace plaquette::gpu
