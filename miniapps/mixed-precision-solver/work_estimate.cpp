// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/mixed-precision-solver/work_estimate.hpp"

#include "common/lattice/site_field.hpp"

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
/// Even-site batches of the Schur operator and around it: prepared source, even solution, scratch.
constexpr int even_batches = 4;
/// Even-site batches of an update: the iterated solution, and those of the columns that are updated.
constexpr int update_batches = 5;
/// Even-site batches that the inner operator works in.
constexpr int scratch_batches = 2;

double bytes_of_real(precision p) { return p == precision::double_ ? 8.0 : p == precision::single ? 4.0 : 2.0; }

/// A rank's: links once; clover blocks and their inverses, packed, and in double while they are made.
double operator_bytes(double sites, bool clover, precision numbers, reconstruct links) {
  const double real = bytes_of_real(numbers);
  return sites * real * dimensions * stored_reals(links) + (clover ? sites * 144.0 * (real + sizeof(double)) : 0.0);
}

}  // namespace

double schur_bytes_per_site(bool clover, int columns, precision numbers, reconstruct links) {
  const double real = bytes_of_real(numbers), scale = numbers == precision::half ? sizeof(float) : 0.0;
  const double link = stored_reals(links) * real, spinor = spinor_reals * real + scale,
               block = clover ? 72.0 * real + 2.0 * scale : 0.0;
  return 2.0 * 8.0 * link + 2.0 * block + 5.0 * spinor * columns;
}

double schur_flops_per_site(bool clover) {
  return 2.0 * cpu::hopping_flops + cpu::xpay_flops + (clover ? 2.0 * cpu::clover_flops : 0.0);
}

int applications_per_iteration(solver_kind solver) {
  return solver == solver_kind::gcr || solver == solver_kind::mr ? 1 : 2;
}

work_estimate estimate_work(const solver_options& options, const lattice_geometry& geometry) {
  const bool clover = options.shared.action.has_clover();
  const int columns = options.shared.rhs;
  const auto local = static_cast<double>(geometry.local_volume());
  const bool two_operators = options.inner != options.outer || options.inner_links != options.links;
  work_estimate work;
  // The propagator, a copy of it where it is written in another basis, and three fields for its checks.
  const bool copied = !options.write_propagator.empty() && options.basis != gamma_basis::degrand_rossi;
  const double spinor_fields = columns * (copied ? 2.0 : 1.0) + 3.0;
  work.canonical_bytes = padded_volume(geometry) * (sizeof(site_links) + spinor_fields * sizeof(spinor<double>));
  work.operator_bytes = operator_bytes(local, clover, options.outer, options.links) +
                        (two_operators ? operator_bytes(local, clover, options.inner, options.inner_links) : 0.0);
  const double outer_batches = full_batches + 0.5 * (even_batches + (options.plain() ? 0 : update_batches)),
               inner_batches = 0.5 * (solver_vectors(options) + scratch_batches);
  work.vector_bytes = local * spinor_reals * columns *
                      (outer_batches * bytes_of_real(options.outer) + inner_batches * bytes_of_real(options.inner));
  const double applied =
      applications_per_iteration(options.solver) * 0.5 * static_cast<double>(geometry.global_volume());
  work.flops_per_iteration = applied * schur_flops_per_site(clover) * columns;
  work.bytes_per_iteration = applied * schur_bytes_per_site(clover, columns, options.inner, options.inner_links);
  return work;
}

}  // namespace plaquette
