// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/dslash-scaling/work_estimate.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "common/lattice/site_field.hpp"
#include "cpu_ref/dirac/clover_term.hpp"

namespace plaquette::scaling {

namespace {

/// Canonical spinor fields that the check of a case holds at once: input and output of a column, their sums over the
/// columns, and two of the formula.
constexpr double check_fields = 6.0;

double padded_volume(const lattice_geometry& geometry) {
  double sites = 1.0;
  for (const int length : geometry.local()) sites *= length + 2.0;
  return sites;
}

double operator_bytes(const operator_case& c, double local, double padded) {
  if (c.is_vector()) return 0.0;
  const double real = bytes_of_real(c.precision);
  double bytes = local * dimensions * stored_reals(c.links) * real;
  // C and its inverse, packed; and in double while they are made, on a field with ghosts.
  if (c.has_clover()) bytes += 2.0 * (local * 80.0 * real + padded * sizeof(cpu::clover_block));
  return bytes;
}

double vector_bytes(const operator_case& c, double local) {
  // Two inputs, which alternate, or the operands of a vector operation; the output; and intermediate vectors.
  const double spinors_of_all_sites = c.layout == site_layout::full ? 3.0 : c.is_schur() ? 2.5 : 1.5;
  const double site = spinor_reals * bytes_of_real(c.precision) + 4.0;  // 4 bytes for a norm, which some formats store
  return local * c.rhs * site * spinors_of_all_sites + local * share_of_sites(c.layout) * bytes_per_site(c);
}

}  // namespace

double gflop_of(const operator_case& c, const lattice_geometry& geometry) {
  return 1e-9 * flops_per_site(c.kind) * c.rhs * share_of_sites(c.layout) *
         static_cast<double>(geometry.global_volume());
}

double fewest_bytes_of(const operator_case& c, const lattice_geometry& geometry) {
  return bytes_per_site(c) * share_of_sites(c.layout) * static_cast<double>(geometry.global_volume());
}

memory_estimate estimate_memory(const scaling_options& options, const lattice_geometry& geometry) {
  const auto local = static_cast<double>(geometry.local_volume());
  const double padded = padded_volume(geometry);
  memory_estimate most;
  for (const operator_case& c : options.cases) {
    const double of_operator = operator_bytes(c, local, padded), of_vectors = vector_bytes(c, local);
    if (of_operator + of_vectors <= most.operator_bytes + most.vector_bytes) continue;
    most.operator_bytes = of_operator;
    most.vector_bytes = of_vectors;
  }
  most.canonical_bytes = padded * (sizeof(site_links) + check_fields * sizeof(spinor<double>));
  if (options.shared.device == "gpu") {
    // In addition to the operator: links in double while it is made, the arrays of the copy, the memory of the runtime.
    constexpr double copy_and_runtime = 0x1p31 + 0x1p29;
    most.gpu_bytes = most.operator_bytes + most.vector_bytes + local * sizeof(site_links) + copy_and_runtime;
    most.canonical_bytes += local * (sizeof(site_links) + sizeof(spinor<double>));  // on their way there
    if (!options.shared.check) most.operator_bytes = most.vector_bytes = 0.0;       // else the CPU has them too
  }
  return most;
}

kernel_time time_of_case(const operator_case& c, const lattice_geometry& geometry, bool overlap,
                         const machine_figures& machine) {
  const divided_lattice lattice = divided(geometry.global(), geometry.grid());
  kernel_work work;
  work.bytes = bytes_per_site(c) * share_of_sites(c.layout) * static_cast<double>(geometry.local_volume());
  work.overlap = overlap;
  if (c.is_vector()) {
    work.hops = 1;
    work.share = machine.share_of("vectors " + name(c.precision));
    kernel_time t = time_of(machine, {lattice.local, {1, 1, 1, 1}}, work);
    if (c.is_sum()) t.seconds += seconds_of_sum(machine, volume(geometry.grid()));
    return t;
  }
  const std::string kind = c.is_schur() ? "schur" : "hopping";
  work.share = machine.share_of(fmt::format("{} {} {}", kind, name(c.precision), stored_reals(c.links)), c.rhs);
  work.hops = c.layout == site_layout::even_odd && !c.is_schur() ? 1 : 2;
  // Half of the sites of a face have the parity of the input. A projected spinor has half the numbers.
  const double norm = c.precision == number_precision::half_precision ? 4.0 : 0.0;
  const double spinor = spinor_reals * bytes_of_real(c.precision);
  work.sent_a_site = 0.5 * c.rhs * (0.5 * spinor + 2.0 * norm);  // two columns of 16 bytes, in half precision
  work.read_a_site = 0.5 * c.rhs * (spinor + norm);
  return time_of(machine, lattice, work);
}

}  // namespace plaquette::scaling
