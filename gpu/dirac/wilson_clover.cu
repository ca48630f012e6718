// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/wilson_clover.hpp"

#include <stdexcept>

#include "common/error.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/dirac/hopping_site.hpp"

namespace plaquette::gpu {

namespace {

/// Writes both chiral blocks of a site.
template <class T>
struct pack_clover_of_site {
  clover_configuration::const_pointer from;
  std::byte* to;  ///< of one parity
  int parity;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto i = static_cast<std::int32_t>(index);
    for (int chirality = 0; chirality < 2; ++chirality) {
      const hermitian_6x6 block = from.load(parity, i, chirality);
      std::byte* const at = to + static_cast<std::int64_t>(i / lanes * 2 + chirality) * chiral_block_bytes<T>;
      double numbers[count];
      for (int k = 0; k < chiral_rows; ++k) numbers[k] = block.diagonal[k];
      for (int k = 0; k < hermitian_6x6::lower_size; ++k) {
        numbers[chiral_rows + 2 * k] = block.lower[k].re;
        numbers[chiral_rows + 2 * k + 1] = block.lower[k].im;
      }
      store(at, i % lanes, numbers);
    }
  }

 private:
  static constexpr int count = chiral_rows * chiral_rows;

  PLAQUETTE_HOST_DEVICE static void store(std::byte* at, int lane, const double (&numbers)[count]) {
    constexpr int size = is_half<T> ? 2 : static_cast<int>(sizeof(real_of<T>)), whole = count * size / 16 * 16;
    double inverse = 0.0;
    if constexpr (is_half<T>) {
      double largest = 0.0;
      for (const double x : numbers) {
        const double magnitude = x < 0.0 ? -x : x;
        if (!(magnitude <= largest)) largest = magnitude;
        if (largest != largest) break;
      }
      *reinterpret_cast<float*>(at + count * size * lanes + 4 * lane) = static_cast<float>(largest / 32767.0);
      inverse = largest > 0.0 ? 32767.0 / largest : 0.0;
    }
    for (int k = 0; k < count; ++k) {
      const int byte = k * size, width = byte < whole ? 16 : 8, first = byte / width * width;
      std::byte* const place = at + first * lanes + lane * width + (byte - first);
      if constexpr (is_half<T>) {
        const double q = numbers[k] * inverse + 32768.5;  // positive: cutting off rounds to the nearest
        *reinterpret_cast<std::uint16_t*>(place) = static_cast<std::uint16_t>(q > 1.0 && q < 65536.0 ? q : 32768.0);
      } else {
        *reinterpret_cast<real_of<T>*>(place) = static_cast<real_of<T>>(numbers[k]);
      }
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

clover_configuration diagonal_blocks(const gauge_configuration& links, const fermion_action& action) {
  clover_configuration blocks = make_clover_term(links, action);
  add_to_diagonal(blocks, action.diagonal());
  return blocks;
}

}  // namespace

template <class T>
site_diagonal<T>::site_diagonal(const context& ctx, const clover_configuration& blocks) : context_(ctx) {
  const site_order& order = ctx.order();
  parity_bytes_ = std::int64_t{order.blocks()} * 2 * chiral_block_bytes<T>;
  blocks_ = ctx.workspace().take(static_cast<std::size_t>(2 * parity_bytes_));
  for (int p = 0; p < 2; ++p)
    for_each_index(ctx.queue(), order.sites,
                   pack_clover_of_site<T>{blocks.sites(), blocks_.get() + p * parity_bytes_, p}, 128);
  // Kernels may ask for blocks before the kernel that comes before them has ended: that must not be this one.
  ctx.queue().synchronize();
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

template <class T>
wilson_clover<T>::wilson_clover(const context& ctx, const gauge_configuration& links, const fermion_action& action,
                                reconstruct stored)
    : action_(action),
      hopping_(ctx, links, action, stored),
      diagonal_(ctx, action.diagonal()),
      inverse_diagonal_(ctx, 1.0 / action.diagonal()) {
  if (!action.has_clover()) {
    if (action.diagonal() == 0.0) throw input_error("4 + m is zero: the even-odd decomposition divides by it");
    return;
  }
  const clover_configuration blocks = diagonal_blocks(links, action);
  diagonal_ = site_diagonal<T>(ctx, blocks);
  inverse_diagonal_ = site_diagonal<T>(ctx, inverse(blocks));
}

template <class T>
void wilson_clover<T>::apply(field<T>& out, const field<T>& in, bool daggered) const {
  for (int p = 0; p < 2; ++p) {
    field<T> to = out.parity(p);
    const field<T> here = in.parity(p), there = in.parity(1 - p);
    if (diagonal_.is_number())
      hopping_.apply(to, there, daggered, {epilogue::add, -0.5, &here, diagonal_.value()});
    else
      hopping_.apply(to, there, daggered, {epilogue::clover_x_add, -0.5, &here, 1.0, diagonal_.blocks(p)});
  }
}

template <class T>
schur_wilson_clover<T>::schur_wilson_clover(std::shared_ptr<const wilson_clover<T>> full, schur_kind kind)
    : full_(std::move(full)), kind_(kind) {}

template <class T>
field<T>& schur_wilson_clover<T>::scratch(int which, site_subset sites, int columns) const {
  auto& held = scratch_[static_cast<std::size_t>(which)];
  const field_shape shape{spins, colours, sites, columns};
  if (!held || !(held->shape() == shape)) {
    held.reset();  // before the new one is made, so that both are never there at once
    held = std::make_shared<field<T>>(full_->hopping().get_context(), shape);
  }
  return *held;
}

template <class T>
void schur_wilson_clover<T>::apply(field<T>& out, const field<T>& in, bool daggered, const field<T>* w,
                                   std::optional<std::pair<scalars, scalars>>* sums) const {
  if (in.shape().sites != site_subset::even || !(out.shape() == in.shape()))
    throw std::logic_error("schur_wilson_clover: fields must lie on even sites");
  const hopping_term<T>& hop = full_->hopping();
  const site_diagonal<T>&a = full_->diagonal(), &a_inverse = full_->inverse_diagonal();
  field<T>& odd = scratch(0, site_subset::odd, in.columns());

  if (a.is_number()) {
    const double d = a.value();
    hop.apply(odd, in, daggered);
    if (kind_ == schur_kind::asymmetric)
      hop.apply(out, odd, daggered, {epilogue::add, -0.25 / d, &in, d, nullptr, w, sums});
    else
      hop.apply(out, odd, daggered, {epilogue::add, -0.25 / (d * d), &in, 1.0, nullptr, w, sums});
    return;
  }

  if (kind_ == schur_kind::symmetric && daggered) {  // 1 - 1/4 D_oe^+ A_oo^-1 D_eo^+ A_ee^-1
    field<T>& even = scratch(1, site_subset::even, in.columns());
    a_inverse.apply(even, in);
    hop.apply(odd, even, true, {epilogue::clover, 1.0, nullptr, 1.0, a_inverse.blocks(1)});
    hop.apply(out, odd, true, {epilogue::add, -0.25, &in, 1.0, nullptr, w, sums});
    return;
  }
  hop.apply(odd, in, daggered, {epilogue::clover, 1.0, nullptr, 1.0, a_inverse.blocks(1)});
  if (kind_ == schur_kind::asymmetric)
    hop.apply(out, odd, daggered, {epilogue::clover_x_add, -0.25, &in, 1.0, a.blocks(0), w, sums});
  else
    hop.apply(out, odd, daggered, {epilogue::add_clover, -0.25, &in, 1.0, a_inverse.blocks(0), w, sums});
}

template <class T>
void schur_wilson_clover<T>::prepare_source(field<T>& even, const field<T>& b) const {
  const site_diagonal<T>& a_inverse = full_->inverse_diagonal();
  field<T>& odd = scratch(0, site_subset::odd, b.columns());
  const field<T> b_even = b.parity(0);
  a_inverse.apply(odd, b.parity(1));
  if (kind_ == schur_kind::asymmetric) {
    full_->hopping().apply(even, odd, false, {epilogue::add, 0.5, &b_even, 1.0});
    return;
  }
  field<T>& sum = scratch(1, site_subset::even, b.columns());
  full_->hopping().apply(sum, odd, false, {epilogue::add, 0.5, &b_even, 1.0});
  a_inverse.apply(even, sum);
}

template <class T>
void schur_wilson_clover<T>::reconstruct_solution(field<T>& x, const field<T>& even, const field<T>& b) const {
  field<T> x_even = x.parity(0), x_odd = x.parity(1);
  copy(x_even, even);
  field<T>& sum = scratch(0, site_subset::odd, b.columns());
  const field<T> b_odd = b.parity(1);
  full_->hopping().apply(sum, even, false, {epilogue::add, 0.5, &b_odd, 1.0});
  full_->inverse_diagonal().apply(x_odd, sum);
}

template <class T>
field<T> schur_wilson_clover<T>::even_like(const field<T>& full) const {
  field_shape shape = full.shape();
  shape.sites = site_subset::even;
  return field<T>(full.get_context(), shape);
}

#define PLAQUETTE_INSTANTIATE(T)   \
  template class site_diagonal<T>; \
  template class wilson_clover<T>; \
  template class schur_wilson_clover<T>;
PLAQUETTE_INSTANTIATE(half)
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
#undef PLAQUETTE_INSTANTIATE

}  // namespace plaquette::gpu
