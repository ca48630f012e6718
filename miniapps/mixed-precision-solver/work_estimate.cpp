// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/mixed-precision-solver/work_estimate.hpp"

#include <algorithm>
#include <optional>

#include "common/app/memory.hpp"
#include "common/lattice/site_field.hpp"
#include "common/solvers/schur_work.hpp"
#include "cpu_ref/solvers.hpp"
#include "miniapps/shared/krylov_time.hpp"
#include "miniapps/shared/machine_speed.hpp"

namespace plaquette {

namespace {

/// Sites of a canonical field with its ghosts.
double padded_volume(const lattice_geometry& geometry) {
  double sites = 1.0;
  for (const int length : geometry.local()) sites *= length + 2.0;
  return sites;
}

/// Even-site batches that a solver keeps in addition to source and solution.
int solver_vectors(const solver_options& options) {
  switch (options.solver) {
    case solver_kind::cgne:
    case solver_kind::cgnr:
      return 5;
    case solver_kind::bicgstab:
      return 7;
    case solver_kind::gcr:
      return 2 * options.parameters.restart_length + 3;
    case solver_kind::mr:
      return 2;
    case solver_kind::bicgstab2:
      return 2 * 2 + 4;
    case solver_kind::bicgstab4:
    case solver_kind::automatic:
      return 2 * 4 + 4;
  }
  return 0;
}

/// Batches on the full lattice through a Schur solve: source, solution, residual.
constexpr int full_batches = 3;
/// Batches on the full lattice before and after the Krylov solver, which are freed while it works. They are a
/// correction, its residual, the image of the operator, and half a batch as the operator's workspace.
constexpr double passing_batches = 3.5;
/// Even-site batches around the Krylov solver: source and solution.
constexpr int even_batches = 2;
/// Even-site batches of an update: the iterated solution; of the updated columns the image of the operator and the
/// residual; and the operator's workspace.
constexpr int update_batches = 4;
/// The same in the precision of the Krylov space: the correction, and the new residual.
constexpr int inner_update_batches = 2;
/// Even-site batches that the inner operator works in.
constexpr int scratch_batches = 2;

/// A rank's: links once; clover blocks and their inverses, packed. (In double while they are made, which is over before
/// there are vectors.)
double operator_bytes(double sites, bool clover, precision numbers, reconstruct links) {
  return sites * bytes_of_real(numbers) * (dimensions * stored_reals(links) + (clover ? 144.0 : 0.0));
}

/// The heap gives larger pieces back to the system.
constexpr double largest_piece_kept = 32.0 * 0x1p20;

/// Memory that is given back leaves holes in the heap, which the next fields may not fit into. Pieces above 32 MiB go
/// back to the system, so this is for small problems: three quarters of their vectors, and no more than 45 MiB
/// (measured, in all precisions).
double holes_of_the_heap(double bytes) { return std::min(0.75 * bytes, 45.0 * 0x1p20); }

/// Of the right-hand sides that are solved at once.
struct vector_bytes {
  double throughout;  ///< on the full lattice
  double passing;     ///< on the full lattice, before and after the Krylov solver
  double around;      ///< on the even sites, around the Krylov solver
  double krylov;      ///< in it

