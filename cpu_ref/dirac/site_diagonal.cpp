// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dirac/site_diagonal.hpp"

#include <stdexcept>
#include <vector>

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

template <class T>
std::vector<complex<double>> same_for_all(const field<T>& x, double value) {
  return std::vector<complex<double>>(static_cast<std::size_t>(x.columns()), {value, 0.0});
}

}  // namespace

template <class T>
site_diagonal<T>::site_diagonal(const context& ctx, const clover_configuration& blocks) : context_(ctx) {
  const block_layout& layout = ctx.layout<T>();
  for (auto& packed : blocks_)
    packed = std::make_shared<aligned_buffer<word_of<T>>>(
        static_cast<std::size_t>(layout.blocks() * 2 * chiral_block_words<T> * layout.width()));
  follow(blocks);
}

template <class T>
void site_diagonal<T>::follow(const clover_configuration& blocks) {
  if (is_number()) throw std::logic_error("site_diagonal: a number cannot follow blocks");
  if (!(blocks.geometry() == context_.geometry())) throw std::logic_error("site_diagonal: blocks of another lattice");
  const block_layout& layout = context_.layout<T>();
  const int width = layout.width();
  for (int p = 0; p < 2; ++p) {
    word_of<T>* const to = blocks_[p]->data();
#pragma omp parallel for num_threads(context_.threads())
    for (std::int64_t b = 0; b < layout.blocks(); ++b)
      for (int lane = 0; lane < width; ++lane) {
        const clover_block& from = blocks(layout.geometry().local_coordinate(layout.site(p, b, lane)));
        for (int chirality = 0; chirality < 2; ++chirality)
          store_half_of<T>(to + (b * 2 + chirality) * chiral_block_words<T> * width + lane, width,
                           from.chirality[chirality]);
      }
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

template class site_diagonal<half>;
template class site_diagonal<float>;
template class site_diagonal<double>;

}  // namespace plaquette::cpu
