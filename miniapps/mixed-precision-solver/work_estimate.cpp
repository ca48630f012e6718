// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/mixed-precision-solver/work_estimate.hpp"

#include <algorithm>

#include "common/app/memory.hpp"
#include "common/lattice/site_field.hpp"
#include "miniapps/shared/machine_speed.hpp"

namespace plaquette {

namespace {

/// Sites of a canonical field with its ghosts.
double padded_volume(const lattice_geometry& geometry) {
  double sites = 1.0;
  for (const int length : geometry.local()) sites *= length + 2.0;
  return sites;
}

/// Even-site batches that a solver keeps beside source and solution.
int solver_vectors(const solver_options& options) {
  switch (options.solver) {
    case solver_kind::cgne:
    case solver_kind::cgnr:
      return 5;
    case solver_kind::bicgstab:
      return 6;
    case solver_kind::gcr:
      return 2 * options.parameters.restart_length + 3;
    case solver_kind::mr:
      return 2;
  }
  return 0;
}

/// Batches on the full lattice around a Schur solve: source, solution, residual, correction, and copies of those
/// columns that are still open.
constexpr int full_batches = 8;
/// Even-site batches around the Krylov solver: prepared source, even solution, scratch.
constexpr int even_batches = 3;
/// Even-site batches of an update: the iterated solution, and those of the columns that are updated.
constexpr int update_batches = 4;
/// Even-site batches that the inner operator works in.
constexpr int scratch_batches = 2;

double bytes_of_real(precision p) { return p == precision::double_ ? 8.0 : p == precision::single ? 4.0 : 2.0; }

/// A rank's: links once; clover blocks and their inverses, packed. (In double while they are made, which is over before
/// there are vectors.)
double operator_bytes(double sites, bool clover, precision numbers, reconstruct links) {
  return sites * bytes_of_real(numbers) * (dimensions * stored_reals(links) + (clover ? 144.0 : 0.0));
}

double bytes_of_spinor(precision numbers) {
  return spinor_reals * bytes_of_real(numbers) + (numbers == precision::half ? sizeof(float) : 0.0);
}

/// Pieces of memory above 32 MiB go back to the system when they are free; smaller ones leave holes in the heap, a
/// quarter of what is in use (measured).
double heap_share(double bytes_of_batch) { return bytes_of_batch < 0x1p25 ? 1.25 : 1.0; }

}  // namespace

int columns_at_once(precision inner, int columns, const lattice_geometry& geometry) {
  constexpr double vectors = 7.0;  // that a solver goes through in an iteration, the operator's own among them
  const double even_sites = 0.5 * static_cast<double>(geometry.local_volume());
  return cpu::columns_at_once(vectors * even_sites * bytes_of_spinor(inner), columns);
}

double schur_bytes_per_site(bool clover, int columns, precision numbers, reconstruct links) {
  const double real = bytes_of_real(numbers), scale = numbers == precision::half ? sizeof(float) : 0.0;
  const double link = stored_reals(links) * real, spinor = bytes_of_spinor(numbers),
               block = clover ? 72.0 * real + 2.0 * scale : 0.0;
  return 2.0 * 8.0 * link + 2.0 * block + 5.0 * spinor * columns;
}

double schur_flops_per_site(bool clover) {
  return 2.0 * cpu::hopping_flops + cpu::xpay_flops + (clover ? 2.0 * cpu::clover_flops : 0.0);
}

int applications_per_iteration(solver_kind solver) {
  return solver == solver_kind::gcr || solver == solver_kind::mr ? 1 : 2;
}

work_estimate estimate_work(const solver_options& options, const lattice_geometry& geometry,
                            const communicator& world) {
  const bool clover = options.shared.action.has_clover();
  const int columns = options.shared.rhs;
  const auto local = static_cast<double>(geometry.local_volume());
  const bool two_operators = options.inner != options.outer || options.inner_links != options.links;
  work_estimate work;
  work.program_bytes = peak_memory();
  work.measurement_bytes = bytes_of_copy(world);
  // The propagator, a copy of it where it is written in another basis, and three fields for its checks.
  const bool copied = !options.write_propagator.empty() && options.basis != gamma_basis::degrand_rossi;
  const double spinor_fields = columns * (copied ? 2.0 : 1.0) + 3.0;
  work.canonical_bytes = padded_volume(geometry) * (sizeof(site_links) + spinor_fields * sizeof(spinor<double>));
  work.operator_bytes = operator_bytes(local, clover, options.outer, options.links) +
                        (two_operators ? operator_bytes(local, clover, options.inner, options.inner_links) : 0.0);
  const double batch = local * spinor_reals * columns, outer = bytes_of_real(options.outer) * batch,
               inner = bytes_of_real(options.inner) * batch;
  const double around = outer * (full_batches + 0.5 * even_batches),
               krylov = 0.5 * (outer * (options.plain() ? 0 : update_batches) +
                               inner * (solver_vectors(options) + scratch_batches));
  work.vector_bytes =
      heap_share(outer) * (around + columns_at_once(options.inner, columns, geometry) / columns * krylov);
  const double applied =
      applications_per_iteration(options.solver) * 0.5 * static_cast<double>(geometry.global_volume());
  work.flops_per_iteration = applied * schur_flops_per_site(clover) * columns;
  work.bytes_per_iteration = applied * schur_bytes_per_site(clover, columns, options.inner, options.inner_links);
  return work;
}

}  // namespace plaquette
