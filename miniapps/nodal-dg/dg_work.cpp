// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/dg_work.hpp"

namespace plaquette::nodal_dg {

standard_flops standard_flops_of(const dg_domain& domain) {
  const double np = domain.nodes(), nfp = domain.reference.face_nodes, faces = domain.reference.faces();
  const double fields = domain.fields, dimension = domain.reference.dimension;
  if (domain.problem.equations == wave_equations::maxwell)
    return {36 * np * np + 66 * np, 4 * nfp * 61 + np * (48 * nfp + 6), 24 * np};
  // Derivatives 2 np flops each; the chain rule: gradient and divergence, 2 d^2 products with sums.
  const double volume = 2 * dimension * fields * np * np + (4 * dimension * dimension - 4) * np;
  const double flux_of_a_node = dimension == 3 ? 25 : 18;  // as in ours: jumps, n.u of both sides, two products
  const double surface = faces * nfp * flux_of_a_node + np * (2 * faces * fields * nfp + fields);
  return {volume, surface, 4 * fields * np};
}

double fewest_flops_of(const dg_domain& domain) {
  const double np = domain.nodes(), nfp = domain.reference.face_nodes, faces = domain.reference.faces();
  const double dimension = domain.reference.dimension;
  const bool maxwell = domain.problem.equations == wave_equations::maxwell;
  const double fluxes = (maxwell ? 2 : 1) * (domain.problem.upwinding == 1.0 ? 1 : 2);
  const double derivatives = maxwell ? 12 : 2 * dimension;
  return 2 * np * (derivatives * np + fluxes * faces * nfp);
}

double fewest_bytes_of(const dg_domain& domain, double bytes_a_number) {
  return 4.0 * domain.fields * domain.nodes() * bytes_a_number;
}

}  // namespace plaquette::nodal_dg
