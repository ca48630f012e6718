// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/site_diagonal.hpp"

#include <stdexcept>

#include "common/algebra/float_pair.hpp"
#include "common/error.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/dirac/clover_packing.hpp"
#include "gpu/dirac/hopping_site.hpp"
#include "gpu/fields/lattice_sites.hpp"

namespace plaquette::gpu {

static_assert(chiral_block_bytes<double> == clover_bytes);  // configuration() needs one layout

namespace {

/// Writes both chiral blocks of a site.
template <class T>
struct pack_clover_of_site {
  clover_configuration::const_pointer from;
  std::byte* to;
  std::int64_t parity_bytes;
  site_order order;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
#pragma unroll 1
    for (int chirality = 0; chirality < 2; ++chirality)
      pack_clover<T>(to + parity * parity_bytes, i, chirality, from.load(parity, i, chirality));
  }
};

/// out = a A in, of a site and column. Without blocks A is 1.
template <class T>
struct multiply_site_diagonal {
  hopping_arguments<T> arg;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto column = static_cast<int>(index / arg.order.sites);
    const auto i = static_cast<std::int32_t>(index - static_cast<std::int64_t>(column) * arg.order.sites);
    spin_rows<real_of<T>, 4> psi{};
    add_spinor<T, false, load_hint::ordered>(psi, arg, arg.x, column, i, arg.a);
    if (arg.clover != nullptr) multiply_by_clover<T, load_hint::ordered>(psi, clover_of<T>(arg.clover, i), lane_of(i));
    store_spinor<T, false>(psi, arg, column, i);
  }
};

}  // namespace

template <class T>
site_diagonal<T>::site_diagonal(const context& ctx, const clover_configuration& blocks) : context_(ctx) {
  parity_bytes_ = std::int64_t{ctx.order().blocks()} * 2 * chiral_block_bytes<T>;
  blocks_ = ctx.workspace().take(static_cast<std::size_t>(2 * parity_bytes_));
  follow(blocks);
}

template <class T>
void site_diagonal<T>::follow(const clover_configuration& blocks) {
  if (is_number()) throw std::logic_error("site_diagonal: a number cannot follow blocks");
  if (!(blocks.get_context().geometry() == context_.geometry()))
    throw std::logic_error("site_diagonal: blocks of another lattice");
  if (blocks.sites().begin != blocks_.get())  // else they have the layout of the kernels, as in double
    for_each_index(context_.queue(), 2 * static_cast<std::int64_t>(context_.order().sites),
                   pack_clover_of_site<T>{blocks.sites(), blocks_.get(), parity_bytes_, context_.order()}, 128);
  // Kernels may load blocks before the kernel that comes before them has ended: that must not be this one.
  context_.queue().synchronize();
}

template <class T>
void site_diagonal<T>::spoil(int parity) {
  if (is_number()) return;
  fill_bytes(context_.queue(), blocks_.get() + parity * parity_bytes_, 0xff, static_cast<std::size_t>(parity_bytes_));
}

template <class T>
void site_diagonal<T>::apply(field<T>& out, const field<T>& in) const {
  if (!(out.shape() == in.shape()) || in.parts() != 1 || in.shape().spins != spins || in.shape().colours != colours)
    throw std::logic_error("site_diagonal: fields must be Dirac spinors of one and the same parity");
  multiply_site_diagonal<T> body;
  body.arg.out = out.sites(0);
  body.arg.x = in.sites(0);
  body.arg.clover = blocks(in.parity_of_part(0));
  body.arg.order = context_.order();
  body.arg.a = static_cast<real_of<T>>(is_number() ? value_ : 1.0);
  for_each_index(context_.queue(), static_cast<std::int64_t>(body.arg.order.sites) * in.columns(), body, 128);
}

template class site_diagonal<half>;
template class site_diagonal<float>;
template class site_diagonal<double>;
template site_diagonal<float_pair>::site_diagonal(const context&, const clover_configuration&);  // applied by pairs
template void site_diagonal<float_pair>::follow(const clover_configuration&);

}  // namespace plaquette::gpu
