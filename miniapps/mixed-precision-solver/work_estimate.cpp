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

}  // namespace

double schur_bytes_per_site(bool clover, int columns, std::size_t bytes_a_real) {
  const double links = 2.0 * 8.0 * 18.0, blocks = clover ? 2.0 * 72.0 : 0.0, spinors = 5.0 * spinor_reals * columns;
  return static_cast<double>(bytes_a_real) * (links + blocks + spinors);
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
  const std::size_t bytes_a_real = options.is_single() ? sizeof(float) : sizeof(double);
  const auto local = static_cast<double>(geometry.local_volume());
  const auto real_bytes = static_cast<double>(bytes_a_real);
  work_estimate work;
  // The propagator, a copy of it where it is written in another basis, and three fields for its checks.
  const bool copied = !options.write_propagator.empty() && options.basis != gamma_basis::degrand_rossi;
  const double spinor_fields = columns * (copied ? 2.0 : 1.0) + 3.0;
  work.canonical_bytes = padded_volume(geometry) * (sizeof(site_links) + spinor_fields * sizeof(spinor<double>));
  // Links once; clover blocks and their inverses, packed, and in double while they are made.
  work.operator_bytes = local * real_bytes * 72.0 + (clover ? local * 144.0 * (real_bytes + sizeof(double)) : 0.0);
  work.vector_bytes =
      local * spinor_reals * real_bytes * columns * (full_batches + 0.5 * (even_batches + solver_vectors(options)));
  const double applied =
      applications_per_iteration(options.solver) * 0.5 * static_cast<double>(geometry.global_volume());
  work.flops_per_iteration = applied * schur_flops_per_site(clover) * columns;
  work.bytes_per_iteration = applied * schur_bytes_per_site(clover, columns, bytes_a_real);
  return work;
}

}  // namespace plaquette
