// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// <out, w> and |out|^2 of what the hopping term stores, made while it is in registers. For .cu files only.
///
/// Blocks of a kernel are tiles, which differ from launch to launch, and with them would the order of additions. So a
/// kernel leaves the sums of short runs of sites, and a second one, which is the same for all launches, adds them up.
#pragma once

#include "gpu/blas/site_sums.hpp"
#include "gpu/dirac/hop_algebra.hpp"
#include "gpu/dirac/hopping_launch.hpp"

namespace plaquette::gpu {

/// The sums of runs of sites that follow each other in x: four where a row holds a whole number of such runs, else two,
/// else one.
struct sums_of_runs {
  static constexpr int count = 3, most_sites = 4;  ///< of a run: real and imaginary part of <out, w>; |out|^2

  double* begin = nullptr;  ///< [column][count][run] on the device; null: not asked for
  std::int32_t runs = 0;    ///< of a column
  int log2_sites = 0;       ///< of a run

  sums_of_runs() = default;
  explicit sums_of_runs(const site_order& order)
      : log2_sites(order.half_x.value % 4 == 0   ? 2
                   : order.half_x.value % 2 == 0 ? 1
                                                 : 0) {
    runs = order.sites >> log2_sites;
  }

  std::int64_t numbers(int columns) const { return std::int64_t{columns} * count * runs; }
  /// Whether every run lies in one tile, side by side in a warp.
  bool lie_in_tiles(const hopping_launch& how) const { return how.tile[0] % (1 << log2_sites) == 0; }

  PLAQUETTE_HOST_DEVICE double* place(int column, std::int32_t run) const {
    return begin + static_cast<std::int64_t>(column) * count * runs + run;
  }
  PLAQUETTE_HOST_DEVICE void store(int column, std::int32_t run, const double (&sums)[count]) const {
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < count; ++k) place(column, run)[static_cast<std::int64_t>(k) * runs] = sums[k];
  }
};

/// Whether a kernel leaves sums itself: where it has registers for that.
/// \param batch  of `hopping_variant`
/// \param warps  of `hopping_launch`
template <class T>
constexpr bool leaves_sums(bool with_clover, bool batch, int warps) {
  return !is_half<T> || with_clover || (!batch && warps == 16);
}

/// The numbers of a spinor of half precision as they are stored.
struct packed_half_spinor {
  words<4> chunk[3];
  float scale;
};

/// What the sums are made of.
template <class T>
using stored_spinor = std::conditional_t<is_half<T>, packed_half_spinor, spin_rows<real_of<T>, 4>>;

PLAQUETTE_KERNEL_INLINE packed_half_spinor load_packed(const spinor_place<half, const std::byte>& from) {
  packed_half_spinor psi;
#pragma unroll
  for (int c = 0; c < 3; ++c) psi.chunk[c] = load_words<load_hint::ordered, 4>(from.site + c * chunk_stride);
  psi.scale = as_float(load_words<load_hint::ordered, 1>(from.scale).w[0]);
  return psi;
}

/// \param exchange  see loaded_spinor::load
template <class T>
PLAQUETTE_KERNEL_INLINE stored_spinor<T> load_stored(const spinor_place<T, const std::byte>& from, int exchange) {
  if constexpr (is_half<T>) {
    return load_packed(from);
  } else {
    loaded_spinor<real_of<T>> psi;
    psi.template load<load_hint::ordered, spinor_part::both>(from, exchange);
    spin_rows<real_of<T>, 4> rows;
#pragma unroll
    for (int k = 0; k < spins * colours; ++k) rows.z[k / colours][k % colours] = {psi[2 * k], psi[2 * k + 1]};
    return rows;
  }
}

/// The sums of one site, as `dot_norm2` makes them.
template <class T>
PLAQUETTE_KERNEL_INLINE void sums_of_site(double (&sums)[sums_of_runs::count], const stored_spinor<T>& out,
                                          const stored_spinor<T>& w) {
  site_sums<T> total;
  if constexpr (is_half<T>) {
    const auto numbers = [](const words<4>& v) { return bytes_of_integers(chunk{{v.w[0], v.w[1], v.w[2], v.w[3]}}); };
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const bytes_of_integers left = numbers(out.chunk[c]);
      total.add_dot(left, numbers(w.chunk[c]));
      total.add_norm(left);
    }
    const double scale = out.scale, dot_scale = scale * static_cast<double>(w.scale);
    // Written as fused operations, so that no compiler fuses them with the additions that follow.
    sums[0] = fused(dot_scale, total.dot_re(), 0.0);
    sums[1] = fused(dot_scale, total.dot_im(), 0.0);
    sums[2] = fused(scale * scale, total.norm(), 0.0);
  } else {
#pragma unroll
    for (int k = 0; k < spins * colours; ++k) {
      total.add_dot(out.z[k / colours][k % colours], w.z[k / colours][k % colours]);
      total.add_norm(out.z[k / colours][k % colours]);
    }
    sums[0] = total.re;
    sums[1] = total.im;
    sums[2] = total.norm;
  }
}

/// By all threads that have a site of the run, side by side in a warp: adds in pairs, and the first one stores.
/// \param i  this thread's site
PLAQUETTE_KERNEL_INLINE void leave_sums(const sums_of_runs& to, int column, std::int32_t i,
                                        double (&sums)[sums_of_runs::count]) {
#ifdef __CUDA_ARCH__
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  const unsigned last = (1U << to.log2_sites) - 1, run = ((2U << last) - 1) << (lane & ~last);
#pragma unroll
  for (int step = 0; step < 2; ++step) {
    if (step == to.log2_sites) break;
#pragma unroll
    for (int k = 0; k < sums_of_runs::count; ++k) sums[k] += __shfl_xor_sync(run, sums[k], 1 << step);
  }
  if ((lane & last) == 0) to.store(column, i >> to.log2_sites, sums);
#else
  static_cast<void>(to), static_cast<void>(column), static_cast<void>(i), static_cast<void>(sums);
#endif
}

/// The same of sites whose sums are known, by one thread.
PLAQUETTE_HOST_DEVICE inline void leave_sums(const sums_of_runs& to, int column, std::int32_t run,
                                             double (&of_site)[sums_of_runs::most_sites][sums_of_runs::count]) {
  const int sites = 1 << to.log2_sites;
  for (int distance = 1; distance < sites; distance *= 2)
    for (int s = 0; s < sites; s += 2 * distance)
      for (int k = 0; k < sums_of_runs::count; ++k) of_site[s][k] += of_site[s + distance][k];
  to.store(column, run, of_site[0]);
}

/// Adds up the runs of a column: a body of `sum_over`.
struct add_runs {
  sums_of_runs from;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t run, int column, double (&sums)[sums_of_runs::count]) const {
    const double* const at = from.place(column, static_cast<std::int32_t>(run));
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < sums_of_runs::count; ++k) sums[k] += at[static_cast<std::int64_t>(k) * from.runs];
  }
};

}  // namespace plaquette::gpu
