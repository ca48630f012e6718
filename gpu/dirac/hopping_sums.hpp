// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// <out, w> and |out|^2 of the hopping term's output, made while it is in registers. If a kernel has none left for
/// that, the next one makes them. For .cu files only.
///
/// Blocks of a kernel are tiles, which differ from launch to launch, and with them would the order of additions. So a
/// kernel leaves the sums of short runs of sites, and another, which is the same for all launches, adds them up.
#pragma once

#include <bit>

#include "gpu/blas/site_sums.hpp"
#include "gpu/dirac/hop_algebra.hpp"
#include "gpu/dirac/hopping_launch.hpp"
#include "gpu/fields/scalar_program.hpp"

namespace plaquette::gpu {

/// The sums of runs of sites that follow each other in x: four where a row holds a whole number of such runs, else two,
/// else one.
struct sums_of_runs {
  static constexpr int count = 3;       ///< real and imaginary part of <out, w>; |out|^2
  static constexpr int most_sites = 4;  ///< a power of two

  double* begin = nullptr;  ///< [column][count][run] on the device; null: not requested
  std::int32_t runs = 0;    ///< of a column
  int log2_sites = 0;       ///< of a run

  sums_of_runs() = default;
  explicit sums_of_runs(const site_order& order)
      : log2_sites(std::countr_zero(static_cast<unsigned>(order.half_x.value) | most_sites)) {
    runs = order.sites >> log2_sites;
  }

  PLAQUETTE_HOST_DEVICE int sites() const { return 1 << log2_sites; }
  /// Of all columns.
  std::int64_t numbers(int columns) const { return std::int64_t{columns} * count * runs; }
  /// Whether every run lies in one tile, side by side in a warp.
  bool lie_in_tiles(const hopping_launch& how) const { return how.tile[0] % sites() == 0; }

  PLAQUETTE_HOST_DEVICE double* place(int column, std::int32_t run) const {
    return begin + static_cast<std::int64_t>(column) * count * runs + run;
  }
  PLAQUETTE_HOST_DEVICE void store(int column, std::int32_t run, const double (&sums)[count]) const {
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < count; ++k) place(column, run)[static_cast<std::int64_t>(k) * runs] = sums[k];
  }
};

/// Whether kernels have registers to leave sums: in half precision kernels of a batch have none, unless with clover,
/// since they work on one column at a time then.
template <class T>
constexpr bool leaves_sums(bool with_clover) {
  return !is_half<T> || with_clover;
}

/// The numbers that the sums are made of: in half precision as they lie in memory.
template <class T>
using stored_spinor = std::conditional_t<is_half<T>, loaded_half_spinor<false>, spin_rows<real_of<T>, 4>>;

/// \param exchange  see loaded_spinor::load
template <class T>
PLAQUETTE_KERNEL_INLINE stored_spinor<T> load_stored(const spinor_place<T, const std::byte>& from, int exchange) {
  spinor_in_memory<T, false> psi;
  psi.template load<load_hint::ordered, spinor_part::both>(from, exchange);
  if constexpr (is_half<T>) {
    return psi;
  } else {
    spin_rows<real_of<T>, 4> rows;
#pragma unroll
    for (int k = 0; k < spins * colours; ++k) rows.z[k / colours][k % colours] = {psi[2 * k], psi[2 * k + 1]};
    return rows;
  }
}

/// Computes the sums of one site, in the order of its numbers. (Of D^+ in double and single the halves are exchanged,
/// and with them that order: to rounding these are the sums that `dot_norm2` makes.)
template <class T>
PLAQUETTE_KERNEL_INLINE void sums_of_site(double (&sums)[sums_of_runs::count], const stored_spinor<T>& out,
                                          const stored_spinor<T>& w) {
  site_sums<T> total;
  if constexpr (is_half<T>) {
    const auto numbers = [](const stored_spinor<T>& psi, int c) {
      const std::uint32_t* const v = psi.word + 4 * c;
      return bytes_of_integers(chunk{{v[0], v[1], v[2], v[3]}});
    };
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const bytes_of_integers left = numbers(out, c);
      total.add_dot(left, numbers(w, c));
      total.add_norm(left);
    }
    const double scale = out.scale(), dot_scale = scale * static_cast<double>(w.scale());
    sums[0] = rounded_product(dot_scale, total.dot_re());
    sums[1] = rounded_product(dot_scale, total.dot_im());
    sums[2] = rounded_product(scale * scale, total.norm());
  } else {
#pragma unroll
    for (int k = 0; k < spins * colours; ++k) {
      total.add_dot(out.z[k / colours][k % colours], w.z[k / colours][k % colours]);
      total.add_norm(out.z[k / colours][k % colours]);
    }
    sums[0] = total.dot_re();
    sums[1] = total.dot_im();
    sums[2] = total.norm();
  }
}

#ifdef __CUDACC__
/// By all threads that have a site of the run, side by side in a warp: adds in pairs, and the first one stores.
/// \param i  this thread's site
__device__ __forceinline__ void leave_sums_of_site(const sums_of_runs& to, int column, std::int32_t i,
                                                   double (&sums)[sums_of_runs::count]) {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  const unsigned sites = 1U << to.log2_sites, first = lane & ~(sites - 1), run = ((1U << sites) - 1) << first;
#pragma unroll
  for (int step = 0; step < 2; ++step) {
    if (step == to.log2_sites) break;
#pragma unroll
    for (int k = 0; k < sums_of_runs::count; ++k) sums[k] += __shfl_xor_sync(run, sums[k], 1 << step);
  }
  if (lane == first) to.store(column, i >> to.log2_sites, sums);
}
#endif

/// Does the same by one thread, which has the sums of all sites of a run.
PLAQUETTE_HOST_DEVICE inline void leave_sums_of_run(const sums_of_runs& to, int column, std::int32_t run,
                                                    double (&of_site)[sums_of_runs::most_sites][sums_of_runs::count]) {
  for (int distance = 1; distance < to.sites(); distance *= 2)
    for (int s = 0; s < to.sites(); s += 2 * distance)
      for (int k = 0; k < sums_of_runs::count; ++k) of_site[s][k] += of_site[s + distance][k];
  to.store(column, run, of_site[0]);
}

/// Adds up the runs of a column: a body of `sum_over`.
struct add_up_runs {
  static constexpr bool goes_forwards = true;  ///< it has no rotation of fields
  sums_of_runs from;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t run, int column, double (&sums)[sums_of_runs::count]) const {
    const double* const at = from.place(column, static_cast<std::int32_t>(run));
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < sums_of_runs::count; ++k) sums[k] += at[static_cast<std::int64_t>(k) * from.runs];
  }
};

}  // namespace plaquette::gpu
