// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/krylov_time.hpp"

#include <fmt/core.h>

#include "common/solvers/schur_work.hpp"

namespace plaquette {

krylov_clock::krylov_clock(const machine_figures& machine, const lattice_geometry& geometry, bool has_clover,
                           bool overlap, int columns)
    : machine_(machine),
      lattice_(divided(geometry.global(), geometry.grid())),
      ranks_(volume(geometry.grid())),
      columns_(columns),
      has_clover_(has_clover),
      overlap_(overlap),
      even_sites_(0.5 * static_cast<double>(geometry.local_volume())) {}

kernel_time krylov_clock::application(const stored_as& as) const {
  const bool half = as.numbers == precision::half;
  const double spinor = bytes_of_spinor(as.numbers), projected = 0.5 * spinor_reals * bytes_of_real(as.numbers);
  kernel_work work;
  work.bytes = even_sites_ * schur_bytes_per_site(has_clover_, columns_, as.numbers, as.links);
  work.share = machine_.share_of(fmt::format("schur {} {}", name(as.numbers), stored_reals(as.links)), columns_);
  work.hops = 2;
  work.overlap = overlap_;
  work.sent_a_site = 0.5 * columns_ * (projected + (half ? 8.0 : 0.0));
  work.read_a_site = 0.5 * columns_ * spinor;
  return time_of(machine_, lattice_, work);
}

double krylov_clock::of_vectors(double vectors, precision numbers) const {
  return vectors * even_sites_ * columns_ * bytes_of_spinor(numbers) /
         (machine_.copy * machine_.share_of(fmt::format("vectors {}", name(numbers))));
}

double krylov_clock::iteration(const iteration_parts& parts, const stored_as& as,
                               const std::optional<stored_as>& updated) const {
  const double seconds = parts.applications * application(as).seconds + of_vectors(parts.vectors, as.numbers) +
                         parts.kernels * machine_.kernel + parts.sums * seconds_of_sum(machine_, ranks_);
  if (!updated) return seconds;
  // Once in some sixty iterations: the operator of the solution and eight of its vectors.
  return seconds + (application(*updated).seconds + of_vectors(8, updated->numbers)) / 60.0;
}

}  // namespace plaquette
