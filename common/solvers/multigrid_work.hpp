// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Counts the applications and flops of a multigrid solve on each lattice.
#pragma once

#include <cstddef>
#include <vector>

#include "common/lattice/extents.hpp"
#include "common/multigrid/cycle_profile.hpp"
#include "common/multigrid/multigrid_parameters.hpp"
#include "common/solvers/multigrid_solver.hpp"

namespace plaquette {

/// Returns the applications of a cycle's relaxation on lattice k. A relaxation of n steps applies the operator n times,
/// and once more for the residual that it starts from. Polynomials save the latter.
inline double applications_of_relaxation(const multigrid_parameters& p, std::size_t k) {
  const int saved = p.smoother == smoother_kind::polynomial ? 1 : 0;
  const auto of_steps = [saved](int steps) { return steps > 0 ? steps + 1.0 - saved : 0.0; };
  // An additive correction's relaxation starts from zero if there is none before it.
  const int before = multigrid_parameters::on_lattice(p.steps_before, k),
            after = multigrid_parameters::on_lattice(p.steps_after, k);
  const bool from_zero = p.additive_on == k && before == 0;
  return of_steps(before) + of_steps(after) - (from_zero ? 1.0 : 0.0);
}

/// Returns the work of a solve on each lattice, 0 the finest, in standard counts.
/// \param column_applications  of the finest lattice's operator by the outer solver
/// \param flops                of one application on each lattice, for the whole lattice
/// \param fine_sites           of the finest lattice
inline std::vector<lattice_work> work_of(double column_applications, const std::vector<lattice_profile>& lattices,
                                         const multigrid_parameters& p, const std::vector<double>& flops,
                                         double fine_sites) {
  std::vector<lattice_work> work(lattices.size());
  double sites = fine_sites, rows = 6.0;
  for (std::size_t k = 0; k < lattices.size(); ++k) {
    const auto cycles = static_cast<double>(lattices[k].cycles);
    const bool coarsest = k + 1 == lattices.size();
    // The source is prepared and the solution reconstructed once a visit of a coarse lattice: about one application.
    const double outside =
        k == 0 ? column_applications : static_cast<double>(lattices[k].krylov_steps + lattices[k - 1].cycles);
    work[k].applications = outside + (coarsest ? 0.0 : cycles * applications_of_relaxation(p, k));
    work[k].flops = work[k].applications * flops[k];
    if (coarsest) break;
    const coarsening& c = p.coarsenings[k];
    work[k].flops += cycles * 2.0 * 8.0 * sites * chiralities * rows * c.vectors;
    sites /= static_cast<double>(volume(c.aggregate));
    rows = c.vectors;
  }
  return work;
}

}  // namespace plaquette
