// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/dg_work.hpp"

#include <algorithm>
#include <cmath>

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

kernel_time time_of_stage(const machine_figures& machine, const dg_domain& domain, double elements, int ranks,
                          bool is_double, int states, bool overlap) {
  const bool maxwell = domain.problem.equations == wave_equations::maxwell;
  const double number = is_double ? 8.0 : 4.0;
  const double by_bytes = fewest_bytes_of(domain, number) / (machine.copy * machine.dg["bytes"].get<double>());
  const double peak = is_double ? machine.fma_double : machine.fma_single;
  const double by_flops =
      fewest_flops_of(domain) / (peak * machine.dg_share(maxwell ? "maxwell" : "acoustics", domain.reference.order));
  // A cube of cells, each of which is cut into simplices. Two triangles, or one side, of a cell lie on a face.
  const int dimension = domain.reference.dimension;
  const double cells = elements / (dimension == 3 ? 6.0 : 2.0), side = std::pow(cells, 1.0 / dimension);
  divided_lattice part{{side, side, dimension == 3 ? side : 1.0, 1.0}, {1, 1, 1, 1}};
  for (int rest = ranks, divisor = 2; rest > 1;) {
    if (rest % divisor != 0) {
      ++divisor;
      continue;
    }
    const auto least = std::min_element(part.grid.begin(), part.grid.begin() + dimension);
    *least *= divisor;
    rest /= divisor;
  }
  kernel_work work;
  work.bytes = fewest_bytes_of(domain, number) * elements * states;
  work.share = work.bytes / (machine.copy * elements * states * std::max(by_bytes, by_flops));
  work.hops = 1;
  work.overlap = overlap;
  work.sent_a_site = (dimension == 3 ? 2.0 : 1.0) * domain.reference.face_nodes * domain.fields * number * states;
  work.read_a_site = work.sent_a_site;
  kernel_time t = time_of(machine, part, work);
  if (ranks > 1) t.seconds += machine.dg["halo_seconds"].get<double>();  // packing, messages and waiting, however few
  return t;
}

}  // namespace plaquette::nodal_dg
