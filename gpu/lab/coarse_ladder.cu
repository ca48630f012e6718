// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/lab/coarse_ladder.hpp"

#include "gpu/device/launch.hpp"

namespace plaquette::gpu {

namespace {

/// The arguments of all rungs.
struct ladder_operator {
  const complex<float>* matrices;
  const std::int32_t* neighbours;  ///< [site][8]
  std::int32_t sites, n;
  std::int32_t width;  ///< numbers of a row side by side

  /// The site that matrix m multiplies.
  PLAQUETTE_HOST_DEVICE std::int32_t input_site(std::int32_t site, int m) const {
    return m == 0 ? site : neighbours[site * hop_directions + m - 1];
  }
  /// Number (row, column) of matrix m.
  PLAQUETTE_HOST_DEVICE std::int64_t place(std::int32_t site, int m, std::int32_t row, std::int32_t column) const {
    const std::int64_t group = (std::int64_t{m} * n + row) * (n / width) + column / width;
    return (group * sites + site) * width + column % width;
  }
  /// Row `row` of matrix m times the vector of its site.
  PLAQUETTE_HOST_DEVICE complex<float> row_product(std::int32_t site, int m, std::int32_t row,
                                                   const complex<float>* in) const {
    const std::int32_t y = input_site(site, m);
    complex<float> sum{};
    for (std::int32_t k = 0; k < n; ++k) sum += matrices[place(site, m, row, k)] * in[std::int64_t{k} * sites + y];
    return sum;
  }
};

/// Rung a.
struct a_site {
  ladder_operator op;
  complex<float>* out;
  const complex<float>* in;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto site = static_cast<std::int32_t>(index);
    for (std::int32_t row = 0; row < op.n; ++row) {
      complex<float> sum{};
      for (int m = 0; m < coarse_matrices_of_a_site; ++m) sum += op.row_product(site, m, row, in);
      out[std::int64_t{row} * op.sites + site] = sum;
    }
  }
};

/// Rung b.
struct a_row {
  ladder_operator op;
  complex<float>* out;
  const complex<float>* in;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto row = static_cast<std::int32_t>(index / op.sites), site = static_cast<std::int32_t>(index % op.sites);
    complex<float> sum{};
    for (int m = 0; m < coarse_matrices_of_a_site; ++m) sum += op.row_product(site, m, row, in);
    out[index] = sum;
  }
};

#ifdef __CUDACC__

constexpr int rows_of_block = 2;

/// Rungs c, d and e: threads (site, row, matrix); of the 32 along x, `parts` share the columns of a site. They add up
/// by shuffles, the nine matrices through shared memory. \tparam width  numbers a load
template <int parts, int width>
__global__ void __launch_bounds__(32 * rows_of_block * coarse_matrices_of_a_site)
    side_by_side_kernel(ladder_operator op, complex<float>* out, const complex<float>* in) {
  trigger_dependent_launch();
  wait_for_previous_kernel();
  constexpr int sites_of_block = 32 / parts;
  const int x = static_cast<int>(threadIdx.x) % sites_of_block, part = static_cast<int>(threadIdx.x) / sites_of_block;
  const int m = static_cast<int>(threadIdx.z);
  const auto own = static_cast<std::int32_t>(blockIdx.x * sites_of_block + static_cast<unsigned>(x));
  const std::int32_t site = min(own, op.sites - 1);
  const auto row = static_cast<std::int32_t>(blockIdx.y * rows_of_block + threadIdx.y);
  const std::int32_t y = op.input_site(site, m);
  complex<float> sum{};
#pragma unroll 4
  for (std::int32_t k = part * width; k < op.n; k += parts * width) {
    const complex<float>* const a = op.matrices + op.place(site, m, row, k);
    if constexpr (width == 2) {
      const float4 pair = *reinterpret_cast<const float4*>(a);
      sum += complex<float>{pair.x, pair.y} * in[std::int64_t{k} * op.sites + y];
      sum += complex<float>{pair.z, pair.w} * in[std::int64_t{k + 1} * op.sites + y];
    } else {
      sum += *a * in[std::int64_t{k} * op.sites + y];
    }
  }
#pragma unroll
  for (int distance = sites_of_block; distance < 32; distance *= 2) {
    sum.re += __shfl_xor_sync(0xffffffffU, sum.re, distance);
    sum.im += __shfl_xor_sync(0xffffffffU, sum.im, distance);
  }
  __shared__ complex<float> of_matrix[coarse_matrices_of_a_site][rows_of_block][sites_of_block];
  if (part == 0) of_matrix[m][threadIdx.y][x] = sum;
  __syncthreads();
  if (m != 0 || part != 0 || own >= op.sites || row >= op.n) return;
  for (int k = 1; k < coarse_matrices_of_a_site; ++k) sum += of_matrix[k][threadIdx.y][x];
  out[std::int64_t{row} * op.sites + site] = sum;
}

