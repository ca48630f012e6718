// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dirac/wilson_clover.hpp"

#include <stdexcept>
#include <utility>

#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/fields/lane_numbers.hpp"

namespace plaquette::cpu {

namespace {

/// Writes half of a Hermitian 6x6 matrix to a lane: the kernels turn spinors to the chiral basis and back by sums and
/// differences, whose factor is 2.
template <class T>
void store_half_of(word_of<T>* to, int width, const hermitian_6x6& m) {
  constexpr int count = chiral_rows / 2 + hermitian_6x6::lower_size;
  complex<double> numbers[count];
  for (int i = 0; i < chiral_rows / 2; ++i) numbers[i] = {0.5 * m.diagonal[2 * i], 0.5 * m.diagonal[2 * i + 1]};
  for (int k = 0; k < hermitian_6x6::lower_size; ++k) numbers[chiral_rows / 2 + k] = 0.5 * m.lower[k];
  write_lane<T>(to, width, numbers);
}

clover_configuration diagonal_blocks(const gauge_configuration& links, const fermion_action& action) {
  clover_configuration blocks = make_clover_term(links, action);
  add_to_diagonal(blocks, action.diagonal());
  return blocks;
}

template <class T>
std::vector<complex<double>> same_for_all(const field<T>& x, double value) {
  return std::vector<complex<double>>(static_cast<std::size_t>(x.columns()), {value, 0.0});
}

}  // namespace

template <class T>
site_diagonal<T>::site_diagonal(const context& ctx, const clover_configuration& blocks) : context_(ctx) {
  const block_layout& layout = ctx.layout<T>();
  const int width = layout.width();
  for (int p = 0; p < 2; ++p) {
    const auto packed = std::make_shared<aligned_buffer<word_of<T>>>(
        static_cast<std::size_t>(layout.blocks() * 2 * chiral_block_words<T> * width));
#pragma omp parallel for num_threads(ctx.threads())
    for (std::int64_t b = 0; b < layout.blocks(); ++b)
      for (int lane = 0; lane < width; ++lane) {
        const clover_block& from = blocks(layout.geometry().local_coordinate(layout.site(p, b, lane)));
        for (int chirality = 0; chirality < 2; ++chirality)
          store_half_of<T>(packed->data() + (b * 2 + chirality) * chiral_block_words<T> * width + lane, width,
                           from.chirality[chirality]);
      }
    blocks_[p] = packed;
  }
}

template <class T>
void site_diagonal<T>::apply(field<T>& out, const field<T>& in) const {
  if (!(out.shape() == in.shape()) || in.parts() != 1)
    throw std::logic_error("site_diagonal: fields must have one and the same parity");
  if (is_number()) {
    copy(out, in);
    scale(out, scalars(same_for_all(out, value_)));
    return;
  }
  clover_arguments<T> arg;
  arg.out = out.blocks(0);
  arg.in = in.blocks(0);
  arg.columns = in.columns();
  arg.clover = blocks(in.parity_of_part(0));
  const auto kernel = context_.kernels<T>().clover;
  const std::int64_t blocks = context_.layout<T>().blocks();
  const int threads = context_.threads();
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int t = 0; t < threads; ++t) {
    const std::int64_t first = blocks * t / threads;
    kernel(arg, first, blocks * (t + 1) / threads - first);
  }
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
      hopping_.apply(to, there, daggered, {epilogue::add, -0.5, &here, diagonal_.value(), nullptr});
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
                                   std::pair<scalars, scalars>* sums) const {
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
    full_->hopping().apply(even, odd, false, {epilogue::add, 0.5, &b_even, 1.0, nullptr});
    return;
  }
  field<T>& sum = scratch(1, site_subset::even, b.columns());
  full_->hopping().apply(sum, odd, false, {epilogue::add, 0.5, &b_even, 1.0, nullptr});
  a_inverse.apply(even, sum);
}

template <class T>
void schur_wilson_clover<T>::reconstruct_solution(field<T>& x, const field<T>& even, const field<T>& b) const {
  field<T> x_even = x.parity(0), x_odd = x.parity(1);
  copy(x_even, even);
  field<T>& sum = scratch(0, site_subset::odd, b.columns());
  const field<T> b_odd = b.parity(1);
  full_->hopping().apply(sum, even, false, {epilogue::add, 0.5, &b_odd, 1.0, nullptr});
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

}  // namespace plaquette::cpu
