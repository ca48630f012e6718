// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gauge/links_with_ghosts.hpp"

#include "gpu/device/launch.hpp"

namespace plaquette::gpu {
namespace {

/// The matrices of one of this rank's sites, from its box to the one with ghosts or back.
template <int matrices, bool to_box>
struct copy_site {
  matrix_pointer<matrices, std::byte> own;
  matrix_pointer<matrices, std::byte> ghosted;
  site_order order;
  box_with_ghosts box;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    const std::int32_t in_box = box.order.index(box.coordinate_of(order.coordinate_of(parity, i)));
    std::byte* const here = own.at(parity, i, 0);
    std::byte* const there = ghosted.at(box.parity_of(parity), in_box, 0);
    std::byte* const to = to_box ? there : here;
    const std::byte* const from = to_box ? here : there;
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < matrices * colours * colours; ++k)
      store_chunk(to + k * chunk_stride, load_chunk(from + k * chunk_stride));
  }
};

template <bool to_box, int matrices>
void copy_own_sites(const context& ctx, const matrix_pointer<matrices, std::byte>& own,
                    const ghosted_matrices<matrices, std::byte>& ghosted) {
  for_each_index(ctx.queue(), 2 * static_cast<std::int64_t>(ctx.order().sites),
                 copy_site<matrices, to_box>{own, ghosted.at, ctx.order(), ghosted.box}, 128);
}

}  // namespace

template <int matrices>
matrices_with_ghosts<matrices>::matrices_with_ghosts(const matrix_field<matrices>& field)
    : own_(field), box_(field.get_context().geometry()), exchange_(field.get_context(), box_) {
  const context& ctx = get_context();
  if (volume(ctx.geometry().grid()) == 1) {
    sites_ = own_.sites();
    return;
  }
  const std::int64_t parity_bytes = std::int64_t{matrices} * matrix_bytes * box_.order.blocks();
  copy_ = ctx.workspace().take(static_cast<std::size_t>(2 * parity_bytes));
  sites_ = {copy_.get(), parity_bytes};
  copy_own_sites<true>(ctx, own_.sites(), sites());
  exchange_({copy_.get(), matrices * matrix_chunks}, {.first = 0, .count = matrices * matrix_chunks});
}

template <int matrices>
void matrices_with_ghosts<matrices>::exchange(int which, int parity) {
  if (!is_copy()) return;
  exchange_(
      {copy_.get(), matrices * matrix_chunks},
      {.first = which * matrix_chunks, .count = matrix_chunks, .first_parity = box_.parity_of(parity), .parities = 1});
}

template <int matrices>
void matrices_with_ghosts<matrices>::write_back() {
  if (is_copy()) copy_own_sites<false>(get_context(), own_.sites(), sites());
}

template class matrices_with_ghosts<1>;
template class matrices_with_ghosts<dimensions>;
template class matrices_with_ghosts<dimensions*(dimensions - 1) / 2>;  // leaves of planes
template class matrices_with_ghosts<dimensions*(dimensions - 1)>;      // HYP smearing

}  // namespace plaquette::gpu
