// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/site_diagonal.hpp"

#include <stdexcept>

#include "common/algebra/float_pair.hpp"
#include "common/error.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/dirac/hopping_site.hpp"
#include "gpu/fields/host_maximum.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/fields/packed_numbers.hpp"

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
      store(to + parity * parity_bytes + static_cast<std::int64_t>(i / lanes * 2 + chirality) * chiral_block_bytes<T>,
            i % lanes, from.load(parity, i, chirality));
  }

 private:
  static constexpr int count = chiral_rows * chiral_rows;

  PLAQUETTE_HOST_DEVICE static void store(std::byte* at, int lane, const hermitian_6x6& block) {
    const auto number = [&](int k) {
      if (k < chiral_rows) return block.diagonal[k];
      const complex<double>& z = block.lower[(k - chiral_rows) / 2];
      return k % 2 == 0 ? z.re : z.im;
    };
    if constexpr (is_half<T>) {
      double largest = 0.0;
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < count; ++k) largest = larger(largest, number(k) < 0.0 ? -number(k) : number(k));
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
  if (blocks.sites().begin != blocks_.get())  // else they are what the kernels load, as in double
    for_each_index(context_.queue(), 2 * static_cast<std::int64_t>(context_.order().sites),
                   pack_clover_of_site<T>{blocks.sites(), blocks_.get(), parity_bytes_, context_.order()}, 128);
  // Kernels may load blocks before the kernel that comes before them has ended: that must not be this one.
  context_.queue().synchronize();
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