template <int parts, int width>
void queue_side_by_side(const queue& q, const ladder_operator& op, complex<float>* out, const complex<float>* in) {
  constexpr int sites_of_block = 32 / parts;
  launch_kernel(q,
                dim3(static_cast<unsigned>((op.sites + sites_of_block - 1) / sites_of_block),
                     static_cast<unsigned>(op.n / rows_of_block)),
                dim3(32, rows_of_block, coarse_matrices_of_a_site), 0, true, side_by_side_kernel<parts, width>, op, out,
                in);
}

#endif

struct reorder_matrices {
  complex<float>* to;
  const complex<float>* from;
  ladder_operator op;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t by_row = index / op.n, by_matrix = by_row / op.n, site = by_matrix / coarse_matrices_of_a_site;
    to[op.place(static_cast<std::int32_t>(site), static_cast<int>(by_matrix - site * coarse_matrices_of_a_site),
                static_cast<std::int32_t>(by_row - by_matrix * op.n),
                static_cast<std::int32_t>(index - by_row * op.n))] = from[index];
  }
};

struct reorder_vector {
  complex<float>* by_number;
  coarse_pointer<complex<float>> by_site;
  std::int64_t sites;
  bool load;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t k = index / sites, site = index - k * sites;
    if (load)
      by_number[index] = by_site.at(site, 0)[k];
    else
      by_site.at(site, 0)[k] = by_number[index];
  }
};

}  // namespace

coarse_ladder::coarse_ladder(const coarse_matrices& m, ladder_rung rung)
    : execution_(m.get_execution()), lattice_(m.shared_lattice()), n_(m.n()), rung_(rung) {
  auto memory = execution_.workspace().take(static_cast<std::size_t>(m.count()) * sizeof(complex<float>));
  numbers_ = {memory, reinterpret_cast<complex<float>*>(memory.get())};
  const ladder_operator op{nullptr, nullptr, static_cast<std::int32_t>(lattice_->geometry().sites()), n_,
                           rung == ladder_rung::e ? 2 : 1};
  for_each_index(execution_.queue(), m.count(), reorder_matrices{numbers_.get(), m.begin(), op});
}

void coarse_ladder::apply(complex<float>* out, const complex<float>* in) const {
  const ladder_operator op{numbers_.get(), lattice_->neighbours(),
                           static_cast<std::int32_t>(lattice_->geometry().sites()), n_,
                           rung_ == ladder_rung::e ? 2 : 1};
  const queue& q = execution_.queue();
  if (rung_ == ladder_rung::a) return for_each_index(q, op.sites, a_site{op, out, in}, 64);
#ifdef __CUDACC__
  if (rung_ == ladder_rung::c) return queue_side_by_side<1, 1>(q, op, out, in);
  if (rung_ == ladder_rung::d) return queue_side_by_side<4, 1>(q, op, out, in);
  if (rung_ == ladder_rung::e) return queue_side_by_side<4, 2>(q, op, out, in);
#endif
  for_each_index(q, std::int64_t{op.sites} * n_, a_row{op, out, in}, 64);
}

void coarse_ladder::load(complex<float>* to, const coarse_field<float>& from) const {
  coarse_field<float> shared = from;
  for_each_index(execution_.queue(), from.sites() * n_, reorder_vector{to, shared.numbers(), from.sites(), true});
}
void coarse_ladder::store(coarse_field<float>& to, const complex<float>* from) const {
  for_each_index(execution_.queue(), to.sites() * n_,
                 reorder_vector{const_cast<complex<float>*>(from), to.numbers(), to.sites(), false});
}

}  // namespace plaquette::gpu