  /// \param share  of the columns that the Krylov solver iterates at a time
  double most(double share) const { return throughout + std::max(passing, around + share * krylov); }
};

vector_bytes bytes_of_vectors(const solver_options& options, double local_sites, int columns) {
  const double sites = local_sites * columns, outer = bytes_of_real(options.outer) * sites * spinor_reals,
               inner = sites * bytes_of_spinor(options.inner);
  const int outer_vectors = options.plain() ? 0 : update_batches,
            inner_vectors = solver_vectors(options) + scratch_batches + (options.plain() ? 0 : inner_update_batches);
  return {full_batches * outer, passing_batches * outer, 0.5 * even_batches * outer,
          0.5 * (outer * outer_vectors + inner * inner_vectors)};
}

/// A rank's, of one operator or two.
double bytes_of_operators(const solver_options& options, double local_sites) {
  const bool clover = options.shared.action.has_clover(),
             two = options.inner != options.outer || options.inner_links != options.links;
  return operator_bytes(local_sites, clover, options.outer, options.links) +
         (two ? operator_bytes(local_sites, clover, options.inner, options.inner_links) : 0.0);
}

/// On the GPU all columns of a batch are iterated at once. Freed memory is kept for fields of the same size: an eighth
/// more covers fields of other sizes. Then there are the links of the configuration, the arrays by which the bandwidth
/// is measured, and the memory of the runtime. While operators are made, before there are vectors, blocks of the clover
/// term are there in double.
double bytes_on_gpu(const solver_options& options, double local_sites, int columns) {
  constexpr double held = 1.125, copy_and_runtime = 0x1p30 + 0x1p29;
  const double clover_on_the_way = options.shared.action.has_clover() ? 72.0 * sizeof(double) : 0.0;
  const double vectors = held * bytes_of_vectors(options, local_sites, columns).most(1.0);
  return bytes_of_operators(options, local_sites) + std::max(vectors, local_sites * clover_on_the_way) +
         local_sites * sizeof(site_links) + copy_and_runtime;
}

}  // namespace

int batch_that_fits(const solver_options& options, const lattice_geometry& geometry, double gpu_bytes) {
  const int columns = options.batch_size();
  const auto local = static_cast<double>(geometry.local_volume());
  int batches = 1;
  while (batches < columns && bytes_on_gpu(options, local, (columns + batches - 1) / batches) > gpu_bytes) ++batches;
  return (columns + batches - 1) / batches;
}

work_estimate estimate_work(const solver_options& options, const lattice_geometry& geometry,
                            const communicator& world) {
  const int columns = options.shared.rhs;
  const bool clover = options.shared.action.has_clover(), on_gpu = options.shared.device == "gpu";
  const auto local = static_cast<double>(geometry.local_volume());
  work_estimate work;
  work.program_bytes = peak_memory();
  // The propagator, a copy of it if it is written in another basis, and four fields for its checks.
  const bool copied = !options.write_propagator.empty() && options.basis != gamma_basis::degrand_rossi;
  const double spinor_fields = columns * (copied ? 2.0 : 1.0) + 4.0;
  const int sets_of_links = options.shared.keep_thin_links && options.shared.stout.steps > 0 ? 2 : 1;
  work.canonical_bytes =
      padded_volume(geometry) * (sets_of_links * sizeof(site_links) + spinor_fields * sizeof(spinor<double>));
  if (on_gpu) {
    work.gpu_bytes = bytes_on_gpu(options, local, options.batch_size());
    work.canonical_bytes += local * (sizeof(site_links) + sizeof(spinor<double>));  // on their way there
  } else {
    work.operator_bytes = bytes_of_operators(options, local);
    const int batch = options.batch_size();
    const double at_once = 1.0 * cpu::columns_at_once(options.inner, batch, geometry) / batch;
    const vector_bytes vectors = bytes_of_vectors(options, local, batch);
    const double most = vectors.most(at_once);
    work.vector_bytes = most + holes_of_the_heap(most);
    // The bandwidth is measured when the solves are over, in memory that they have given back: large pieces, and of
    // small ones about the half. A piece is the even sites of the columns that are solved for at once.
    const double piece = 0.5 * local * batch * at_once * spinor_reals * bytes_of_real(options.outer);
    const double given_back = (piece > largest_piece_kept ? 1.0 : 0.5) * (most - vectors.throughout);
    work.measurement_bytes = std::max(0.0, cpu::bytes_of_copy(world) - given_back);
  }
  const double applied =
      applications_per_iteration(options.solver) * 0.5 * static_cast<double>(geometry.global_volume());
  work.flops_per_iteration = applied * schur_flops_per_site(clover) * columns;
  work.bytes_per_iteration = applied * schur_bytes_per_site(clover, columns, options.inner, options.inner_links);
  return work;
}

namespace {

iteration_parts parts_of(const solver_options& options) {
  switch (options.solver) {
    case solver_kind::cgne:
    case solver_kind::cgnr:
      return {2, 9, 2, 4};
    case solver_kind::gcr:
      return {1, 2.0 * options.parameters.restart_length + 4, 2, 4};
    case solver_kind::mr:
      return {1, 5, 1, 2};
    default:
      return parts_of_bicgstab;
  }
}

}  // namespace

solve_times times_of_solve(const solver_options& options, const lattice_geometry& geometry,
                           const machine_figures& machine) {
  const int columns = options.shared.rhs, batch = std::min(options.batch_size(), columns);
  const krylov_clock clock(machine, geometry, options.shared.action.has_clover(), options.shared.overlap, batch);
  const stored_as inner{options.inner, options.inner_links};
  std::optional<stored_as> updated;
  if (!options.plain()) updated = {options.outer, options.links};
  solve_times times;
  times.application = clock.application(inner);
  times.iteration = clock.iteration(parts_of(options), inner, updated);
  // Sources, residuals of the full system, the solution: measured, 9 ns a site and column on an H200.
  constexpr double around_a_solve = 400.0;
  const double around = clock.of_vectors(around_a_solve, precision::double_);
  const int batches = (columns + batch - 1) / batch;
  if (options.expected_iterations > 0)
    times.solves = batches * (options.expected_iterations * times.iteration + around);
  return times;
}

}  // namespace plaquette
